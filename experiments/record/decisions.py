"""What is decided while an experiment runs, each in a file that is replaced before anybody acts on it.

So what was decided holds after a kill: which trials went on at each rung (``rungs.json``), who copied whom under
population based training (``exchanges.json``), and how the winner played (``winner.json``). Trials are counted from 0.
"""

import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from experiments.record.folders import DECISIONS, EXCHANGES, WINNER
from experiments.record.models import Count, Model, read_model
from trainables.files import replace_text


class Decision(Model):
    """What was decided at a rung of successive halving."""

    at: Count  # the rung, in the budget's time_attr
    scores: list[float | None]  # of each trial there; None if it was stopped before, failed, or all its seeds diverged
    kept: list[Count]  # the trials that go on, the best first
    rule: str | None = None  # by which they were chosen: RULE as it was then; None in files that are older than it

    @model_validator(mode="after")
    def _require_scores(self) -> Self:
        if not self.kept or any(number >= len(self.scores) or self.scores[number] is None for number in self.kept):
            raise ValueError(f"kept={self.kept} are no trials with a score")
        return self

    def score(self, number: int) -> float | None:
        """A trial's score."""
        return self.scores[number] if number < len(self.scores) else None


class Copy(Model):
    """One trial that goes on with the weights of another."""

    trial: Count
    donor: Count
    source: Count  # number of the donor's checkpoint
    target: Count  # number of the checkpoint that it becomes in the trial's folder
    before: dict[str, int | float]  # the trial's settings until now, as far as an exchange changes them
    settings: dict[str, int | float]  # and from now on


class Exchange(Model):
    """A moment at which population based training compared trials."""

    at: Count  # how far the trial that was least far had come, in the budget's time_attr
    scores: list[float | None]  # of each trial; None if it had come to its end before
    copies: list[Copy]
    rule: str | None = None  # by which it was decided who copies whom; None in files that are older than rules' names

    @model_validator(mode="after")
    def _require_trials(self) -> Self:
        if any(number >= len(self.scores) for copy in self.copies for number in (copy.trial, copy.donor)):
            raise ValueError(f"copies of trials that there are not: {len(self.scores)} have scores")
        return self


class WinnerGames(Model):
    """How the winner of a sweep plays: an evaluation of its last checkpoint."""

    trial: Count
    iteration: Count
    games: Count  # with actions sampled, and as many with the most probable one
    metrics: dict[str, float]  # of the eval/ family
    ended: Literal["diverged", "failed"] | None = None  # what became of its last round; None if it came to its end


def _read(name: str, kind: Any, folder: Path) -> Any:
    """What an experiment has decided so far, in order. Raises ConfigError if the file is damaged."""
    return read_model(folder / name, kind) if (folder / name).exists() else []


def _write(name: str, folder: Path, entries: Sequence[Model]) -> None:
    """Replace the file by one that has all of these."""
    replace_text(folder / name, json.dumps([entry.model_dump() for entry in entries], indent=1))


read_decisions: Callable[[Path], list[Decision]] = partial(_read, DECISIONS, list[Decision])
read_exchanges: Callable[[Path], list[Exchange]] = partial(_read, EXCHANGES, list[Exchange])
write_decisions: Callable[[Path, Sequence[Decision]], None] = partial(_write, DECISIONS)
write_exchanges: Callable[[Path, Sequence[Exchange]], None] = partial(_write, EXCHANGES)


def read_winner(folder: Path) -> WinnerGames | None:
    """None where no winner has played yet. Raises ConfigError if the file is damaged."""
    return next(iter(_read(WINNER, list[WinnerGames], folder)), None)


def write_winner(folder: Path, games: WinnerGames) -> None:
    """Replace the file."""
    _write(WINNER, folder, [games])


def dropped(decisions: Sequence[Decision], number: int) -> Decision | None:
    """The decision at which a trial was not among those that go on; None if it still is."""
    return next((decision for decision in decisions if number not in decision.kept), None)


def passed(decisions: Sequence[Decision], number: int) -> int:
    """At how many rungs a trial was among those that go on, before it was not."""
    return len([*itertools.takewhile(lambda decision: number in decision.kept, decisions)])


def with_diverged(
    scores: Sequence[float | None], diverged: Mapping[int, float], configurations: Sequence[Sequence[int]]
) -> list[float | None]:
    """Trials' scores, with those of seeds that ``diverged``, which are the same at a rung and at the end.

    To leave them out would favour settings that diverge now and then. A configuration without any other seed has none,
    since nobody is left to go on.
    """
    found = [*scores]
    for trials in configurations:
        if any(scores[trial] is not None for trial in trials):
            for trial in diverged.keys() & {*trials}:
                found[trial] = diverged[trial]
    return found


RULE = "mean"
"""What the rule is called by which halving chooses who goes on: another rule has another name."""


def mean(scores: Iterable[float | None]) -> float | None:
    """A configuration's, over the seeds that have a score; None where none has."""
    arrived = [score for score in scores if score is not None]
    return math.fsum(arrived) / len(arrived) if arrived else None


def means(scores: Sequence[float | None], configurations: Sequence[Sequence[int]]) -> list[float | None]:
    """Each configuration's ``mean``."""
    return [mean(scores[trial] for trial in trials) for trials in configurations]


def best(scores: Sequence[float | None], configurations: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """The trials that have a score of the ``count`` configurations with the highest means, the best first.

    Of equal ones the first is best.
    """
    scored = [(-mean, index) for index, mean in enumerate(means(scores, configurations)) if mean is not None]
    return [[i for i in configurations[index] if scores[i] is not None] for _, index in sorted(scored)[:count]]
