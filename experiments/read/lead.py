"""By how much the best of a halved sweep led when it was last compared with others, and how much of that may be luck.

One seed of each says no more than what the luck of the games does; several say how much seeds differ.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from experiments.read import policies
from experiments.read.differences import Estimate, difference
from experiments.read.seeds import together
from experiments.read.trials import Experiment, TrialResult

INTERVAL = 1.96
"""Standard errors of a 95% interval."""


class Lead(NamedTuple):
    """The best configuration beside the next one, where they last met."""

    next: list[TrialResult]  # a trial for each seed
    at: int  # in the budget's time_attr
    compared: int  # configurations
    points: float  # difference of their mean returns
    spread: float  # half the 95% interval of such a difference by the luck of the games alone; NaN if unknown
    seeds: Estimate | None  # the difference with its 95% interval by their seeds, where both have several


def lead(experiment: Experiment) -> Lead | None:
    """None where nobody was compared with the best configuration."""
    winner = experiment.best_seeds
    if not winner or not experiment.decisions:
        return None
    configurations = together(experiment.trials)
    at, scores = _last_compared(experiment, configurations)
    found = [(score, trials) for trials in configurations if (score := _mean(scores, trials)) is not None]
    others = [(score, trials) for score, trials in found if trials[0].configuration != winner[0].configuration]
    mine = _mean(scores, winner)
    if not others or mine is None:
        return None
    score, runner_up = max(others, key=lambda item: (item[0], -item[1][0].number))
    return Lead(runner_up, at, len(found), mine - score, _spread(runner_up[0]), _over_seeds(scores, runner_up, winner))


def _last_compared(
    experiment: Experiment, configurations: Sequence[Sequence[TrialResult]]
) -> tuple[int, dict[int, float]]:
    """Where several configurations were last compared, and the score of each trial there, by its number."""
    winner = experiment.best_seeds
    last = [trial for trial in experiment.furthest if trial.state != "failed"]
    ended = {trial.configuration for trial in last} if experiment.compared_at_end else set()
    if len(ended) > 1 and winner[0].configuration in ended:  # several went to the end
        return (experiment.record.get("rungs") or [0])[-1], {trial.number: trial.last for trial in last}
    for decision in reversed(experiment.decisions):
        scores = {number: score for number, score in enumerate(decision.scores) if score is not None}
        if sum(_mean(scores, trials) is not None for trials in configurations) > 1:
            return decision.at, scores
    return 0, {}


def _mean(scores: Mapping[int, float], trials: Sequence[TrialResult]) -> float | None:
    """Over the seeds of a configuration that have a score."""
    arrived = [scores[trial.number] for trial in trials if trial.number in scores]
    return math.fsum(arrived) / len(arrived) if arrived else None


def _over_seeds(
    scores: Mapping[int, float], first: Sequence[TrialResult], second: Sequence[TrialResult]
) -> Estimate | None:
    """By how much the ``second`` configuration is better, with its interval: paired where they have the same seeds."""
    one, two = (
        {t.config.get("seed"): scores[t.number] for t in each if t.number in scores} for each in (first, second)
    )
    if min(len(one), len(two)) < 2:
        return None
    paired = one.keys() == two.keys()
    if paired:
        two = {seed: two[seed] for seed in one}  # in one order
    return difference(np.array([*one.values()]), np.array([*two.values()]), paired)


def _spread(trial: TrialResult) -> float:
    """Of the difference of two means, each of as many games as this trial's newest checkpoint has, and as various."""
    found = policies.of_trial(trial.folder)
    returns = found[-1].state.episodes.recent_returns if found else []
    if len(returns) < 2:
        return math.nan
    return INTERVAL * math.sqrt(2 / len(returns)) * float(np.std(returns, ddof=1))
