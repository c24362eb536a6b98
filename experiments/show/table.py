"""Tables, made once for reports (Markdown) and for the terminal: one dict of plain texts a row, by title.

An empty cell is a number that does not exist.
"""

from collections.abc import Sequence

import rich.table
from rich.console import Console

from experiments.show.text import code
from trainables.texts import printable

Rows = Sequence[dict[str, str]]

NAMES, WORDS = ("trial", "experiment", "configuration"), ("state", "learner")
"""Titles of columns of names, which come from files, and of our own words; all others are numbers, on the right."""


def without(rows: Rows, *titles: str) -> Rows:
    """Some columns less."""
    return [{title: text for title, text in row.items() if title not in titles} for row in rows]


def to_markdown(rows: Rows) -> str:
    """For a report: names as code, numbers with real minus signs. Empty without rows."""
    header = [*rows[0]] if rows else []
    rules = [":--" if title in NAMES + WORDS else "--:" for title in header]
    cells = [[_cell(title, text) for title, text in row.items()] for row in rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in (header, rules, *cells) if line)


def _cell(title: str, text: str) -> str:
    if title in NAMES:
        return code(text)
    return text if title in WORDS else text.replace("-", "\N{MINUS SIGN}") or "\N{EN DASH}"


def print_table(rows: Rows) -> None:
    """For a terminal or a file, with less space between columns where the terminal is narrow.

    No cell is cut or wrapped, so that names can be copied; a terminal that is narrower still breaks the lines.
    """
    wide = Console(width=1000, markup=False, emoji=False, highlight=False)
    roomy, dense = (_grid(rows, gap) for gap in (2, 1))
    wide.print(roomy if wide.measure(roomy).maximum <= Console().width else dense)


def _grid(rows: Rows, gap: int) -> rich.table.Table:
    grid = rich.table.Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    for title in rows[0] if rows else ():
        grid.add_column(title, justify="left" if title in NAMES + WORDS else "right", no_wrap=True)
    for row in rows:
        grid.add_row(*map(printable, row.values()))
    return grid
