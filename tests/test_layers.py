"""Arrows point down: who may import whom (the design's layers), read from the source files."""

import ast
import itertools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("experiments", "trainables", "search_spaces")


def files_of(package):
    """The names of a package's files, from the checkout on."""
    return [path.relative_to(ROOT).as_posix() for path in (ROOT / package).rglob("*.py")]


LIBRARIES = {
    *("ray", "numba", "gymnasium", "ale_py", "tyro", "rich", "tensorboardX", "threadpoolctl", "matplotlib", "PIL"),
    *("pandas", "yaml"),
}
"""Those that only some rooms may import; all others are free."""

ROOMS = {
    # room of experiments/: the rooms below it, and the libraries and modules that it may import beside trainables
    "ask": ("", "tyro"),
    "plan": ("ask", "search_spaces ray.tune.search.sample"),
    "disk": ("ask plan", ""),
    "analysis": ("ask plan disk", "pandas"),
    "read": ("disk analysis", ""),
    "show": ("ask plan disk analysis", "rich matplotlib PIL pandas"),
    "run": ("ask plan disk analysis show", "search_spaces ray rich tensorboardX threadpoolctl"),
    "benchmarks": ("ask plan disk analysis show run", " ".join(LIBRARIES - {"numba"})),
    "subcommands": ("ask plan disk analysis show run", "tyro rich"),
}
RULES = {
    # every other folder or file, the longest that fits: what it may import; a part of trainables/ has its name alone
    "experiments/": f"trainables search_spaces {' '.join(ROOMS)} tyro rich threadpoolctl",
    "search_spaces/": "search_spaces",
    "trainables/": "sampling checks checkpoints files metrics texts processor surroundings",
    "trainables/__init__.py": "trainables",
    "trainables/trainable.py": "trainables ray threadpoolctl",
    "trainables/policy.py": "trainables gymnasium ray",
    "trainables/experience.py": "algorithms config metrics sampling",
    "trainables/config.py": "checks sampling",
    "trainables/algorithms/": "algorithms config learning sampling",
    "trainables/sampling/": "learning sampling gymnasium ale_py PIL",
    "trainables/sampling/actor.py": "sampling versions ray",
    "trainables/sampling/pool.py": "sampling ray",
    "trainables/learning/": "learning",
    "trainables/learning/kernels.py": "numba",
}
for room, (below, others) in ROOMS.items():
    RULES[f"experiments/{room}/"] = f"trainables {room} {below} {others}"
ITSELF = {
    # a file that imports the package as a whole: it sends it to a cluster's nodes
    "experiments/run/ray_session.py": "experiments",
}
HEAVY = ("ray", "numba", "matplotlib", "pandas")
"""Libraries that take half a second or more: no program begins with one."""

LATE = {
    # files with imports within functions: one's own learners, Tune's domains, frames, Ray, figures, what plays
    *("experiments/plan/learners.py", "experiments/plan/spaces.py"),
    *("experiments/disk/saved_policies.py", "experiments/disk/trial_checkpoints.py"),
    *("experiments/analysis/frame.py", "experiments/read/__init__.py"),
    *("experiments/run/ray_internals.py", "experiments/run/ray_session.py"),
    *("experiments/run/preconditions.py", "experiments/run/sweep_program.py"),
    *("experiments/subcommands/look.py", "experiments/subcommands/verify.py"),
    *("experiments/train.py", "experiments/watch.py"),
}
SOURCES = sorted(path for package in PACKAGES for path in files_of(package))


def parsed(path):
    return ast.parse((ROOT / path).read_text("utf-8"))


def imports(nodes):
    """What of ours, and which fenced libraries, is imported there; a relative import as it stands."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] in {"", *PACKAGES, *LIBRARIES}}


def all_imports(path):
    return imports(ast.walk(parsed(path)))


def imports_at_start(path):
    """What a file imports as it is loaded."""
    return imports(parsed(path).body)


def allowed(path):
    """The beginnings of the names that a file may import."""
    rule = max((place for place in RULES if path.startswith(place)), key=len)
    package = path.split("/")[0]
    for word in RULES[rule].split():
        yield word if word.split(".")[0] in {*PACKAGES, *LIBRARIES} else f"{package}.{word}"


def test_imports_point_down():
    wrong = {}
    for path in SOURCES:
        may = tuple(name + "." for name in allowed(path))
        strangers = {name for name in all_imports(path) if not (name + ".").startswith(may)} - {ITSELF.get(path)}
        if strangers:
            wrong[path] = sorted(strangers)
    assert not wrong


def loaded(program):
    """The files that a program loads before it does anything."""
    found, new = set(), {program}
    while new:
        path = new.pop()
        found.add(path)
        for name in imports_at_start(path):
            for module in itertools.accumulate(name.split("."), "{}/{}".format):
                new |= {f"{module}.py", f"{module}/__init__.py"} & {*SOURCES} - found
    return found


@pytest.mark.parametrize("program", sorted(path.name for path in (ROOT / "experiments").glob("[a-z]*.py")))
def test_no_program_begins_with_a_heavy_library(program):
    files = loaded(f"experiments/{program}")
    assert "trainables/checks.py" in files
    for path in files:
        libraries = {name.split(".")[0] for name in imports_at_start(path)}
        assert not libraries & {*HEAVY}, path


def imports_late(path):
    """Whether a function of a file imports."""
    for function in ast.walk(parsed(path)):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    return True
    return False


def test_imports_stand_first_but_in_the_files_that_load_something_late():
    assert {path for path in SOURCES if imports_late(path)} == LATE


def test_every_rule_has_its_place():
    for place in [*RULES, *ITSELF]:
        assert (ROOT / place).exists(), place
    assert len(SOURCES) > 20


def test_no_test_imports_a_test():
    line = re.compile(r"^(?:from|import) tests\.(?!helpers\b).*$", re.MULTILINE)
    for path in files_of("tests"):
        assert not line.findall((ROOT / path).read_text("utf-8")), path
