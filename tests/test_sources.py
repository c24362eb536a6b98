"""What is held of all source text, whatever a file is about."""

import ast
import functools
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = [path for room in ("experiments", "search_spaces", "trainables") for path in (ROOT / room).rglob("*.py")]
ENCODING = {"read_text": 0, "write_text": 1, "open": 2}
"""Where each method of a path takes the encoding, if it comes without its name."""


@functools.cache
def parsed(path):
    return ast.parse(path.read_text("utf-8"))


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
    for path in PRODUCT:
        for node in ast.walk(parsed(path)):
            assert not has_no_encoding(node), f"{path}:{node.lineno}: {ast.unparse(node)}"


FILE, FUNCTION, BRANCHES, DENSITY = 400, 60, 12, 7
"""Lines that a file of the product, and any function, has at most; ways through a function that each have to be
thought of; and dense expressions of a room, in 100 lines."""

ONE_EACH = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.match_case, ast.IfExp, ast.comprehension)
"""What makes one more branch. (Each further operand of ``and`` and ``or`` does, too.)"""

DENSE = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr, ast.IfExp, ast.Lambda)
"""Expressions that are read from the inside to the outside."""

ALL = [*PRODUCT, *(ROOT / "docs").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]


def lines(path):
    return len(path.read_text("utf-8").splitlines())


def functions(path):
    """The functions of a file, also those within others."""
    return [node for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef)]


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


def dense(tree):
    return len([node for node in ast.walk(tree) if isinstance(node, DENSE)])


def test_files_of_the_product_have_a_size_that_reads_well_and_names_of_their_own():
    files = [path for path in PRODUCT if path.name != "__init__.py"]
    assert not [path for path in files if lines(path) > FILE]
    assert [name for name, count in Counter(path.name for path in files).items() if count > 1] == []


def test_functions_have_a_size_that_reads_well_and_few_branches_in_tests_too():
    wrong = []
    for path in ALL:
        for function in functions(path):
            if length(function) > FUNCTION or branches(function) > BRANCHES:
                wrong.append((str(path.relative_to(ROOT)), function.name, length(function), branches(function)))
    assert not wrong


def test_no_room_is_written_more_densely_than_can_be_read_from_left_to_right():
    """A room is a folder, without those within it."""
    lines_of, dense_of = Counter(), Counter()
    for path in ALL:
        room = str(path.parent.relative_to(ROOT))
        lines_of[room] += lines(path)
        dense_of[room] += dense(parsed(path))
    wrong = {}
    for room in lines_of:
        if 100 * dense_of[room] > DENSITY * lines_of[room]:
            wrong[room] = f"{dense_of[room]} in {lines_of[room]} lines"
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


def test_dense_is_what_is_read_from_the_inside_to_the_outside():
    text = """
[a for a in x], {a for a in x}, {a: a for a in x}, (a for a in x)
(a := 1), (1 if a else 2), (lambda: a)
[1, 2], a and b, f(a)
"""
    assert dense(ast.parse(text)) == 4 + 3
