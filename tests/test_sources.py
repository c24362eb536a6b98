"""What is held of all of the product's source text, whatever a file is about."""

import ast
from pathlib import Path

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


def has_no_encoding(call):
    """Whether a call reads or writes text in whatever encoding the machine has."""
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ENCODING):
        return False
    if call.func.attr == "open" and opens_bytes_or_no_file(call):
        return False
    return len(call.args) <= ENCODING[call.func.attr] and "encoding" not in {word.arg for word in call.keywords}


def test_texts_on_disk_have_a_named_encoding():
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path in PRODUCT
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if has_no_encoding(node)
    ]
    assert not wrong
