"""Who copied whom under population based training: a file that is written before anybody copies.

So what was decided holds after a kill, and a copy that was cut off is made again.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.record.journal import read_journal, write_journal

EXCHANGES = "exchanges.json"


@dataclass(frozen=True)
class Copy:
    """One trial that goes on with the weights of another. Trials are counted from 0."""

    trial: int
    donor: int
    source: int  # number of the donor's checkpoint
    target: int  # number of the checkpoint that it becomes in the trial's folder
    before: dict[str, float]  # the trial's settings until now, as far as an exchange changes them
    settings: dict[str, float]  # and from now on


@dataclass(frozen=True)
class Exchange:
    """A moment at which trials were compared."""

    at: int  # how far the trial that was least far had come, in the budget's time_attr
    scores: list[float | None]  # of each trial; None if it had come to its end before
    copies: list[Copy]

    def __post_init__(self) -> None:
        """Raise ValueError where a trial is named that there is not, or where a score is no finite number."""
        if not all(score is None or math.isfinite(score) for score in self.scores):
            raise ValueError
        if not all(0 <= number < len(self.scores) for copy in self.copies for number in (copy.trial, copy.donor)):
            raise ValueError


def read_exchanges(folder: Path) -> list[Exchange]:
    """All exchanges of an experiment so far, in order. Raises ConfigError if the file is damaged."""
    return read_journal(folder / EXCHANGES, _exchange)


def write_exchanges(folder: Path, exchanges: list[Exchange]) -> None:
    """Replace the file by one that has all of these."""
    write_journal(folder / EXCHANGES, exchanges)


def _exchange(at: Any, scores: Any, copies: Any) -> Exchange:
    return Exchange(int(at), [None if score is None else float(score) for score in scores], [*map(_copy, copies)])


def _copy(entry: Any) -> Copy:
    trial, donor, source, target = (int(entry[name]) for name in ("trial", "donor", "source", "target"))
    return Copy(trial, donor, source, target, _settings(entry["before"]), _settings(entry["settings"]))


def _settings(values: Any) -> dict[str, float]:
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in values.values()):
        raise ValueError
    return values
