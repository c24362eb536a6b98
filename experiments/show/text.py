"""Numbers and tables as text, and text from files made harmless: one way into a page, and one to the terminal.

``code`` and ``block`` are how a text from a file comes into a page, ``line`` and ``say`` how it comes to the terminal.
A table is made once for both: one dict of plain texts a row, by title. An empty cell is a number that does not exist.
"""

import math
import sys
from collections.abc import Sequence

import rich.table
from rich.console import Console

from trainables.texts import printable

Rows = Sequence[dict[str, str]]

NAMES, WORDS = ("trial", "experiment", "configuration"), ("state", "learner")
"""Titles of columns of names, which come from files, and of our own words; all others are numbers, on the right."""


class Terminal(Console):
    """A console whose reader may go (``| head``): that ends the program as it does where no console is in between."""

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError; rich would end the program with status 1."""
        raise BrokenPipeError


def number(value: float, digits: int = 1) -> str:
    """A number with commas between thousands; empty if it is not finite."""
    return f"{value:,.{digits}f}" if math.isfinite(value) else ""


def code(text: str) -> str:
    """A name from a file as Markdown that shows it as it stands, whatever is in it."""
    return "`" + (printable(text).replace("`", "'").replace("|", "¦") or " ") + "`"


def block(text: str) -> str:
    """Lines from a file as Markdown that shows them as they stand."""
    lines = "\n".join(map(printable, text.splitlines()))
    return "```text\n" + lines.replace("```", "'''") + "\n```\n"


def line(text: str = "") -> None:
    """Print a line, whatever is in it."""
    print(printable(text), flush=True)


def say(text: str) -> None:
    """Print prose, whatever is in it: no word is cut at a terminal's edge, and a file gets whole lines."""
    Terminal(markup=False, highlight=False).print(printable(text), soft_wrap=not sys.stdout.isatty())


def without(rows: Rows, *titles: str) -> Rows:
    """The rows without some columns."""
    left = []
    for row in rows:
        kept = dict(row)
        for title in titles:
            kept.pop(title, None)
        left.append(kept)
    return left


def to_markdown(rows: Rows) -> str:
    """The rows as a table of Markdown: names as code, numbers with real minus signs. Empty without rows."""
    if not rows:
        return ""
    heads, rules = [*rows[0]], []
    for title in heads:
        rules.append("--:" if _is_number(title) else ":--")
    lines = [heads, rules]
    for row in rows:
        lines.append([_cell(title, text) for title, text in row.items()])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _is_number(title: str) -> bool:
    """Whether a column of this title holds numbers, which stand on the right."""
    return title not in NAMES + WORDS


def _cell(title: str, text: str) -> str:
    """A cell of a column in Markdown."""
    if title in NAMES:
        return code(text)
    if title in WORDS:
        return text
    return text.replace("-", "\N{MINUS SIGN}") or "\N{EN DASH}"


def print_table(rows: Rows) -> None:
    """Print the rows as a table, with less space between columns where the terminal is narrow.

    No cell is cut or wrapped, so that names can be copied; a terminal that is narrower still breaks the lines.
    """
    wide = Terminal(width=1000, markup=False, emoji=False, highlight=False)
    grid = _grid(rows, gap=2)
    if wide.measure(grid).maximum > Console().width:
        grid = _grid(rows, gap=1)
    wide.print(grid)


def _grid(rows: Rows, gap: int) -> rich.table.Table:
    """The rows as a table of rich, with so many spaces between columns."""
    grid = rich.table.Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    heads = rows[0] if rows else {}
    for title in heads:
        grid.add_column(title, justify="right" if _is_number(title) else "left", no_wrap=True)
    for row in rows:
        grid.add_row(*map(printable, row.values()))
    return grid
