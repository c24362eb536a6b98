"""What is public: one table says it, and every example of the pages and notebooks keeps to it."""

import ast
import importlib.util
import json
import re

import pytest

import trainables
from tests.helpers.programs import ROOT

OURS = ("trainables", "experiments", "search_spaces")
PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8").partition("## What is public")[2]
PUBLIC = {
    module: re.findall(r"`(\w+)`", names)
    for module, names in re.findall(r"^\| `([\w.]+)` \| (.*) \|$", PAGE, re.MULTILINE)
}
EXAMPLES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "notebooks").glob("*.ipynb")])


def code(path):
    """The Python of a page or a notebook, a text for each block or cell."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        return [block for language, block in blocks if language == "python" or block.startswith("import ")]
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return ["".join(line for line in cell["source"] if not line.startswith(("%", "!"))) for cell in cells]


def imported(text):
    """(module, name) of what a text imports of ours; name is None of a module as a whole."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, alias.name) for alias in node.names]
    return [(module, name) for module, name in found if module.split(".")[0] in OURS]


def test_every_public_name_is_there_and_the_doors_are_all_of_them():
    assert set(PUBLIC["trainables"]) == set(trainables.__all__)
    assert len(PUBLIC) > 10
    for module, names in PUBLIC.items():
        for name in names:
            there = hasattr(importlib.import_module(module), name)
            assert there or importlib.util.find_spec(f"{module}.{name}"), f"{module}.{name}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_import_public_names_alone(path):
    for text in code(path):
        for module, name in imported(text):
            assert name in PUBLIC.get(module, ()), module
