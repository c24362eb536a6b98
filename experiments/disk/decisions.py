"""What is decided while an experiment runs, each in a file that is replaced before anybody acts on it.

So what was decided holds after a kill: which trials went on at each rung (``rungs.json``), and how the winner, or
the best trial, played at the end (``winner.json``). Trials are counted from 0.
"""

import json
import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from experiments.disk.folders import DECISIONS, WINNER
from experiments.disk.models import Count, Model, read_model
from trainables.files import replace_text


class Spread(Model):
    """How much the games behind a score differ, from which the luck of the games follows."""

    games: Count
    deviation: float  # standard deviation of their returns, in points; 0 of a single one


def spread(returns: Sequence[float]) -> Spread:
    """How much the ``returns`` of some games (n,) differ."""
    deviation = 0.0
    if len(returns) > 1:
        deviation = statistics.stdev(returns)
    return Spread(games=len(returns), deviation=deviation)


class Decision(Model):
    """What was decided at a rung of successive halving."""

    at: Count  # the rung, in the budget's time_attr
    scores: list[float | None]  # of each trial there; None if it was stopped before, failed, or all its seeds diverged
    kept: list[Count]  # the trials that go on, the best first
    left_out: list[Count] = Field(default_factory=list)  # those that time was too short for, the best first
    rule: str | None = None  # by which they were chosen: RULE as it was then; None in files that are older than it
    spreads: list[Spread | None] | None = None  # of each trial's games; None in older files, or where it is not known
    broke: list[Count] | None = None  # the trials that an error had ended by then; None in older files

    @model_validator(mode="after")
    def _require_scores(self) -> Self:
        if self.spreads is not None and len(self.spreads) != len(self.scores):
            raise ValueError(f"{len(self.spreads)} spreads stand beside {len(self.scores)} scores")
        if not self.kept or not {*self.kept, *self.left_out} <= self.scored.keys():
            raise ValueError(f"kept={self.kept}, left_out={self.left_out} are no trials with a score")
        if {*self.kept} & {*self.left_out}:
            raise ValueError(f"left_out={self.left_out}: some of them are among kept={self.kept}")
        return self

    @property
    def scored(self) -> dict[int, float]:
        """The scores of the trials that have one, by number."""
        return scored(self.scores)

    def spread_of(self, number: int) -> Spread | None:
        """How much the games behind a trial's score differ; None if that is not known."""
        return self.spreads[number] if self.spreads else None

    def ended_games(self, trials: Iterable[int]) -> bool:
        """Whether a game of one of these trials had ended, so that their score says something; True if unknown."""
        spreads = [self.spread_of(number) for number in trials]
        return any(spread is None or spread.games for spread in spreads)


def scored(scores: Sequence[float | None]) -> dict[int, float]:
    """The scores that there are, by their trials' numbers."""
    return {number: score for number, score in enumerate(scores) if score is not None}


class WinnerGames(Model):
    """How a sweep's winner, or the best trial, plays at the end: an evaluation of its last checkpoint."""

    trial: Count
    iteration: Count
    games: Count  # with actions sampled, and as many with the most probable one
    metrics: dict[str, float]  # of the eval/ family
    ended: Literal["diverged", "failed"] | None = None  # what became of its last round; None if it came to its end


def read_decisions(folder: Path) -> list[Decision]:
    """What was decided at an experiment's rungs so far, in order. Raises ConfigError if the file is damaged."""
    return _read(folder / DECISIONS, list[Decision])


def write_decisions(folder: Path, decisions: Sequence[Decision]) -> None:
    """Replace an experiment's file of decisions by one that has all of these."""
    _write(folder / DECISIONS, decisions)


def read_winner(folder: Path) -> WinnerGames | None:
    """How the winner of a sweep plays; None where none has played yet. Raises ConfigError if the file is damaged."""
    for games in _read(folder / WINNER, list[WinnerGames]):
        return games
    return None


def write_winner(folder: Path, games: WinnerGames) -> None:
    """Replace a sweep's file of its winner's games, which is a list of one entry."""
    _write(folder / WINNER, [games])


def _read(path: Path, kind: Any) -> Any:
    """The entries of a file, a list of type ``kind``; none if there is no file. Raises ConfigError if it is damaged."""
    if not path.exists():
        return []
    return read_model(path, kind)


def _write(path: Path, entries: Sequence[Model]) -> None:
    """Replace a file by one that has these entries."""
    replace_text(path, json.dumps([entry.model_dump() for entry in entries], indent=1))


def dropped(decisions: Sequence[Decision], number: int) -> Decision | None:
    """The first decision at which a trial was not among those that go on; None if it always was."""
    for decision in decisions:
        if number not in decision.kept:
            return decision
    return None


def passed(decisions: Sequence[Decision], number: int) -> int:
    """At how many rungs a trial was among those that go on, before it was not."""
    rungs = 0
    for decision in decisions:
        if number not in decision.kept:
            break
        rungs += 1
    return rungs


def with_diverged(
    scores: Sequence[float | None], diverged: Mapping[int, float], configurations: Sequence[Sequence[int]]
) -> list[float | None]:
    """Trials' ``scores`` at a rung, where seeds that ``diverged`` count as they do at the end.

    ``diverged`` has the scores of these seeds by trial number. To leave them out would favour settings that diverge
    now and then. In a configuration without any other seed they have no score, since nobody is left to go on.
    """
    found = [*scores]
    for trials in configurations:
        if any(scores[trial] is not None for trial in trials):
            for trial in trials:
                if trial in diverged:
                    found[trial] = diverged[trial]
    return found


RULE = "mean"
"""How a configuration's score follows from its seeds' scores, in one word, which decisions name and texts say.
``over_seeds`` is the one place that computes it."""


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


def decide(
    at: int,
    scores: Sequence[float | None],
    configurations: Sequence[Sequence[int]],
    count: int,
    **facts: Any,
) -> Decision:
    """What a rung decides: the best ``count`` of the configurations go on, with those of their seeds that have a score.

    ``facts`` (``spreads``, ``broke``) are written down beside the scores, and decide nothing. Raises ValueError if no
    trial has a score.
    """
    kept = []
    for each in ranking(scored(scores), configurations)[:count]:
        kept += each.trials
    return Decision(at=at, scores=[*scores], kept=kept, rule=RULE, **facts)


def went_on(decision: Decision, configurations: Iterable[Sequence[int]]) -> list[Ranked]:
    """The configurations that go on after a rung, the best first."""
    return [each for each in ranking(decision.scored, configurations) if {*each.trials} & {*decision.kept}]


def limited(
    decision: Decision, configurations: Iterable[Sequence[int]], playing: Collection[int], most: float
) -> Decision:
    """The decision where there is time for ``most`` trials: the best configurations go on that have no more together.

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
