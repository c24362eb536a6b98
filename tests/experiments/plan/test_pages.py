"""Spaces in files: Python as in ``search_spaces/``, or YAML; one line where there is none."""

import os

import pytest

from experiments.plan.pages import read_page
from trainables.checks import ConfigError


@pytest.fixture
def page(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def test_yaml_is_a_line_for_each_setting_around_any_preset(page):
    file = page("s.yaml", "learning_rate: 1e-4..1e-2:log  # wide\ngamma: [0.98, 0.99]\nhidden_size: 100\n")
    for preset in ("default", "karpathy"):
        found = read_page(file, preset)
        assert found.preset is None
        assert found.space == {"learning_rate": "1e-4..1e-2:log", "gamma": ["0.98", "0.99"], "hidden_size": "100"}


def test_yaml_has_the_names_of_python_too(page):
    file = page("s.yml", "PRESETS:\n  big: {hidden_size: 400}\nSPACES:\n  big: {gamma: '0.9..0.99'}\n")
    assert read_page(file, "big") == ({"hidden_size": "400"}, {"gamma": "0.9..0.99"})


def test_python_is_run(page):
    text = "from ray import tune\nPRESETS = {'big': {'hidden_size': 400}}\n"
    file = page("s.py", text + "SPACES = {'default': {'gamma': tune.uniform(0.9, 0.99)}, 'big': {'clip': [0.1]}}\n")
    assert read_page(file, "big") == ({"hidden_size": 400}, {"clip": [0.1]})
    assert read_page(file, "default").space["gamma"].upper == 0.99


def test_yes_and_no_and_times_and_dates_were_something_else_than_after_sweep(page):
    """YAML 1.1 makes truth values, minutes and dates of them."""
    file = page("s.yaml", "a: [yes, no, off]\nb: 1:30\nc: 2026-01-01\nd: 1e-4\ne: 0o17\nf: ~\n")
    assert read_page(file, "default").space == {
        "a": ["yes", "no", "off"],
        "b": "1:30",
        "c": "2026-01-01",
        "d": "1e-4",
        "e": "0o17",
        "f": "~",
    }


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("s.yaml", "", "holds no space: accepted are lines as learning_rate: 1e-4..1e-2:log"),
        ("s.yaml", "- 1\n", "holds no space"),
        ("s.yaml", "just words\n", "holds no space"),
        ("s.yaml", "a: [\n", "is no YAML: .* in line 2"),
        ("s.yaml", "a: 1\n\tb: 2\n", "is no YAML: .* in line 2"),
        ("s.yaml", "gamma: 0.9\nepochs: 3\ngamma: 0.8\n", "s.yaml: gamma is there twice, in line 3 again"),
        ("s.yaml", "a: &a [*a]\n", "is no YAML"),
        ("s.yaml", "[1]: 2\n", "is no YAML"),
        ("s.yaml", "a: " + "[" * 5000, "is nested too deep"),
        ("s.yaml", "a: \0", "is no YAML"),
        ("s.yaml", "!!python/object/apply:os.mkdir [exploded]", "holds no space"),
        ("s.yaml", "SPACES: 3\n", "SPACES has settings for each preset"),
        ("s.yaml", "SPACES: {default: 3}\n", "SPACES has settings for each preset"),
        (
            "s.yaml",
            "SPACES: {default: {gamma: 1}}\nspaces: 3\n",
            "unknown name 'spaces'. Known: MUTATIONS, PRESETS",
        ),
        ("s.yaml", "SPACES: {}\n", "holds no space"),
        ("s.yaml", "SPACES: {default: {}}\n", "the space of preset default is empty"),
        ("s.yaml", "SPACES: {defualt: {gamma: 1}}\n", "unknown preset 'default'; did you mean 'defualt'"),
        ("s.py", "SPACES = {}", "holds no space"),
        ("s.py", "x = 1\n1 / 0\n", r"fails with ZeroDivisionError: division by zero \(s.py, line 2\)"),
        ("s.py", "def f(:\n", "fails with SyntaxError"),
        ("s.py", "raise SystemExit(0)\n", "fails with SystemExit"),
        ("s.py", "import not_there_at_all\n", "No module named 'not_there_at_all'"),
        ("s.py", "from ray import tune\nSPACES = {'default': tune.choice([1])}\n", "SPACES has settings for each"),
    ],
)
def test_a_file_without_a_space_is_refused_in_one_line(page, tmp_path, monkeypatch, name, text, reason):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=reason) as error:
        read_page(page(name, text), "default")
    assert str(error.value).startswith("--space")
    assert len(str(error.value).splitlines()) == 1
    assert not (tmp_path / "exploded").exists()


@pytest.mark.timeout(10)
def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (("none.yaml", "No such file"), ("none.py", "there is no such file"), (".", "it is no file")):
        with pytest.raises(ConfigError, match=reason):
            read_page(tmp_path / name, "default")
    with pytest.raises(ConfigError, match="it is no file"):
        read_page(tmp_path / "pipe", "default")
