"""README and docs name only what there is: files, functions, links, programs, flags, presets and settings."""

import ast
import functools
import itertools
import re
import runpy
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from experiments.benchmark import BENCHMARKS
from experiments.plan.learners import LEARNERS, learner_typed
from experiments.plan.spaces import own_space
from tests.helpers.programs import write_a2c

ROOT = Path(__file__).parents[1]
PROGRAMS = {path.name: path for path in (ROOT / "experiments").glob("*.py") if path.name != "__init__.py"}
SUBCOMMANDS = {
    "train.py": [(learner,) for learner in LEARNERS],
    "sweep.py": [(learner,) for learner in LEARNERS],
    "results.py": [("list",), ("best",), ("report",), ("compare",), ("table",), ("export",), ("verify",), ("replay",)],
    "benchmark.py": [(benchmark,) for benchmark in BENCHMARKS],
}
LEARNER_OF = {"sweep_pong.py": "pg", "sweep_trpo.py": "trpo"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WRITTEN = [page for page in PAGES if page.parent.name != "reports"]  # by hand; reports name settings of their time
TOP = {path.name for path in ROOT.iterdir()} - {"results"}
OF_THE_READER = {"a2c.py", "mine.py", "learner-1.py"}
LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
SUFFIXES = {".py", ".md", ".yaml", ".yml", ".toml"}


def name(page):
    return page.relative_to(ROOT).as_posix()


def test_the_readme_is_a_page():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_readme_has_the_one_line_that_ci_runs():
    pattern = re.search(r"grep -m1 -E '(.*)' README.md", (ROOT / ".ci" / "run").read_text())[1]
    commands = [line for line in (ROOT / "README.md").read_text().splitlines() if re.search(pattern, line)]
    assert len(commands) == 1
    assert "bash .ci/run" in (ROOT / ".github" / "workflows" / "tests.yml").read_text()


# Links


def anchors(page):
    """The ids that GitHub gives a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_anchors_resolve(page):
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link


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
    for span in spans(page):
        for word in re.split(r"[\s,;()\"']+", span):
            path = word.partition(":")[0].rstrip(".")
            if path in PROGRAMS or Path(path).name in OF_THE_READER or "*" in path or "://" in word:
                continue
            if (path.split("/")[0] in TOP and "/" in path) or Path(path).suffix in SUFFIXES:
                yield word.rstrip(".")


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


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_files_and_functions_are_there(page):
    for word in path_words(page):
        path, _, function = word.partition(":")
        assert (ROOT / path).exists(), word
        assert not function or function in definitions(ROOT / path), word


def test_code_names_only_pages_that_are_there():
    sources = [
        path for folder in ("experiments", "trainables", "search_spaces") for path in (ROOT / folder).rglob("*.py")
    ]
    named = {page for path in sources for page in re.findall(r"docs/[\w/]+\.md", path.read_text())}
    assert not [page for page in named if not (ROOT / page).is_file()]


# Commands


def commands(page):
    """Each ``program.py word ...`` that a page shows, as (program, words)."""
    for span in spans(page):
        if not any(program in span for program in PROGRAMS):
            continue
        words = shlex.split(span.replace("[NAME ...]", "").replace("[--out FILE]", "--out FILE"), comments=True)
        parts = [[]]
        for word in words:
            if word in ("&&", "&", "|", ";", "do", "done"):
                parts.append([])
            else:
                parts[-1].append(word.rstrip(","))
        for part in parts:
            while part and Path(part[0]).name in ("python", "python3"):
                part = part[1:]
            if part and Path(part[0]).name in PROGRAMS and part[0].startswith(("experiments/", Path(part[0]).name)):
                yield Path(part[0]).name, part[1:]


def run_here(program, *words):
    """Run a program in this process (to start another takes seconds); return its status and what it prints."""
    status = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        patch.setenv("COLUMNS", "200")
        patch.setattr(sys, "argv", [str(PROGRAMS[program]), *words])
        try:
            runpy.run_path(str(PROGRAMS[program]), run_name="__main__")
        except SystemExit as stop:
            status = stop.code or 0
    return status, out.getvalue(), err.getvalue()


@functools.cache
def flags_of(program, *subcommand):
    """The flags that ``program subcommand --help`` names."""
    status, printed, complaint = run_here(program, *subcommand, "--help")
    assert (status, complaint) == (0, "")
    return set(re.findall(r"--[a-z][\w-]*", printed))


def every_flag():
    """Every flag of every program."""
    calls = [(program, *words) for program in PROGRAMS for words in SUBCOMMANDS.get(program, [()])]
    return set().union(*(flags_of(*call) for call in calls))


@pytest.fixture(scope="module", autouse=True)
def own_learner(tmp_path_factory):
    """The learner of docs/own_learner.md is in the present folder, where pages name it."""
    folder = tmp_path_factory.mktemp("own")
    write_a2c(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield


def check_values(program, words):
    """Presets exist, and settings that ``--set`` and ``--sweep`` name."""
    learner = learner_typed(LEARNER_OF.get(program) or words[0])
    for flag, value in itertools.pairwise(words):
        if flag == "--preset" and value.islower():
            learner.preset(value)
        if flag == "--set":
            learner.config_class.from_dict({value.partition("=")[0]: ast.literal_eval(value.partition("=")[2])})
        if flag == "--sweep":
            own_space(learner, "default", {}, None, [value], None)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_parse(page):
    for program, words in commands(page):
        subcommand = words[:1] if program in SUBCOMMANDS and words and not words[0].startswith("-") else []
        flags = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert flags <= flags_of(program, *subcommand) | {"--help"}, (program, words)
        if page in WRITTEN and (program in LEARNER_OF or (program in ("train.py", "sweep.py") and subcommand)):
            check_values(program, words)


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_flags_by_themselves_exist(page):
    alone = {span.split()[0].partition("=")[0] for span in spans(page) if span.startswith("--")}
    assert alone <= every_flag()


def test_the_steps_that_publish_name_flags_that_there_are():
    """Each flag in make.sh is a flag of a program that make.sh runs."""
    text = (ROOT / "docs" / "reports" / "make.sh").read_text()
    run = [("train.py", "pg"), ("sweep_pong.py",), ("benchmark.py", "sweep")]
    flags = {*re.findall(r" (--[a-z-]+)", text)} - {"--check", "--porcelain", "--format"}  # of make.sh and of git
    assert flags <= set().union(*(flags_of(*call) for call in run))


def test_the_pages_show_commands():
    """The tests above find what they look for."""
    shown = [command for page in WRITTEN for command in commands(page)]
    assert {program for program, _ in shown} == set(PROGRAMS)
    assert len(shown) > 30
    assert sum(1 for page in WRITTEN for _ in path_words(page)) > 50


# Cheap commands, as a user runs them


def test_there_is_nothing_to_list_in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, complaint = run_here("results.py", "list")
    assert status == 2
    assert complaint.strip() == "results.py: error: no experiments in results"


def test_a_dry_run_prints_the_plan_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, printed, _ = run_here("sweep_pong.py", "--dry-run")
    assert status == 0
    assert "to the end: at most" in printed
    assert not [*tmp_path.iterdir()]
