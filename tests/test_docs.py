"""README and docs name only what there is: files, functions, links, programs, flags, presets and settings."""

import ast
import functools
import itertools
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from experiments.ask.command_line import COMMANDS
from experiments.benchmark import BENCHMARKS
from experiments.disk.states import State
from experiments.plan.draws import trial_seeds
from experiments.plan.learners import LEARNERS, learner_typed
from experiments.plan.spaces import space_of
from tests.helpers.programs import ROOT, call, write_a2c

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
OF_THE_READER = {"a2c.py", "mine.py"}
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
    first = {page.name: page.read_text().split("\n\n")[1] for page in (ROOT / "docs").glob("*.md")}
    assert not [name for name, paragraph in first.items() if "?" not in paragraph]


def test_the_changelog_begins_with_the_version_that_is_installed():
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_seeds_that_the_page_on_sweeps_names_are_those_of_a_plan():
    text = (ROOT / "docs" / "sweeps.md").read_text().partition("With `--seed 0 --seeds 3` they are ")[2]
    (first,) = trial_seeds(0, 1)
    assert list(map(int, re.findall(r"\d{9,}", text)[:3])) == [first, first + 1, first + 2]


def test_the_states_of_a_trial_are_those_that_the_page_explains():
    (row,) = re.findall(r"^\| `state` \| (.*) \|$", (ROOT / "docs" / "python.md").read_text(), re.MULTILINE)
    assert re.sub(r" \([^)]*\)", "", row).split(", ") == [*State]


def anchors(page):
    """The ids that GitHub gives a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def resolves(page, link):
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and target.is_relative_to(ROOT) and (not anchor or anchor in anchors(target))


def test_links_and_anchors_resolve():
    links = [(page, link) for page in PAGES for link in re.findall(r"\[[^]]*\]\(([^)\s]+)\)", page.read_text())]
    assert len(links) > 30
    assert not [(page.name, link) for page, link in links if "://" not in link and not resolves(page, link)]


# Paths and functions


def spans(page):
    """What a page shows as code: spans of a line, and lines of indented or fenced blocks."""
    text = page.read_text()
    fenced = re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"(?:(?<=\n\n)|\A)((?:    .*\n?|\n)+)", text)
    return re.findall(r"`([^`\n]+)`", text) + [line for block in fenced + indented for line in block.splitlines()]


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
        found |= {target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)}
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{item.name}" for item in node.body if isinstance(item, ast.FunctionDef)}
    return found


def is_there(word):
    path, _, function = word.partition(":")
    return (ROOT / path).exists() and (not function or function in definitions(ROOT / path))


def test_files_and_functions_are_there():
    words = [(page.name, word) for page in WRITTEN for word in path_words(page)]
    assert len(words) > 50
    assert not [found for found in words if not is_there(found[1])]


def test_code_names_only_pages_that_are_there():
    sources = [path for room in ("experiments", "trainables", "search_spaces") for path in (ROOT / room).rglob("*.py")]
    named = {page for path in sources for page in re.findall(r"docs/[\w/]+\.md", path.read_text())}
    assert not [page for page in named if not (ROOT / page).is_file()]


# Commands and flags


def commands(page):
    """Each ``program.py word ...``, or of its console command, that a page shows, as (program, words)."""
    files = {command: file for file, command in COMMANDS.items()}
    for span in spans(page):
        if not any(program in span for program in (*PROGRAMS, *files)):
            continue
        words = shlex.split(span.replace("[NAME ...]", "").replace("[--out FILE]", "--out FILE"), comments=True)
        for separated, group in itertools.groupby(words, lambda word: word in ("&&", "&", "|", ";", "do", "done")):
            part = [word.rstrip(",") for word in group if word not in ("python", ".venv/bin/python")]
            program = files.get(part[0], part[0].removeprefix("experiments/")) if part else ""
            if not separated and program in PROGRAMS:
                yield program, part[1:]


@functools.cache
def flags_of(program, *subcommand):
    """The flags that ``program subcommand --help`` names."""
    status, printed, complaint = call(program, *subcommand, "--help")
    assert (status, complaint) == (0, "")
    return {*re.findall(r"--[a-z][\w-]*", printed)}


@functools.cache
def every_flag():
    """Every flag of every program."""
    calls = [(program, *word) for program in PROGRAMS for word in ([[w] for w in SUBCOMMANDS.get(program, [])] or [[]])]
    return set().union(*(flags_of(*words) for words in calls))


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


def test_commands_parse():
    shown, wrong = [(page, *command) for page in PAGES for command in commands(page)], []
    for page, program, words in shown:
        subcommand = words[:1] if program in SUBCOMMANDS and words and not words[0].startswith("-") else []
        flags = {word.partition("=")[0] for word in words if word.startswith("--")}
        if not flags <= flags_of(program, *subcommand) | {"--help"}:
            wrong.append((page.name, program, words))
        if page in WRITTEN and (program in LEARNER_OF or (program in ("train.py", "sweep.py") and subcommand)):
            check_values(program, words)
    assert not wrong
    assert {program for page, program, _ in shown if page in WRITTEN} == PROGRAMS
    assert len(shown) > 30


def test_flags_by_themselves_exist():
    alone = [(page.name, span) for page in WRITTEN for span in spans(page) if span.startswith("--")]
    assert not [found for found in alone if re.split(r"[ =]", found[1])[0] not in every_flag()]


def test_the_steps_that_publish_name_flags_that_there_are():
    """Each flag in make.sh is a flag of a program, or of make.sh or git."""
    text = (ROOT / "docs" / "reports" / "make.sh").read_text()
    assert {*re.findall(r" (--[a-z-]+)", text)} - {
        "--check",
        "--porcelain",
        "--format",
        "--relative-to",
    } <= every_flag()
