"""How many configurations a sweep draws and how long a trial trains: as flags say, or as time allows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from experiments.ask.budget import Budget
from experiments.ask.schedulers import SCHEDULERS
from experiments.ask.sweep_flags import SAMPLES, SweepFlags
from experiments.plan.capacity import Capacity
from experiments.plan.draws import gridded, most_choices, typical, undrawn
from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import Space
from experiments.plan.trial_names import short
from trainables.config import Config
from trainables.texts import counted


class Extent(NamedTuple):
    """How many configurations there are, a baseline among them, and how long a trial trains."""

    configurations: int
    budget: Budget
    capacity: Capacity | None = None  # by which halving decided what flags left open
    steps: int | None = None  # of the last trial, as far as flags say
    time_decides: bool = False  # how many configurations there are

    def flag_for(self, configurations: int) -> str:
        """The flag with which there are so many configurations: the time for them, in two digits, rounded up, or their
        number where no time decides it."""
        if not (self.capacity and self.time_decides):
            return f"--num-samples {configurations}"
        seconds = self.capacity.needed(configurations, self.steps)
        digit = 10 ** max(0, len(str(int(seconds))) - 2)
        return f"--time-budget-s {math.ceil(seconds / digit) * digit}"


def extent_of(
    learner: Learner,
    space: Space,
    flags: SweepFlags,
    resources: ClusterResources,
    own: Mapping[str, Any] | None = None,
) -> Extent:
    """The extent of a sweep of a space. Halving measures how fast the machine plays, and fills the time budget.

    ``own`` are its baseline's values, if it has one.

    Raises ConfigError for a grid of ranges, if there is no time for a trial, or if no game of it can be played.
    """
    given = count = len(gridded(space, own)) if flags.grid else flags.num_samples
    if not SCHEDULERS[flags.scheduler].has_rungs:
        return Extent(count or SAMPLES, flags.budget)
    capacity = Capacity.of(learner, typical(learner, space), resources, flags.seeds_each, flags.max_concurrent)
    asked = flags.timesteps
    if flags.iterations and not asked:
        asked = round(flags.iterations * capacity.iteration_steps)
    named = one_of_each(space, own) if space.own else 1
    count, steps = capacity.choose(flags.time_budget_s, count, asked, named)
    timesteps = flags.timesteps if flags.iterations else steps
    return Extent(count, Budget(flags.iterations, timesteps), capacity, asked, time_decides=given is None)


def nothing_swept(preset: str, extent: Extent) -> str:
    """Says that a single trial has a preset's settings, and which flag makes it a comparison."""
    return f"A single trial has the settings of {preset}: nothing is swept. Three take {extent.flag_for(3)}."


def one_of_each(space: Space, own: Mapping[str, Any] | None) -> int:
    """So many configurations have each choice of a swept setting once, beside the baseline's ``own`` if it has one."""
    return most_choices(space) + (own is not None)


def left_out(space: Space, configs: Sequence[Config], extent: Extent, needed: int) -> str:
    """Says which choices of a space no configuration has, and which flag gives the configurations that are ``needed``
    for one of each; empty if none is left."""
    left = undrawn(space, configs)
    if not left:
        return ""
    named = "; ".join(f"{name}={','.join(map(short, values))}" for name, values in left.items())
    note = f"No trial has {named}: {counted(len(configs), 'configuration')} cannot have all."
    return f"{note} One of each takes {extent.flag_for(needed)}."
