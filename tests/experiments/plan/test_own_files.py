"""Files of the user's own that a command line names: modules, and pages of spaces; one line where there is none."""

import os
import sys

import pytest

from experiments.plan.learners import imported, read_page
from trainables.checks import ConfigError

MODULES = {
    "mine_own.py": "import numpy as np\ndef make():\n    return 3\n",
    "package/inner.py": "class Thing: ...\n",
    "broken.py": "x = 1\nx = 1 / 0\n",
    "ends.py": "raise SystemExit('bye')\n",
    "needy.py": "import not_there_at_all\n",
    "colorsys.py": "rgb_to_hsv = 5\n",
    "no-name.py": "x = 1\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "package").mkdir()
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_module_here_and_a_file(folder):
    for typed in ("mine_own:make", "mine_own.py:make", "./mine_own.py:make", f"{folder}/mine_own.py:make"):
        module, make = imported(typed)
        assert (module.__name__, make()) == ("mine_own", 3)
    assert imported("package.inner:Thing")[1].__name__ == "Thing"


def test_no_file_here_takes_the_place_of_a_library(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    assert imported("colorsys:rgb_to_hsv")[1] != 5


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("mine_own:mak", "unknown name 'mak'; did you mean 'make'? Known: make"),
        *((typed, "accepted is module:name") for typed in ("mine_own", "/tmp/mine_own:make", "no-name.py:x", "json:")),
        *((f"{module}:x", f"there is no module '{module}'; accepted is") for module in ("not_here", "mine_own.deeper")),
        ("./not_here.py:x", "there is no such file"),
        ("colorsys.py:rgb_to_hsv", "there is another module 'colorsys'; call the file otherwise"),
        ("broken:x", "its import fails with ZeroDivisionError: division by zero (broken.py, line 2)"),
        ("ends:x", "its import fails with SystemExit: bye (ends.py, line 1)"),
        ("needy:x", "its import fails with ModuleNotFoundError: No module named 'not_there_at_all' (needy.py, line 1)"),
    ],
)
def test_what_cannot_be_imported_is_said_in_one_line(typed, complaint):
    with pytest.raises(ConfigError) as error:
        imported(typed)
    assert complaint in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.fixture
def page(folder):
    def write(name, text):
        (folder / name).write_text(text)
        return folder / name

    return write


def test_python_is_run(page):
    text = "from ray import tune\nPRESETS = {'big': {'hidden_size': 400}}\n"
    file = page("s.py", text + "SPACES = {'default': {'gamma': tune.uniform(0.9, 0.99)}, 'big': {'clip': [0.1]}}\n")
    assert read_page(file, "big") == ({"hidden_size": 400}, {"clip": [0.1]})
    assert read_page(file, "default")[1]["gamma"].upper == 0.99


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("s.yaml", "gamma: 0.9\n", r"accepted is Python .* YAML has as KEY: VALUES is \"KEY\": \"VALUES\" there"),
        ("s.py", "", "holds no space for --preset default: accepted is SPACES as in search_spaces/"),
        ("s.py", "SPACES = {'default': 3}\n", "SPACES has settings for each preset"),
        ("s.py", "SPACES = {'default': {}}\n", "holds no space for --preset default"),
        ("s.py", "SPACES = {'defualt': {'gamma': 1}}\n", "unknown preset 'default'; did you mean 'defualt'"),
        ("s.py", "x = 1\n1 / 0\n", r"fails with ZeroDivisionError: division by zero \(s.py, line 2\)"),
        ("s.py", "raise SystemExit(0)\n", "fails with SystemExit"),
    ],
)
def test_a_file_without_a_space_is_refused_in_one_line(page, name, text, reason):
    with pytest.raises(ConfigError, match=reason) as error:
        read_page(page(name, text), "default")
    assert str(error.value).startswith("--space")
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.timeout(10)
def test_what_is_no_file_is_refused(folder):
    os.mkfifo(folder / "pipe")
    for name in ("none.yaml", "none.py", "pipe"):
        with pytest.raises(ConfigError, match="there is no such file"):
            read_page(folder / name, "default")
