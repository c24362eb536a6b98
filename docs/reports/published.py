"""The published data, as they lie in docs/reports/data: rows of every run, benchmarks, and other people's curves."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from experiments.read.windows import WINDOW_STEPS, Arrivals, Windows, windows

REPORTS = Path(__file__).resolve().parent
ROOT = REPORTS.parents[1]
DATA = REPORTS / "data"

WAITS = DATA / "waits.json"
"""Of sweeps by name: the longest time, in seconds, that a core idled while a trial waited that could run."""


class Run(NamedTuple):
    """A seed's run."""

    seed: int
    windows: Windows


class Runs(NamedTuple):
    """All seeds of a configuration."""

    runs: list[Run]

    def arrivals(self, score: float) -> Arrivals:
        """Agent steps at the end of the first window at a score, of the seeds that came to it."""
        steps = [run.windows.steps_to(score) for run in self.runs]
        ended = tuple(float(run.windows.end_w[-1]) for run, at in zip(self.runs, steps, strict=True) if at is None)
        return Arrivals(score, tuple(sorted(at for at in steps if at is not None)), ended)

    def minutes(self, score: float) -> Arrivals:
        """Minutes of training until then."""
        found = [(run.windows.steps_to(score), run.windows) for run in self.runs]
        at = [float(np.interp(steps, w.end_w, w.seconds_w)) / 60 for steps, w in found if steps is not None]
        ended = tuple(float(w.seconds_w[-1]) / 60 for steps, w in found if steps is None)
        return Arrivals(score, tuple(sorted(at)), ended)

    @property
    def last(self) -> np.ndarray:
        """Each seed's mean return in the last window that all have (n,)."""
        return np.array([run.windows.known_w[self.common - 1] for run in self.runs])

    @property
    def common(self) -> int:
        """Windows that all seeds have."""
        return min(len(run.windows.end_w) for run in self.runs)

    @property
    def curves(self) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the common windows (w,), and every seed's mean returns in them (n, w)."""
        return self.runs[0].windows.end_w[: self.common], np.array(
            [r.windows.known_w[: self.common] for r in self.runs]
        )


def runs(name: str) -> Runs:
    """The seeds of an experiment that ``results.py table --rows`` wrote into the data."""
    frame = pd.read_parquet(DATA / f"{name}.parquet")
    return Runs(
        [
            Run(int(rows["config/seed"].iloc[0]), windows(rows.to_dict("records"), WINDOW_STEPS))
            for _, rows in frame.groupby("trial")
        ]
    )


def others(agent: str, network: str) -> Runs:
    """Dopamine's published training returns of Pong (data/dopamine_pong.parquet)."""
    frame = pd.read_parquet(DATA / "dopamine_pong.parquet")
    chosen = frame[(frame["agent"] == agent) & (frame["network"] == network)]
    return Runs([Run(int(run), _windows(rows)) for run, rows in chosen.groupby("run")])


def _windows(rows: pd.DataFrame) -> Windows:
    unknown = np.full(len(rows), np.nan)
    return Windows(
        rows["million_agent_steps"].to_numpy() * 1e6, rows["mean_training_return"].to_numpy(), unknown, unknown
    )


def benchmark(name: str) -> list[dict[str, Any]]:
    """The tables that a benchmark wrote, each with title, note and rows."""
    return json.loads((DATA / f"benchmark_{name}.json").read_text())


def made() -> dict[str, Any]:
    """What the data come from: revision of each step, day, machine, versions, and seconds of each step."""
    return json.loads((DATA / "made.json").read_text())


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
