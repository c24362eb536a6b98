"""One table, in Markdown and in the terminal."""

import pytest

from experiments.show.table import Column, Table

COLUMNS = [Column("trial", "name"), Column("state", "text"), Column("return")]
TABLE = Table(COLUMNS, [["a|`b`", "done", "-1,234.5"], ["c", "failed", ""]])


def test_markdown_shows_names_as_they_stand_and_numbers_with_real_minus_signs():
    assert TABLE.markdown() == (
        "| trial | state | return |\n| :-- | :-- | --: |\n"
        "| `a¦'b'` | done | \N{MINUS SIGN}1,234.5 |\n| `c` | failed | \N{EN DASH} |\n"
    )


def test_a_part_of_the_columns_keeps_their_order():
    assert TABLE.only("return", "trial") == Table([COLUMNS[0], COLUMNS[2]], [["a|`b`", "-1,234.5"], ["c", ""]])


@pytest.mark.parametrize(("columns", "gap"), [(80, 2), (60, 1), (20, 1)])
def test_no_cell_is_cut_or_wrapped_however_narrow_the_terminal_is(columns, gap, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    name = "pg-20261122-174925-confirm_with_a_long_name_of_56_letters"
    Table(COLUMNS, [[name, "done", "-20.0"]]).print()
    header, line = capsys.readouterr().out.splitlines()
    assert line.rstrip() == (" " * gap).join([name, "done ", " -20.0"])
    assert header.split() == ["trial", "state", "return"]


def test_names_are_neither_markup_nor_obeyed_by_the_terminal(capsys):
    Table([Column("name", "name")], [["[red]:smile:\x1b]0;title\x07\n"]]).print()
    assert capsys.readouterr().out.splitlines()[1] == "[red]:smile:?]0;title??"
