"""One table, in Markdown and in the terminal."""

import pytest

from experiments.show.text import print_table, to_markdown, without

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
