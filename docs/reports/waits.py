"""The longest time that a core of a halved sweep idled while a trial waited that could run."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from experiments.read.experiments import Experiment


class Iteration(NamedTuple):
    """A trial's iteration, in seconds since 1970."""

    start: float
    end: float
    workers: float  # cores that the trial had


class Wait(NamedTuple):
    """The time between the moment at which a trial could go on and its next iteration."""

    start: float
    end: float


def longest_wait_s(experiment: Experiment, cores: int) -> float:
    """Seconds, from the first game on. Rows have an iteration's end in whole seconds, so this is right to within two.

    A trial can run in a round once the round before is decided: when the last of its trials is at the rung.
    """
    rounds = _rounds(experiment)
    iterations = [iteration for trials in rounds for trial in trials for iteration in trial]
    waits, decided = [], min(iteration.start for iteration in iterations)
    for trials in rounds:
        waits += [Wait(decided, min(trial).start) for trial in trials]
        decided = max(iteration.end for trial in trials for iteration in trial)
    return _longest(iterations, waits, cores)


def _rounds(experiment: Experiment) -> list[list[list[Iteration]]]:
    """The iterations of each trial of each round, which lie between two rungs."""
    rungs = [decision.at for decision in experiment.decisions]
    found: dict[int, dict[str, list[Iteration]]] = defaultdict(lambda: defaultdict(list))
    for trial in experiment.trials:
        for row in trial.rows:
            number = bisect_right(rungs, row["timesteps_total"] - row["timesteps_this_iter"])
            end = row["timestamp"]
            iteration = Iteration(end - row["time_this_iter_s"], end, row["perf/workers"])
            found[number][trial.name].append(iteration)
    return [[*found[number].values()] for number in sorted(found)]


def _longest(iterations: Sequence[Iteration], waits: Sequence[Wait], cores: int) -> float:
    longest = since = 0.0
    for start, end in pairwise(sorted({time for span in (*iterations, *waits) for time in span[:2]})):
        middle = (start + end) / 2
        waiting = any(wait.start < middle < wait.end for wait in waits)
        busy = sum(at.workers for at in iterations if at.start < middle < at.end)
        since = since + end - start if waiting and busy < cores else 0.0
        longest = max(longest, since)
    return longest
