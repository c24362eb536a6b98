"""What is decided while an experiment runs, each in a file that is replaced before anybody acts on it.

So what was decided holds after a kill: which trials went on at each rung (``rungs.json``), who copied whom under
population based training (``exchanges.json``), and how the winner played (``winner.json``). Trials are counted from 0.
"""

import itertools
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from experiments.record.folders import DECISIONS, EXCHANGES, WINNER
from experiments.record.models import Count, Model, read_model
from trainables.files import replace_text


class Decision(Model):
    """What was decided at a rung of successive halving."""

    at: Count  # the rung, in the budget's time_attr
    scores: list[float | None]  # of each trial there; None if it was stopped before, failed, or all its seeds diverged
    kept: list[Count]  # the trials that go on, the best first
    left_out: list[Count] = Field(default_factory=list)  # those that time was too short for, the best first
    rule: str | None = None  # by which they were chosen: RULE as it was then; None in files that are older than it

    @model_validator(mode="after")
    def _require_scores(self) -> Self:
        if not self.kept or not {*self.kept, *self.left_out} <= self.scored.keys():
            raise ValueError(f"kept={self.kept}, left_out={self.left_out} are no trials with a score")
        if {*self.kept} & {*self.left_out}:
            raise ValueError(f"left_out={self.left_out}: some of them are among kept={self.kept}")
        return self

    @property
    def scored(self) -> dict[int, float]:
        """The scores of the trials that have one, by number."""
        return scored(self.scores)


def scored(scores: Sequence[float | None]) -> dict[int, float]:
    """The scores that there are, by their trials' numbers."""
    return {number: score for number, score in enumerate(scores) if score is not None}


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
"""How the scores of a configuration's seeds become its own, in one word, which decisions name and texts say;
``over_seeds`` is the one place that does it."""


def over_seeds(scores: Iterable[float | None]) -> float | None:
    """A configuration's score by the ``RULE``, over the seeds that have one; None where none has.

    NaN if one of the scores is NaN: a seed that has not come so far.
    """
    known = [score for score in scores if score is not None]
    return math.fsum(known) / len(known) if known else None


class Ranked(NamedTuple):
    """A configuration's place where the scores of trials were compared."""

    score: float  # over its seeds
    trials: list[int]  # those of its seeds that have a score, in their order
    all_trials: list[int]  # also those that have none


def ranking(scores: Mapping[int, float], configurations: Iterable[Sequence[int]]) -> list[Ranked]:
    """The ``configurations`` (of each its trials) that have a score, the best first; of equal ones the first.

    ``scores`` has those of the trials that have one, by number.
    """
    found = []
    for trials in configurations:
        known = [trial for trial in trials if trial in scores]
        score = over_seeds(scores[trial] for trial in known)
        if score is not None:
            found.append(Ranked(score, known, [*trials]))
    return sorted(found, key=lambda each: each.score, reverse=True)


def decide(at: int, scores: Sequence[float | None], configurations: Sequence[Sequence[int]], count: int) -> Decision:
    """What a rung decides: the best ``count`` of the configurations go on, with those of their seeds that have a score.

    Raises ValueError if no trial has one.
    """
    kept = []
    for each in ranking(scored(scores), configurations)[:count]:
        kept += each.trials
    return Decision(at=at, scores=[*scores], kept=kept, rule=RULE)


def went_on(decision: Decision, configurations: Iterable[Sequence[int]]) -> list[Ranked]:
    """The configurations that go on after a rung, the best first."""
    return [each for each in ranking(decision.scored, configurations) if {*each.trials} & {*decision.kept}]


def limited(
    decision: Decision, configurations: Iterable[Sequence[int]], playing: Collection[int], most: float
) -> Decision:
    """The decision where there is time for ``most`` trials: the best configurations go on that have no more of them.

    The best one goes on in any case. Of a configuration's trials those count that are ``playing``: a seed that has
    ended needs no time.
    """
    kept: list[int] = []
    for each in went_on(decision, configurations):
        together = [*kept, *each.trials]
        if kept and len({*together} & {*playing}) > most:
            break
        kept = together
    return decision.model_copy(update={"kept": kept, "left_out": decision.kept[len(kept) :]})
