"""Code that a command line names: one line where it cannot be imported."""

import pytest

from experiments.ask.imports import imported
from trainables.checks import ConfigError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_own.py").write_text("import numpy as np\ndef make():\n    return 3\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "inner.py").write_text("class Thing: ...\n")
    (tmp_path / "broken.py").write_text("x = 1\nx = 1 / 0\n")
    (tmp_path / "ends.py").write_text("raise SystemExit('bye')\n")
    (tmp_path / "unwhole.py").write_text("def f(:\n")
    (tmp_path / "needy.py").write_text("import not_there_at_all\n")
    (tmp_path / "json.py").write_text("loads = 5\n")
    (tmp_path / "no-name.py").write_text("x = 1\n")
    return tmp_path


@pytest.mark.parametrize("typed", ["mine_own:make", "mine_own.py:make", "./mine_own.py:make"])
def test_a_module_here_and_a_file(typed, folder):
    module, make = imported(typed)
    assert (module.__name__, make()) == ("mine_own", 3)
    assert imported(str(folder / "mine_own.py") + ":make") == (module, make)


def test_a_module_of_a_package():
    assert imported("package.inner:Thing")[1].__name__ == "Thing"


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("mine_own:mak", "unknown name 'mak'; did you mean 'make'? Known: make"),
        ("mine_own", "accepted is module:name"),
        (":make", "accepted is module:name"),
        ("mine_own:", "accepted is module:name"),
        ("not here:make", "'not here' is no module"),
        ("/tmp/mine_own:make", "is no module"),
        ("not_here:make", "there is no module 'not_here' here or on PYTHONPATH"),
        ("mine_own.deeper:make", "there is no module 'mine_own.deeper'"),
        ("./not_here.py:make", "there is no file"),
        ("no-name.py:x", "cannot be the name of a module"),
        ("json.py:loads", "there is another module 'json'; call the file otherwise"),
        ("broken:x", "its import fails with ZeroDivisionError: division by zero (broken.py, line 2)"),
        ("ends:x", "its import fails with SystemExit: bye (ends.py, line 1)"),
        ("unwhole:x", "its import fails with SyntaxError: invalid syntax (unwhole.py, line 1)"),
        ("needy:x", "its import fails with ModuleNotFoundError: No module named 'not_there_at_all' (needy.py, line 1)"),
    ],
)
def test_what_cannot_be_imported_is_said_in_one_line(typed, complaint):
    with pytest.raises(ConfigError) as error:
        imported(typed)
    assert complaint in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_file_here_took_the_place_of_a_library():
    import json

    assert imported("json:loads")[1] is json.loads
