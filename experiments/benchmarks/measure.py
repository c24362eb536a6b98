"""Measuring on a machine that is never quiet: sides alternate within one run, and only ratios are believed."""

import json
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Table as RichTable

from trainables.checks import Bounds, ConfigError, check_fields
from trainables.sampling.console import UP, PongConsole

FRAMES = 20_000
"""Frames of one bare emulator loop, about a second, like the updates beside it: of loops of 0.3 s, one may be 5% slower
than the next."""

FRAME_SKIP = 4
"""Emulator frames of an agent step."""

REINFORCE = {
    "method": "reinforce",
    "slots": 0,
    "batch_size": 10,
    "optimiser": "rmsprop",
    "learning_rate": 2e-3,
    "gamma": 0.98,
    "half_life": 0,
}
"""Settings of the figures that stand beside those of the original programs: Karpathy's network and update."""


@dataclass(frozen=True)
class OutputFlags:
    """Where the figures go."""

    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: print only)")] = None
    """Write the tables as JSON, too."""

    def __post_init__(self) -> None:
        """Check every flag, before minutes are spent."""
        check_fields(self)
        if self.json and not self.json.absolute().parent.is_dir():
            raise ConfigError(f"--json {self.json}: there is no folder {self.json.parent}")


@dataclass(frozen=True)
class RoundsFlags(OutputFlags):
    """How long to measure."""

    rounds: Annotated[int, Bounds(1)] = 10
    """Times that every side is measured, in turn."""


class Spread(NamedTuple):
    """Median and middle half of repeated measurements."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Any) -> Self:
        """Quartiles of a sequence."""
        return cls(*(float(value) for value in np.percentile(values, [25, 50, 75])))

    def __str__(self) -> str:
        return f"{self.middle:.3g} ({self.low:.3g}..{self.high:.3g})"


class Table(NamedTuple):
    """Rows of named figures, and what to know when reading them."""

    title: str
    rows: list[dict[str, Any]]
    note: str = ""


def show(tables: Iterable[Table], path: Path | None) -> None:
    """Print tables as they come, and write them all as JSON at the end."""
    written = []
    for title, rows, note in tables:
        table = RichTable(title=title, title_justify="left", caption=note or None, caption_justify="left")
        for column in rows[0]:
            table.add_column(column, justify="left" if isinstance(rows[0][column], str) else "right")
        for row in rows:
            table.add_row(*map(_text, row.values()))
        Console().print(table)
        plain = [{name: v._asdict() if isinstance(v, Spread) else v for name, v in row.items()} for row in rows]
        written.append({"title": title, "note": note, "rows": plain})
    if path:
        path.write_text(json.dumps(written, indent=1), encoding="utf-8")


def _text(value: Any) -> str:
    return "" if value is None else f"{value:,.3g}" if isinstance(value, float) else str(value)


def progress(rounds: int, description: str) -> Iterable[int]:
    """Count rounds, with a bar that moves between them.

    One that moves by itself is a thread, which takes the interpreter from what is measured: a worker in this process
    looked 1 to 2% slower than it is.
    """
    return track(range(rounds), description, transient=True, auto_refresh=False)


def alternate(sides: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, np.ndarray]:
    """Call every side once a round, in turn; return each side's figures (rounds,)."""
    figures: dict[str, list[float]] = {name: [] for name in sides}
    for _ in progress(rounds, "measuring"):
        for name, side in sides.items():
            figures[name].append(side())
    return {name: np.array(values) for name, values in figures.items()}


def shares(rates: dict[str, np.ndarray], unit: str) -> list[dict[str, Any]]:
    """A row for each side: its rate, and its ratio to the first side's, taken within each round."""
    reference, *_ = rates
    return [
        {"side": name, unit: round(np.median(values)), f"share of {reference}": Spread.of(values / rates[reference])}
        for name, values in rates.items()
    ]


def emulate(console: PongConsole, frames: int = FRAMES) -> float:
    """Frames per second of a bare loop of ``ALEInterface.act``: the physical limit of one core."""
    ale = console.ale
    ale.reset_game()
    start = time.perf_counter()
    for _ in range(frames):
        ale.act(UP)
        if ale.game_over():
            ale.reset_game()
    return frames / (time.perf_counter() - start)


@contextmanager
def bare_emulators(count: int) -> Iterator[Callable[[], float]]:
    """Processes that run bare loops at the same time; the function given measures their frames per second in all."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for _ in range(count):
        ours, theirs = context.Pipe()
        processes.append(context.Process(target=_serve, args=(theirs,), daemon=True))
        processes[-1].start()
        pipes.append(ours)

    def measure() -> float:
        for pipe in pipes:
            pipe.send(FRAMES)
        return sum(pipe.recv() for pipe in pipes)

    measure()  # starts everything up
    try:
        yield measure
    finally:
        for pipe in pipes:
            pipe.send(None)
        for process in processes:
            process.join()


def _serve(pipe: Any) -> None:
    console = PongConsole()
    while (frames := pipe.recv()) is not None:
        pipe.send(emulate(console, frames))
