"""What is held of all of the product's source text, whatever a file is about."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = [path for room in ("experiments", "search_spaces", "trainables") for path in (ROOT / room).rglob("*.py")]
ENCODING = {"read_text": 0, "write_text": 1, "open": 2}
"""Where each method of a path takes the encoding, if it comes without its name."""


def opens_bytes_or_no_file(call):
    modes = [word.value for word in call.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
    owner = call.func.value
    return any("b" in mode for mode in modes) or (
        isinstance(owner, ast.Name) and owner.id in {"os", "Image", "archive"}
    )


@pytest.mark.parametrize("path", PRODUCT, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_text_was_written_in_whatever_encoding_the_machine_has(path):
    for call in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ENCODING):
            continue
        if call.func.attr == "open" and opens_bytes_or_no_file(call):
            continue
        named = any(keyword.arg == "encoding" for keyword in call.keywords)
        assert named or len(call.args) > ENCODING[call.func.attr], f"line {call.lineno}: {ast.unparse(call)}"
