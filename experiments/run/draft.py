"""What a new experiment is to do, before anything of it is written: of a sweep, a fork, a run, or a confirmation."""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from experiments.ask.budget import Budget
from experiments.ask.command_line import this_command
from experiments.ask.flags import RunFlags
from experiments.ask.schedulers import SCHEDULERS
from experiments.plan.capacity import Capacity, Round, Way, reachable, rungs
from experiments.plan.draws import require_one_environment
from experiments.plan.exchanges import mutations
from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources
from experiments.read.restored import RestoredTrial
from experiments.record.spec import Confirm, ExperimentSpec, ForkOf, members
from experiments.run.forks import fork_of, require_more, starts_of
from experiments.run.preconditions import checkpoint_bytes, require_room
from trainables.config import Config
from trainables.saved import Checkpoint

START_AND_END_S = 12.0
"""Seconds before the first game, of which Ray and the compiled loops take most, and after the last one."""

NOWHERE = ClusterResources(())
"""The resources of an experiment whose time nobody estimates."""


@dataclass(frozen=True, eq=False)
class Draft:
    """All that a new experiment is to do. Each way to begin one makes its Draft by one call; nothing changes it."""

    learner: Learner
    run: RunFlags  # where results go, and how they are kept
    budget: Budget  # of a trial
    configs: Sequence[Config]  # of all trials, in order
    swept: Sequence[str] = ()  # settings that differ between trials
    configuration_of: list[int] | None = None  # each trial's configuration, where these have several seeds
    scheduler: str = "fifo"
    max_concurrent: int | None = None  # trials at once
    time_budget_s: float | None = None
    confirm: Confirm | None = None  # what it promises
    confirms: str | None = None  # the sweep whose confirmation it is
    origin: Sequence[RestoredTrial] = ()  # of a fork, the trials from which its own start
    drawn: int | None = None  # configurations, before what was drawn twice was left out
    space: Mapping[str, str] = field(default_factory=dict)  # from which they were drawn, in words
    preset: dict[str, Any] | None = None  # settings of a preset in the space's file
    notes: Sequence[str] = ()  # what a user should know before it starts
    command: Sequence[str] = field(default_factory=this_command)
    resources: ClusterResources = NOWHERE  # by which its time is estimated
    capacity: Capacity | None = None  # as far as it was measured already

    @functools.cached_property
    def spec(self) -> ExperimentSpec:
        """What is written down of it."""
        return ExperimentSpec(
            learner=self.learner.name,
            command=[*self.command],
            iterations=self.budget.iterations,
            timesteps=self.budget.timesteps,
            swept=[*self.swept],
            configs=[config.to_dict() for config in self.configs],
            checkpoint_frequency=self.run.checkpoint_frequency,
            keep_checkpoints=self.run.kept,
            interval=SCHEDULERS[self.scheduler].interval(self.budget),
            scheduler=self.scheduler,
            rungs=self._rungs,
            max_concurrent=self.max_concurrent,
            time_budget_s=self.time_budget_s,
            storage_uri=self.run.uri,
            confirm=self.confirm,
            confirms=self.confirms,
            fork_of=self._fork_of,
            configuration_of=self.configuration_of,
            drawn=self.drawn,
            space=dict(self.space) or None,
            preset=self.preset,
        )

    @property
    def _fork_of(self) -> ForkOf | None:
        return fork_of(self.origin, self.starts) if self.origin else None

    @property
    def _rungs(self) -> list[int] | None:
        """Where halving compares trials. A fork's rungs lie beyond its furthest trial's start."""
        if not SCHEDULERS[self.scheduler].has_rungs:
            return None
        limit = self.budget.limits[self.budget.time_attr]
        start = min(max(way.start for way in self._ways), limit - 1)
        configurations = len(members(self.configuration_of, len(self.configs)))
        return reachable(rungs(configurations, limit, start), self._ways)

    @functools.cached_property
    def starts(self) -> list[Checkpoint]:
        """Of a fork, the checkpoint from which each trial starts."""
        return starts_of(self.origin)

    @functools.cached_property
    def _ways(self) -> list[Way]:
        """Each trial's way, in the budget's unit."""
        budget, found = self.budget, []
        rows = [start.counters for start in self.starts] or [{}] * len(self.configs)
        for config, row in zip(self.configs, rows, strict=True):
            length = self.learner.iteration_steps(config) if budget.unit == "timesteps" else 1
            start, limit = row.get(budget.time_attr, 0), budget.limits[budget.time_attr]
            iterations = (budget.iterations or math.inf) - row.get("training_iteration", 0)
            to_limit = math.ceil(max(0, limit - start) / length - 1e-9)
            found.append(Way(start, length, start + length * min(iterations, to_limit)))
        return found

    @functools.cached_property
    def rounds(self) -> list[Round]:
        """The rounds of halving, in the budget's unit; their seconds are of whole iterations. None without rungs."""
        spec, ways = self.spec, self._ways
        if not spec.rungs:
            return []
        seeds = max(map(len, spec.configurations))
        capacity = self.capacity or Capacity.of(
            self.learner, self.configs[0], self.resources, seeds, self.max_concurrent
        )
        steps = capacity.iteration_steps if self.budget.unit == "iterations" else 1
        start = fmean(way.start for way in ways)
        at = [start, *(fmean(way.reached(rung) for way in ways) for rung in spec.rungs)]
        found = capacity.rounds(len(spec.configurations), [each * steps for each in at])
        last = round(max(way.end for way in ways))  # before the last rung if their other limit ends them
        begins = [round(start), *spec.rungs]
        return [
            each._replace(begin=begin, end=min(end, last))
            for each, begin, end in zip(found, begins, spec.rungs, strict=False)
        ]

    @property
    def concurrent(self) -> int:
        """How many trials run at once."""
        count = self.resources.trials(self.configs)
        return min(count, self.max_concurrent or count)

    @functools.cached_property
    def core_seconds(self) -> float:
        """Seconds of one core for the first trial from scratch; games of an untrained policy are measured for it."""
        return self.learner.seconds(self.configs[0], self.budget)

    @property
    def playing_seconds(self) -> float:
        """Seconds that all trials take from scratch."""
        each_busy = max(config.num_workers * min(1, config.cpus_per_worker) for config in self.configs)
        return len(self.configs) * self.core_seconds / min(self.resources.cpus, self.concurrent * each_busy)

    @property
    def seconds(self) -> float | None:
        """Seconds that the experiment takes, about; None where nobody estimates them."""
        if self.resources == NOWHERE:
            return None
        if self.rounds:
            return sum(each.seconds for each in self.rounds)
        share_left = fmean([1 - self.budget.share(start.counters) for start in self.starts] or [1.0])
        return START_AND_END_S + share_left * self.playing_seconds

    @functools.cached_property
    def checkpoint_bytes(self) -> int:
        """The most that the checkpoints of all trials take at once."""
        return checkpoint_bytes(self.learner, self.spec)


def require_possible(draft: Draft) -> None:
    """Raise ConfigError for trials that cannot be compared or changed, or without room or anything left to play."""
    require_one_environment(draft.configs, draft.scheduler)
    if SCHEDULERS[draft.scheduler].changes_settings:
        mutations(draft.learner, draft.swept, draft.space)
    require_room(draft.run, draft.checkpoint_bytes)
    require_more(draft.run, draft.budget, draft.starts)
