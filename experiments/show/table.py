"""A table, made once for reports (Markdown) and for the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import rich.table
from rich.console import Console

from experiments.show.text import code, printable


class Column(NamedTuple):
    """A column's title and what is in it: names from files, our own texts, or numbers, which stand on the right."""

    title: str
    kind: Literal["name", "text", "number"] = "number"


@dataclass(frozen=True)
class Table:
    """Columns and rows of plain text; an empty cell is a number that does not exist."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]

    def only(self, *titles: str) -> "Table":
        """The columns of these titles."""
        kept = [index for index, column in enumerate(self.columns) if column.title in titles]
        return Table([self.columns[i] for i in kept], [[row[i] for i in kept] for row in self.rows])

    def markdown(self) -> str:
        """For a report: names as code, numbers with real minus signs."""
        rules = ["--:" if column.kind == "number" else ":--" for column in self.columns]
        cells = [[_markdown(cell, column) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows]
        lines = ([column.title for column in self.columns], rules, *cells)
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"

    def print(self) -> None:
        """For a terminal or a file, closer together where the terminal is narrow.

        No cell is cut or wrapped, so that names can be copied; a terminal that is narrower still breaks the lines.
        """
        wide = Console(width=1000, markup=False, emoji=False, highlight=False)
        roomy, dense = (self._grid(gap) for gap in (2, 1))
        wide.print(roomy if wide.measure(roomy).maximum <= Console().width else dense)

    def _grid(self, gap: int) -> rich.table.Table:
        grid = rich.table.Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
        for column in self.columns:
            grid.add_column(column.title, justify="right" if column.kind == "number" else "left", no_wrap=True)
        for row in self.rows:
            grid.add_row(*map(printable, row))
        return grid


def _markdown(cell: str, column: Column) -> str:
    if column.kind == "name":
        return code(cell)
    if column.kind == "number":
        return cell.replace("-", "\N{MINUS SIGN}") or "\N{EN DASH}"
    return cell
