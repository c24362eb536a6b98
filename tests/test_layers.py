"""Arrows point down: who may import whom (the design's layers), read from the source files."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("experiments", "trainables", "search_spaces")
FENCED = {
    *PACKAGES,
    *(
        "ray",
        "numba",
        "gymnasium",
        "ale_py",
        "tyro",
        "rich",
        "tensorboardX",
        "threadpoolctl",
        "matplotlib",
        "PIL",
        "pandas",
        "yaml",
    ),
}
LIBRARIES = {
    # room of experiments/: which of the fenced libraries and modules it may import
    "ask": {"tyro"},
    "plan": {"search_spaces", "ray.tune.search.sample", "rich", "yaml"},
    "record": set(),
    "read": {"pandas"},
    "show": {"rich", "matplotlib", "PIL", "pandas"},
    "run": {"search_spaces", "ray", "rich", "tensorboardX", "threadpoolctl"},
    "benchmarks": FENCED - {"numba", *PACKAGES},
    "subcommands": {"tyro", "rich"},
    "programs": {"search_spaces", "tyro", "rich", "threadpoolctl"},
}
BELOW = {
    # room of experiments/: the rooms that it may import
    "ask": [],
    "plan": ["ask"],
    "record": ["ask"],
    "read": ["ask", "plan", "record"],
    "show": ["ask", "plan", "record", "read"],
    "run": ["ask", "plan", "record", "read", "show"],
    "benchmarks": ["ask", "plan", "record", "read", "show", "run"],
    "subcommands": ["ask", "plan", "record", "read", "show", "run"],
    "programs": ["ask", "plan", "record", "read", "show", "run", "benchmarks", "subcommands"],
}
ROOMS = {
    room: {"trainables", *LIBRARIES[room], *(f"experiments.{name}" for name in [room, *below])}
    for room, below in BELOW.items()
}
LAYERS = {
    # folder or file: what of ours, and which of the fenced libraries, it may import
    "trainables/learning": {"trainables.learning"},
    "trainables/learning/kernels.py": {"numba"},
    "trainables/sampling": {"trainables.learning", "trainables.sampling", "gymnasium", "ale_py", "PIL"},
    "trainables/sampling/actor.py": {"trainables.sampling", "ray"},
    "trainables/sampling/pool.py": {"trainables.sampling", "ray"},
    "trainables/algorithms": {f"trainables.{name}" for name in ("algorithms", "config", "learning", "sampling")},
    "trainables/config.py": {"trainables.checks", "trainables.sampling"},
    "trainables/experience.py": {f"trainables.{name}" for name in ("algorithms", "config", "metrics", "sampling")},
    "trainables/trainable.py": {"trainables", "ray", "threadpoolctl"},
    "trainables/": {
        f"trainables.{name}" for name in ("sampling", "checks", "checkpoints", "files", "metrics", "texts", "processor")
    },
    "search_spaces": {"search_spaces", "ray.tune"},
    "experiments": ROOMS.pop("programs"),
} | {f"experiments/{room}/": allowed for room, allowed in ROOMS.items()}
ITSELF = {
    # files that import the package as a whole: one sends it to a cluster's nodes, one looks where it lies
    "experiments/run/cluster.py": "experiments",
    "experiments/benchmarks/tune.py": "experiments",
}
SOURCES = sorted(path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imports(path: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] in FENCED}


@pytest.mark.parametrize("path", SOURCES)
def test_imports_point_down(path):
    layer = max((name for name in LAYERS if path.startswith(name)), key=len)
    strangers = {
        name for name in imports(path) if not any(name == a or name.startswith(a + ".") for a in LAYERS[layer])
    }
    assert strangers <= {ITSELF.get(path)}, f"{path} may not import {strangers}"


def test_every_layer_is_there():
    assert all((ROOT / layer).exists() for layer in [*LAYERS, *ITSELF])
    assert len(SOURCES) > 20


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda path: path.name)
def test_no_test_imports_a_test(path):
    assert not re.findall(r"^(?:from|import) tests\.(?!helpers\b).*$", path.read_text(), re.MULTILINE)
