"""Measuring on a machine that is never quiet: sides alternate within one run, and only their ratios count."""

import dataclasses
import json
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from rich import box
from rich.progress import track
from rich.table import Table as RichTable

from experiments.show.text import Terminal
from trainables.config import PGConfig
from trainables.sampling.console import UP, PongConsole, pong_settings

T = TypeVar("T")

FRAMES = 20_000
"""Frames of one bare emulator loop, about a second: of loops of 0.3 s, one may be 5% slower than the next."""

FRAME_SKIP = pong_settings(PGConfig().env_id)["frameskip"]
"""Emulator frames of an agent step."""

REINFORCE = {
    "method": "reinforce",
    "slots": 0,
    "games_per_update": 10,
    "optimiser": "rmsprop",
    "learning_rate": 2e-3,
    "gamma": 0.98,
    "half_life": 0,
}
"""Settings of the figures that stand beside those of the original programs: Karpathy's network and update."""


@dataclass(frozen=True)
class Quartiles:
    """Median and middle half of repeated measurements."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Any) -> Self:
        """Quartiles of a sequence."""
        return cls(*np.percentile(values, [25, 50, 75]).tolist())

    def __str__(self) -> str:
        return f"{self.middle:.3g} ({self.low:.3g}..{self.high:.3g})"


@dataclass(frozen=True)
class Table:
    """Rows of named figures, and what to know when reading them."""

    title: str
    rows: list[dict[str, Any]]
    note: str = ""


def show(tables: Iterable[Table], path: Path | None) -> None:
    """Print tables as they come, and write them all as JSON at the end."""
    console, shown = Terminal(), []
    for table in tables:
        console.print(_printed(table, console.width))
        shown.append(table)
    if path:
        path.write_text(json.dumps(shown, indent=1, default=dataclasses.asdict), encoding="utf-8")


def _printed(table: Table, width: int) -> RichTable:
    """The table as it is printed. Where it is too wide, and has more columns than rows, columns become rows.

    What is too long for its column takes several lines.
    """
    lines: Sequence[Sequence[str]] = [[*table.rows[0]], *(_cells(row) for row in table.rows)]
    columns = [*zip(*lines, strict=True)]
    needed = sum(max(map(len, column)) + 3 for column in columns)
    if len(columns) > len(lines) and needed > width:
        lines = columns
    printed = RichTable(title=table.title, caption=table.note or None, box=box.SIMPLE, pad_edge=False)
    printed.title_justify = printed.caption_justify = "left"
    for number, heading in enumerate(lines[0]):
        printed.add_column(heading, justify="right" if number else "left", overflow="fold")
    for line in lines[1:]:
        printed.add_row(*line)
    return printed


def _cells(row: Mapping[str, Any]) -> list[str]:
    """The figures of a row as they are printed."""
    return [f"{figure:,.3g}" if isinstance(figure, float) else str(figure) for figure in row.values()]


def alternate(sides: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Call every side once a round, in turn; return each side's figures.

    One round more comes first, which compiles and does not count. The progress bar moves between calls only: one that
    moves by itself is a thread, which takes the interpreter from what is measured, and a worker in this process looked
    1 to 2% slower than it is.
    """
    figures: dict[str, list[T]] = {name: [] for name in sides}
    for _ in track(range(1 + rounds), "measuring", transient=True, auto_refresh=False):
        for name, side in sides.items():
            figures[name].append(side())
    return {name: values[1:] for name, values in figures.items()}


def timed(trial: Any, iterations: int) -> list[float]:
    """Seconds of each of so many iterations of a new trial, which is then stopped."""
    seconds = [trial.train()["time_this_iter_s"] for _ in range(iterations)]
    trial.stop()
    return seconds


def shares(rates: Mapping[str, Sequence[float]], unit: str) -> list[dict[str, Any]]:
    """A row for each side: its rate, and its ratio to the first side's, taken within each round."""
    first, *_ = rates
    rows = []
    for name, values in rates.items():
        share = Quartiles.of(np.divide(values, rates[first]))
        rows.append({"side": name, unit: round(np.median(values)), f"share of {first}": share})
    return rows


def emulate(process: int = 0) -> float:
    """Frames per second of a bare loop of ``ALEInterface.act``: the physical limit of a core.

    The number of the ``process`` that runs it changes nothing: a pool's ``map`` hands it over.
    """
    ale = PongConsole().ale
    ale.reset_game()
    start = time.perf_counter()
    for _ in range(FRAMES):
        ale.act(UP)
        if ale.game_over():
            ale.reset_game()
    return FRAMES / (time.perf_counter() - start)


@contextmanager
def bare_emulators(count: int) -> Iterator[Callable[[], float]]:
    """Processes that run bare loops at the same time. The function that it gives measures their summed frames/s."""
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as pool:

        def measure() -> float:
            return sum(pool.map(emulate, range(count)))

        measure()  # starts everything up
        yield measure
