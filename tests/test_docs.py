"""README and docs name only what there is: files, functions, links, programs, flags, presets and settings."""

import ast
import functools
import itertools
import re
import shlex
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from experiments.ask.command_line import COMMANDS
from experiments.benchmark import BENCHMARKS
from experiments.disk.states import State
from experiments.plan.draws import trial_seeds
from experiments.plan.learners import LEARNERS, learner_typed
from experiments.plan.spaces import space_of
from tests.helpers.programs import ROOT, call, write_a2c
from trainables.sampling.pool import array_bytes

PROGRAMS = {path.name for path in (ROOT / "experiments").glob("*.py")} - {"__init__.py"}
SUBCOMMANDS = {
    "train.py": [*LEARNERS],
    "sweep.py": [*LEARNERS],
    "results.py": ["list", "best", "report", "compare", "table", "export", "verify", "replay"],
    "benchmark.py": [*BENCHMARKS],
}
LEARNER_OF = {"sweep_pong.py": "pg", "sweep_trpo.py": "trpo"}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WRITTEN = [page for page in PAGES if page.parent.name != "reports"]  # by hand; reports name settings of their time
TOP = {path.name for path in ROOT.iterdir()} - {"results", ".venv"}
OF_THE_READER = {"a2c.py", "mine.py", "page.md"}
SUFFIXES = {".py", ".md", ".yaml", ".yml", ".toml"}


@pytest.fixture(scope="module", autouse=True)
def readers_folder(tmp_path_factory):
    """The learner of docs/own_learner.md is in the present folder, where pages name it; helps are in wide lines."""
    folder = tmp_path_factory.mktemp("own")
    write_a2c(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "200")
        yield


def test_the_readme_is_a_page_and_has_the_one_line_that_ci_runs():
    readme = (ROOT / "README.md").read_text().splitlines()
    assert len(readme) <= 150
    pattern = re.search(r"grep -m1 -E '(.*)' README.md", (ROOT / ".ci" / "run").read_text())[1]
    assert sum(1 for line in readme if re.search(pattern, line)) == 1
    assert "bash .ci/run" in (ROOT / ".github" / "workflows" / "tests.yml").read_text()


def test_every_page_begins_with_the_question_that_it_answers():
    for page in (ROOT / "docs").glob("*.md"):
        assert "?" in page.read_text().split("\n\n")[1], page


def test_the_index_of_pages_names_each_page_once_with_the_question_that_it_answers():
    index = ROOT / "docs" / "README.md"
    rows = [row for row in index.read_text().splitlines() if row.startswith("| [")]
    named = re.findall(r"\]\(([^)]+)\)", "\n".join(rows))
    pages = {*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")} - {index}
    assert sorted((index.parent / link).resolve() for link in named if not link.startswith("../")) == sorted(pages)
    assert all(row.endswith("? |") for row in rows)


def test_the_changelog_begins_with_the_version_that_is_installed():
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_seeds_that_the_page_on_sweeps_names_are_those_of_a_plan():
    text = (ROOT / "docs" / "sweeps.md").read_text().partition("With `--seed 0 --seeds 3` they are ")[2]
    (first,) = trial_seeds(0, 1)
    assert list(map(int, re.findall(r"\d{9,}", text)[:3])) == [first, first + 1, first + 2]


def test_the_states_of_a_trial_are_those_that_the_page_explains():
    (row,) = re.findall(r"^\| `state` \| (.*) \|$", (ROOT / "docs" / "reference.md").read_text(), re.MULTILINE)
    assert re.sub(r" \([^)]*\)", "", row).split(", ") == [*State]


def megabytes(sizes):
    """The last cells of a table's row, in two digits."""
    return "".join(f" {size / 1e6:.2g} MB |" for size in sizes)


def test_the_sizes_of_what_travels_between_processes_are_those_of_the_default_learners_and_of_published_runs():
    text, parameters, checkpoints = (ROOT / "docs" / "architecture.md").read_text(), [], []
    for learner in LEARNERS.values():
        config = learner.config_class()
        trial = learner.trainable.untrained(config)
        parameters.append(array_bytes(trial.algorithm.playing_weights(trial.arrays)))
        checkpoints.append(array_bytes([*trial.checkpoint_arrays.values()]))
        assert f"A segment is {config.segment_length} agent steps, an update {config.slots} segments" in text
        assert f"an iteration {config.updates_per_iteration} updates" in text
        rows = pd.read_parquet(ROOT / "docs" / "reports" / "data" / f"{learner.name}.parquet")
        rows = rows[rows["eval/iteration"] != rows["training_iteration"]]
        step = (rows["perf/bytes_received"] / rows["timesteps_this_iter"]).median()
        assert f" {step * config.segment_length / 1e3:.0f} kB, {step:.0f} bytes a step |" in text
    assert megabytes(parameters) in text
    assert megabytes(checkpoints) in text


def anchors(page):
    """The ids that GitHub gives a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def resolves(page, link):
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and target.is_relative_to(ROOT) and (not anchor or anchor in anchors(target))


def test_links_and_anchors_resolve():
    seen, broken = 0, []
    for page in PAGES:
        for link in re.findall(r"\[[^]]*\]\(([^)\s]+)\)", page.read_text()):
            seen += 1
            if "://" not in link and not resolves(page, link):
                broken.append((page.name, link))
    assert not broken
    assert seen > 30


# Paths and functions


def spans(page):
    """What a page shows as code: spans of a line, and lines of indented or fenced blocks."""
    text = page.read_text()
    fenced = re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"`([^`\n]+)`", text)
    for block in fenced + re.findall(r"(?:(?<=\n\n)|\A)((?:    .*\n?|\n)+)", text):
        found += block.splitlines()
    return found


def path_words(page):
    """Words of a page's code that name files or folders of this project: ``path``, or ``path:function``."""
    for word in re.split(r"[\s,;()\"']+", "\n".join(spans(page))):
        path = word.partition(":")[0].rstrip(".")
        if path in PROGRAMS or Path(path).name in OF_THE_READER or "*" in path or "://" in word:
            continue
        if (path.split("/")[0] in TOP and "/" in path) or Path(path).suffix in SUFFIXES:
            yield word.rstrip(".")


@functools.cache
def definitions(path):
    """Names of a module's functions, classes and constants, and ``Class.method``."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign):
            found |= {ast.unparse(target) for target in node.targets}
        if isinstance(node, ast.AnnAssign):
            found.add(ast.unparse(node.target))
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{item.name}" for item in node.body if isinstance(item, ast.FunctionDef)}
    return found


def is_there(word):
    path, _, function = word.partition(":")
    return (ROOT / path).exists() and (not function or function in definitions(ROOT / path))


def test_files_and_functions_are_there():
    seen, missing = 0, []
    for page in WRITTEN:
        for word in path_words(page):
            seen += 1
            if not is_there(word):
                missing.append((page.name, word))
    assert not missing
    assert seen > 50


def test_code_names_only_pages_that_are_there():
    for room in ("experiments", "trainables", "search_spaces"):
        for path in (ROOT / room).rglob("*.py"):
            for page in re.findall(r"docs/[\w/]+\.md", path.read_text()):
                assert (ROOT / page).is_file(), (path, page)


# Commands and flags


def programs_named(words):
    """The words from each program on, as (program, its words): a file of experiments/, or a console command."""
    files = {command: file for file, command in COMMANDS.items()}
    found, begins = [], True
    for word in words:
        name = word.rstrip(",")
        if name in ("&&", "&", "|", ";", "do", "done"):
            begins = True
        elif begins and name not in ("python", ".venv/bin/python"):
            found.append((files.get(name, name.removeprefix("experiments/")), []))
            begins = False
        elif not begins:
            found[-1][1].append(name)
    return [(program, words) for program, words in found if program in PROGRAMS]


def commands(page):
    """Each ``program.py word ...``, or of its console command, that a page shows, as (program, words)."""
    for span in spans(page):
        if any(program in span for program in (*PROGRAMS, *COMMANDS.values())):
            text = span.replace("[NAME ...]", "").replace("[--out FILE]", "--out FILE")
            yield from programs_named(shlex.split(text, comments=True))


@functools.cache
def flags_of(program, *subcommand):
    """The flags that ``program subcommand --help`` names."""
    status, printed, complaint = call(program, *subcommand, "--help")
    assert (status, complaint) == (0, "")
    return {*re.findall(r"--[a-z][\w-]*", printed)}


@functools.cache
def every_flag():
    """Every flag of every program."""
    found = set()
    for program in PROGRAMS:
        if program not in SUBCOMMANDS:
            found |= flags_of(program)
        for subcommand in SUBCOMMANDS.get(program, []):
            found |= flags_of(program, subcommand)
    return found


def check_values(program, words):
    """Presets exist, and settings that ``--set`` and ``--sweep`` name."""
    learner = learner_typed(LEARNER_OF.get(program) or words[0])
    for flag, value in itertools.pairwise(words):
        if flag == "--preset" and value.islower():
            learner.preset(value)
        if flag == "--set":
            learner.config_class.from_dict({value.partition("=")[0]: ast.literal_eval(value.partition("=")[2])})
        if flag == "--sweep":
            space_of(learner, "default", {}, None, sweeps=[value])


def unknown_flags(program, words):
    """The flags of a command that the help of its program, or subcommand, does not name."""
    accepted = flags_of(program, *subcommand_of(program, words)) | {"--help"}
    return {word.partition("=")[0] for word in words if word.startswith("--")} - accepted


def subcommand_of(program, words):
    """A list with the subcommand, empty without one."""
    if program not in SUBCOMMANDS or not words or words[0].startswith("-"):
        return []
    return words[:1]


def test_commands_name_flags_that_there_are():
    wrong = []
    for page in PAGES:
        for program, words in commands(page):
            if unknown_flags(program, words):
                wrong.append((page.name, program, words))
    assert not wrong


def test_commands_of_pages_written_by_hand_have_presets_and_settings_that_there_are_and_every_program_is_shown():
    shown = []
    for page in WRITTEN:
        for program, words in commands(page):
            shown.append(program)
            of_learner = program in ("train.py", "sweep.py") and subcommand_of(program, words)
            if program in LEARNER_OF or of_learner:
                check_values(program, words)
    assert {*shown} == PROGRAMS
    assert len(shown) > 30


def test_flags_by_themselves_exist():
    for page in WRITTEN:
        for span in spans(page):
            if span.startswith("--"):
                assert re.split(r"[ =]", span)[0] in every_flag(), page


def test_the_steps_that_publish_name_flags_that_there_are():
    """Each flag in make.sh is a flag of a program, or of make.sh or git."""
    text = (ROOT / "docs" / "reports" / "make.sh").read_text()
    of_others = {"--check", "--porcelain", "--format", "--relative-to"}
    assert {*re.findall(r" (--[a-z-]+)", text)} <= every_flag() | of_others
