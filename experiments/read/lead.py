"""By how much the best trial of a halved sweep led when it was last compared with others, against the luck of games."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.read import policies
from experiments.read.trials import Experiment, TrialResult

INTERVAL = 1.96
"""Standard errors of a 95% interval."""


class Lead(NamedTuple):
    """The best trial beside the next one, where they last met."""

    winner: TrialResult
    next: TrialResult
    at: int  # in the budget's time_attr
    trials: int  # that were compared
    points: float  # difference of their mean returns
    spread: float  # half the 95% interval of such a difference by the luck of the games alone; NaN if unknown


def lead(experiment: Experiment) -> Lead | None:
    """None where nobody was compared with the best trial."""
    winner = experiment.best
    if winner is None or not experiment.decisions:
        return None
    decision = next((d for d in reversed(experiment.decisions) if sum(s is not None for s in d.scores) > 1), None)
    at, scores = (decision.at, decision.scores) if decision else (0, [])
    last = [t for t in experiment.trials if t.rung == winner.rung and t.rows and t.state in ("finished", "diverged")]
    if len(last) > 1 and winner in last:  # several went to the end
        at, ended = (experiment.record.get("rungs") or [0])[-1], {trial.number: trial.last for trial in last}
        scores = [ended.get(number) for number in range(len(experiment.trials))]
    found = [(score, trial) for trial in experiment.trials if (score := _at(scores, trial.number)) is not None]
    others = [(score, trial) for score, trial in found if trial is not winner]
    mine = _at(scores, winner.number)
    if not others or mine is None:
        return None
    score, runner_up = max(others, key=lambda item: (item[0], -item[1].number))
    return Lead(winner, runner_up, at, len(found), mine - score, _spread(runner_up))


def _at(scores: Sequence[float | None], number: int) -> float | None:
    return scores[number] if number < len(scores) else None


def _spread(trial: TrialResult) -> float:
    """Of the difference of two means, each of as many games as this trial's newest checkpoint has, and as various."""
    found = policies.of_trial(trial.folder)
    returns = found[-1].state["episodes"]["recent_returns"] if found else []
    if len(returns) < 2:
        return math.nan
    return INTERVAL * math.sqrt(2 / len(returns)) * float(np.std(returns, ddof=1))
