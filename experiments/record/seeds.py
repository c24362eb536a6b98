"""Which trials are seeds of one configuration, and what their results say of it: their mean.

A record counts configurations from 0, one number for each trial in order: ``[0, 0, 1, 1]`` are two of two seeds each.
Without such a list every trial is a configuration of its own.
"""

import itertools
import math
from collections.abc import Sequence, Set


def is_sound(configuration_of: Sequence[int], trials: int) -> bool:
    """Whether this gives each of so many trials its configuration, counted without gaps in the order of the trials."""
    steps = [after - before for before, after in itertools.pairwise((-1, *configuration_of))]
    return len(configuration_of) == trials and steps[:1] in ([], [1]) and {0, 1} >= {*steps}


def members(configuration_of: Sequence[int] | None, trials: int) -> list[list[int]]:
    """The trials of each configuration, in order; a list that is of another number of trials says nothing."""
    found: dict[int, list[int]] = {}
    known = configuration_of if configuration_of and len(configuration_of) == trials else range(trials)
    for trial, configuration in enumerate(known):
        found.setdefault(configuration, []).append(trial)
    return list(found.values())


def of_some(configuration_of: Sequence[int] | None, trials: Sequence[int]) -> list[int] | None:
    """The configurations of some of the trials, counted anew from 0; None where each trial is one."""
    if configuration_of is None:
        return None
    kept = [configuration_of[trial] for trial in trials]
    return [sorted({*kept}).index(configuration) for configuration in kept]


def with_diverged(
    scores: Sequence[float | None], diverged: Set[int], configurations: Sequence[Sequence[int]]
) -> list[float | None]:
    """Trials' scores, where a seed that diverged counts as much as the worst of all trials.

    To leave it out would favour settings that diverge now and then. Of a configuration none of whose seeds has a score
    nothing changes: it has none.
    """
    found = [*scores]
    worst = min((score for score in scores if score is not None), default=None)
    for trials in configurations:
        if any(scores[trial] is not None for trial in trials):
            for trial in diverged & {*trials}:
                found[trial] = worst
    return found


def means(scores: Sequence[float | None], configurations: Sequence[Sequence[int]]) -> list[float | None]:
    """Each configuration's mean over the seeds that have a score; None where none has."""
    arrived = [[score for trial in trials if (score := scores[trial]) is not None] for trials in configurations]
    return [math.fsum(each) / len(each) if each else None for each in arrived]
