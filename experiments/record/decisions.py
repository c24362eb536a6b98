"""Which trials went on at each rung of successive halving: a file that is written before anybody is stopped.

So what was decided holds after a kill, and for trials that come back to life later.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.record.journal import read_journal, write_journal

DECISIONS = "rungs.json"


@dataclass(frozen=True)
class Decision:
    """What was decided at a rung. Trials are counted from 0."""

    at: int  # the rung, in the budget's time_attr
    scores: list[float | None]  # of each trial there; None if it was stopped before, failed or diverged
    kept: list[int]  # the trials that go on, the best first

    def __post_init__(self) -> None:
        """Raise ValueError where a trial goes on that has no score."""
        if not self.kept or not all(0 <= number < len(self.scores) for number in self.kept):
            raise ValueError
        if any(self.scores[number] is None for number in self.kept):
            raise ValueError

    def score(self, number: int) -> float | None:
        """A trial's score."""
        return self.scores[number] if number < len(self.scores) else None


def read_decisions(folder: Path) -> list[Decision]:
    """All decisions of an experiment so far, in order. Raises ConfigError if the file is damaged."""
    return read_journal(folder / DECISIONS, _decision)


def write_decisions(folder: Path, decisions: Sequence[Decision]) -> None:
    """Replace the file by one that has all of these."""
    write_journal(folder / DECISIONS, decisions)


def dropped(decisions: Sequence[Decision], number: int) -> Decision | None:
    """The decision at which a trial was not among those that go on; None if it still is."""
    return next((decision for decision in decisions if number not in decision.kept), None)


def passed(decisions: Sequence[Decision], number: int) -> int:
    """At how many rungs a trial was among those that go on, before it was not."""
    return len([*itertools.takewhile(lambda decision: number in decision.kept, decisions)])


def _decision(at: Any, scores: Any, kept: Any) -> Decision:
    found = [None if score is None else float(score) for score in scores]
    if not all(score is None or math.isfinite(score) for score in found):
        raise ValueError
    return Decision(int(at), found, [int(number) for number in kept])
