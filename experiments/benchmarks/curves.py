"""Trials that were run to their end once, to be replayed under any scheduler."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from trainables.checks import ConfigError
from trainables.metrics import METRIC

TABLES = sorted(Path(__file__).parents[2].glob("docs/reports/data/fifo_*.parquet"))
"""The published sweeps of ``pg`` (``docs/reports/make.sh`` has their commands). Each of their configurations has two
seeds, a million agent steps and one worker."""

COLUMNS = {"experiment", "trial", "configuration", "timesteps_total", "time_total_s", "perf/workers", METRIC}


class Curve(NamedTuple):
    """A trial of one seed of a configuration."""

    steps: np.ndarray  # (rows,) agent steps so far, ascending
    returns: np.ndarray  # (rows,) mean of the last 100 games then; -inf without any
    core_s: float  # of one core, an agent step, on average

    @property
    def end(self) -> float:
        """Agent steps of the whole trial."""
        return float(self.steps[-1])

    def at(self, steps: float) -> float:
        """The mean return after so many agent steps; -inf before the first row."""
        row = np.searchsorted(self.steps, steps, side="right") - 1
        return float(self.returns[row]) if row >= 0 else -np.inf


def read_curves(paths: Sequence[Path]) -> list[list[Curve]]:
    """The seeds' curves of each configuration in tables of ``results.py table --rows``.

    Raises ConfigError if a file is none, or if a configuration has one seed only: the other says what it is worth.
    """
    if not paths:
        raise ConfigError("there is no table in docs/reports/data: give --table")
    frames = []
    for path in paths:
        try:
            frame = pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
        if missing := COLUMNS - {*frame.columns}:
            raise ConfigError(
                f"{path} lacks {', '.join(sorted(missing))}: accepted is what results.py table --rows writes"
            )
        frames.append(frame.assign(table=str(path)))
    found = []
    for (_, experiment, number), rows in pd.concat(frames).groupby(["table", "experiment", "configuration"]):
        seeds = [_curve(trial) for _, trial in rows.groupby("trial")]
        if len(seeds) < 2:
            raise ConfigError(f"configuration {number} of {experiment} has one seed: accepted is a sweep of --seeds 2")
        found.append(seeds)
    return found


def _curve(rows: pd.DataFrame) -> Curve:
    rows = rows.sort_values("timesteps_total").drop_duplicates("timesteps_total", keep="last")
    steps = rows["timesteps_total"].to_numpy(float)
    returns = rows[METRIC].fillna(-np.inf).to_numpy(float)
    core_s = (rows["time_total_s"] * rows["perf/workers"]).iloc[-1] / steps[-1]
    return Curve(steps, returns, float(core_s))
