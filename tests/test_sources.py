"""What is held of all of the product's source text, whatever a file is about."""

import ast
from collections import Counter
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


FILE, FUNCTION, BRANCHES = 400, 60, 12
"""Lines that a file, and a function, has at most; and ways through a function that each have to be thought of."""

ONE_EACH = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.match_case, ast.IfExp, ast.comprehension)
"""What makes one more branch. (Each further operand of ``and`` and ``or`` does, too.)"""


def lines(path):
    return len(path.read_text("utf-8").splitlines())


def functions(path):
    """Each function of a file, by its name."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}


def length(function):
    return function.end_lineno - function.lineno + 1


def branches(function):
    found = 1
    for node in ast.walk(function):
        if isinstance(node, ONE_EACH):
            found += 1
        elif isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
    return found


def test_files_and_functions_have_a_size_that_reads_well_and_names_of_their_own():
    files = {path.relative_to(ROOT).as_posix(): path for path in PRODUCT if path.name != "__init__.py"}
    wrong: dict = {name: lines(path) for name, path in files.items() if lines(path) > FILE}
    for name, path in files.items():
        for function, node in functions(path).items():
            if length(node) > FUNCTION or branches(node) > BRANCHES:
                wrong[name, function] = length(node), branches(node)
    wrong |= {name: count for name, count in Counter(path.name for path in files.values()).items() if count > 1}
    assert not wrong


def test_branches_are_counted_where_a_reader_has_to_think_of_them():
    text = """
def f(x):
    if x and (x or not x):
        return [a if a else b for a in x for b in x if b]
    for a in x:
        while a:
            try:
                match a:
                    case 1: pass
                    case 2: pass
            except ValueError: pass
"""
    (function,) = ast.parse(text).body
    assert branches(function) == 1 + 3 + 3 + 2 + 3
