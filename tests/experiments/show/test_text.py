"""One table, in Markdown and in the terminal; and prose there."""

import io
import sys

import pytest

from experiments.disk.experiments import read_experiment
from experiments.show.summary import summarise
from experiments.show.text import print_table, to_markdown, without
from experiments.subcommands.look import Compare
from tests.helpers.written_experiments import write_experiment

ROWS = [{"trial": "a|`b`", "state": "done", "return": "-1,234.5"}, {"trial": "c", "state": "failed", "return": ""}]


def test_markdown_shows_names_as_they_stand_and_numbers_with_real_minus_signs():
    assert to_markdown(ROWS) == (
        "| trial | state | return |\n| :-- | :-- | --: |\n"
        "| `a¦'b'` | done | \N{MINUS SIGN}1,234.5 |\n| `c` | failed | \N{EN DASH} |\n"
    )
    assert to_markdown([]) == ""


def test_some_columns_can_be_left_out():
    assert without(ROWS, "state")[0] == {"trial": "a|`b`", "return": "-1,234.5"}


@pytest.mark.parametrize(("columns", "gap"), [(80, 2), (60, 1), (20, 1)])
def test_no_cell_is_cut_or_wrapped_however_narrow_the_terminal_is(columns, gap, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    name = "pg-20261122-174925-confirm_with_a_long_name_of_56_letters"
    print_table([{"trial": name, "state": "done", "return": "-20.0"}])
    header, line = capsys.readouterr().out.splitlines()
    assert line.rstrip() == (" " * gap).join([name, "done ", " -20.0"])
    assert header.split() == ["trial", "state", "return"]


def test_names_are_neither_markup_nor_obeyed_by_the_terminal(capsys):
    print_table([{"trial": "[red]:smile:\x1b]0;title\x07\n"}])
    assert capsys.readouterr().out.splitlines()[1] == "[red]:smile:?]0;title??"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_no_word_of_a_summary_or_of_a_comparison_is_cut_at_a_terminals_edge(tmp_path, monkeypatch):
    for name in ("one", "two"):
        trials = [({"gamma": gamma}, [-20.0, -19.0], "running") for gamma in (0.98, 0.99)]
        write_experiment(tmp_path, name, "pg", trials, rungs=[5, 10], scheduler="halving")
    monkeypatch.chdir(tmp_path)  # where files' names are short, wherever the tests run
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    summarise(read_experiment(tmp_path / "one"))
    Compare(experiments=["one", "two"], storage_path=tmp_path, best=1).run()
    printed = sys.stdout.getvalue()
    assert "came to the first rung" in printed.replace("\n", " ").replace("  ", " ")
    assert "cannot be told apart" in printed.replace("\n", " ").replace("  ", " ")
    not_prose = ("\x1b", "Look: ", "Report: ", "Resume: ")
    assert not [line for line in printed.splitlines() if len(line) > 80 and not line.startswith(not_prose)]
