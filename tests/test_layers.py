"""Arrows point down: who may import whom (the design's layers), read from the source files."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("experiments", "trainables", "search_spaces")
FENCED = {
    *PACKAGES,
    *("ray", "numba", "gymnasium", "ale_py", "tyro", "rich", "tensorboardX", "threadpoolctl", "matplotlib", "PIL"),
}
ROOMS = {
    # room of experiments/: the rooms below it, and which of the fenced libraries it may import
    "ask": {"tyro", "rich"},
    "plan": {"experiments.ask", "search_spaces", "ray", "rich"},
    "record": {"experiments.ask"},
    "read": {"experiments.ask", "experiments.plan", "experiments.record"},
    "show": {"experiments.ask", "experiments.plan", "experiments.record", "experiments.read"}
    | {"rich", "matplotlib", "PIL"},
    "run": {f"experiments.{room}" for room in ("ask", "plan", "record", "read", "show")}
    | {"search_spaces", "ray", "tyro", "rich", "tensorboardX"},
    "benchmarks": FENCED - {"numba"},
}
LAYERS = {
    # folder or file: what of ours, and which of the fenced libraries, it may import
    "trainables/learning": {"trainables.learning"},
    "trainables/learning/compiled.py": {"numba"},
    "trainables/sampling": {"trainables.learning", "trainables.sampling", "gymnasium", "ale_py", "PIL"},
    "trainables/sampling/actor.py": {"trainables.sampling", "ray"},
    "trainables/sampling/pool.py": {"trainables.sampling", "ray"},
    "trainables": {"trainables", "ray", "threadpoolctl"},
    "search_spaces": {"search_spaces", "ray"},
    "experiments": FENCED - {"numba"},
} | {f"experiments/{room}/": {f"experiments.{room}", "trainables"} | below for room, below in ROOMS.items()}
SOURCES = sorted(path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imports(path: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
    return {name for name in names if name.split(".")[0] in FENCED}


@pytest.mark.parametrize("path", SOURCES)
def test_imports_point_down(path):
    layer = max((name for name in LAYERS if path.startswith(name)), key=len)
    allowed = tuple(LAYERS[layer])
    strangers = {name for name in imports(path) if not any(name == a or name.startswith(a + ".") for a in allowed)}
    assert not strangers, f"{path} may not import {strangers}"


def test_every_layer_is_there():
    assert all((ROOT / layer).exists() for layer in LAYERS)
    assert len(SOURCES) > 20
