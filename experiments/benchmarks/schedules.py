"""Schedulers replayed on curves that are known to their end: what each would have played in a given time, and chosen.

Times are those of one core in the table. What a second worker of a trial brings is the plan's constant
(``experiments/plan/capacity.py``).
"""

import bisect
import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from experiments.benchmarks.curves import Curve
from experiments.plan.capacity import LENT
from experiments.run.halving import best

START_S = 4.0
"""Seconds from a trial's start to its first game, in new processes. Halving's trials take over those of others as a
rule, in half the time; here all schedulers are taken alike."""


class Outcome(NamedTuple):
    """What came out of a sweep."""

    chosen: int | None  # the trial with the highest return at the end; None without any
    policy: float  # its mean return then
    core_s: float  # that its trials played


def in_turn(
    curves: Sequence[Curve],
    cores: int,
    seconds: float,
    milestones: Sequence[float],
    stops: Callable[[int, float], bool] = lambda milestone, score: False,
) -> Outcome:
    """Trials in order, a core each, to the last of ``milestones`` (agent steps); at the others ``stops`` is asked.

    It is told which milestone, counted from 0, and the trial's score there. Random search is one milestone.
    """
    waiting = iter(range(len(curves)))
    reached = np.zeros(len(curves))
    events: list[tuple[float, int, int]] = []  # seconds at which a trial comes to a milestone

    def go_on(now: float, trial: int, milestone: int) -> None:
        steps = milestones[milestone] - reached[trial]
        heapq.heappush(events, (now + steps * curves[trial].core_s, trial, milestone))

    for trial in itertools.islice(waiting, cores):
        go_on(START_S, trial, 0)
    while events:
        now, trial, milestone = heapq.heappop(events)
        if now > seconds:  # cut on its way there
            reached[trial] = max(reached[trial], milestones[milestone] - (now - seconds) / curves[trial].core_s)
            continue
        reached[trial] = milestones[milestone]
        if milestone + 1 < len(milestones) and not stops(milestone, curves[trial].at(reached[trial])):
            go_on(now, trial, milestone + 1)
        elif (next_trial := next(waiting, None)) is not None:
            go_on(now + START_S, next_trial, 0)
    return _outcome(curves, reached)


class Asha:
    """The rule of Ray Tune's ASHAScheduler (Li et al. 2020): who is not among the best ``1/eta`` so far stops."""

    def __init__(self, eta: float) -> None:
        self._share = 1 - 1 / eta
        self._before: dict[int, list[float]] = {}

    def __call__(self, milestone: int, score: float) -> bool:
        """Whether a trial with this score stops at this milestone."""
        before = self._before.setdefault(milestone, [])
        stops = bool(before) and score < _quantile(before, self._share)
        bisect.insort(before, score)
        return stops


def halved(
    curves: Sequence[Curve], cores: int, seconds: float, rungs: Sequence[int], go_on: Sequence[int], most_workers: int
) -> Outcome:
    """Halving: all trials to the first of ``rungs``, then the best ``go_on[0]`` to the second, and so on.

    Trials that fewer cores would do for share them all, ``most_workers`` each at most. A round of several trials for
    which there is no time is not begun.
    """
    reached = np.zeros(len(curves))
    alive, now = [*range(len(curves))], 0.0
    for round_, rung in enumerate(rungs):
        if round_:
            scores = [curves[trial].at(reached[trial]) for trial in alive]
            alive = [alive[place] for place in best(scores, go_on[round_ - 1])]
        end, left = play_round(
            [(rung - reached[t]) * curves[t].core_s for t in alive], cores, seconds - now, most_workers
        )
        if end > seconds - now and round_ and len(alive) > 1:
            break
        ends = [rung - work / curves[trial].core_s for trial, work in zip(alive, left, strict=True)]
        reached[alive] = np.maximum(ends, reached[alive])  # work has a start's seconds, too
        now += end
        if now > seconds:
            break
    found = _outcome([curves[trial] for trial in alive], reached[alive])
    played = float(sum(steps * curve.core_s for steps, curve in zip(reached, curves, strict=True)))
    return Outcome(None if found.chosen is None else alive[found.chosen], found.policy, played)


def play_round(work: Sequence[float], cores: int, seconds: float, most_workers: int) -> tuple[float, list[float]]:
    """When a round ends, in seconds from its begin, and what is left of each trial's ``work`` when the time is over.

    Work is in seconds of one core.
    """
    left = [*work]
    running, now = [*range(min(cores, len(left)))], START_S
    waiting = iter(range(len(running), len(left)))
    at_end = [*left] if now > seconds else None
    while running:
        pace = 1 + LENT * (min(cores // len(running), most_workers) - 1)
        span = min(left[trial] for trial in running) / pace
        if at_end is None and now + span > seconds:
            at_end = [w - (seconds - now) * pace if trial in running else w for trial, w in enumerate(left)]
        for trial in running:
            left[trial] -= span * pace
        now += span
        running = [trial for trial in running if left[trial] > 1e-9]
        for trial in itertools.islice(waiting, cores - len(running)):
            left[trial] += START_S
            running.append(trial)
    return now, at_end if at_end is not None else [0.0] * len(left)


def _outcome(curves: Sequence[Curve], reached: np.ndarray) -> Outcome:
    scores = [curve.at(steps) for curve, steps in zip(curves, reached, strict=True)]
    played = float(sum(steps * curve.core_s for curve, steps in zip(curves, reached, strict=True)))
    chosen = int(np.argmax(scores))
    return Outcome(chosen if scores[chosen] > -np.inf else None, scores[chosen], played)


def _quantile(ascending: Sequence[float], share: float) -> float:
    """NumPy's default quantile, of few values many times faster."""
    place = share * (len(ascending) - 1)
    low = int(place)
    high = min(low + 1, len(ascending) - 1)
    return ascending[low] + (place - low) * (ascending[high] - ascending[low])
