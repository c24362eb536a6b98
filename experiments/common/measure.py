"""Measuring on a machine that is never quiet: sides alternate within one run, and only ratios are believed."""

import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from trainables.sampling.pong import UP, PongConsole

FRAMES = 6000
"""Frames of one bare emulator loop, about 0.3 s."""


def alternate(sides: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, np.ndarray]:
    """Call every side once a round, in turn; return each side's rates (rounds,)."""
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for _ in track(range(rounds), description="measuring", transient=True):
        for name, side in sides.items():
            rates[name].append(side())
    return {name: np.array(values) for name, values in rates.items()}


def report(title: str, unit: str, rates: dict[str, np.ndarray], path: Path | None) -> None:
    """Print a table of medians and of ratios to the first side, and write both as JSON.

    A ratio is taken within each round; its spread is the middle half of the rounds.
    """
    reference = next(iter(rates))
    table = Table(title=title, title_justify="left")
    table.add_column("side")
    for column in (unit, f"share of {reference}", "middle half"):
        table.add_column(column, justify="right")
    rows = {}
    for name, values in rates.items():
        low, middle, high = np.percentile(values / rates[reference], [25, 50, 75])
        table.add_row(name, f"{np.median(values):,.0f}", f"{middle:.3f}", f"{low:.3f} to {high:.3f}")
        rows[name] = {"median": float(np.median(values)), "ratio": middle, "ratio_25": low, "ratio_75": high}
    Console().print(table)
    if path:
        path.write_text(json.dumps({"title": title, "unit": unit, "rounds": len(values), "sides": rows}, indent=1))


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
    yield measure
    for pipe in pipes:
        pipe.send(None)
    for process in processes:
        process.join()


def _serve(pipe: Any) -> None:
    console = PongConsole()
    while (frames := pipe.recv()) is not None:
        pipe.send(emulate(console, frames))
