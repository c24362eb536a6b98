"""What is to be done, before anything of it is written: by a new experiment, a fork, or one that goes on.

A new experiment of any kind has a ``Draft``. A fork's trials start from the best checkpoints of another experiment's
trials, with settings that may change. What began before goes on as a ``Continuation``.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.analysis.next_command import first_command
from experiments.ask.budget import Budget
from experiments.ask.command_line import this_command
from experiments.ask.flags import RunFlags
from experiments.ask.schedulers import SCHEDULERS
from experiments.disk import mirror
from experiments.disk.restored import RestoredTrial, restore
from experiments.disk.spec import ExperimentSpec, ForkOf, Start, members, past_of
from experiments.plan.capacity import START_AND_END_S, Capacity, Round, in_turn, reachable, rungs, trials_of_round
from experiments.plan.draws import require_one_environment
from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources
from experiments.run.preconditions import require_room
from trainables.checks import ConfigError
from trainables.config import Config
from trainables.saved import Checkpoint
from trainables.texts import counted


def forked(learner: Learner, run: RunFlags) -> tuple[ExperimentSpec, list[RestoredTrial]]:
    """The specification of the experiment that ``--fork`` names, and those of its trials that have a checkpoint."""
    folder = mirror.find(run, run.fork or "", learner.name)
    spec = ExperimentSpec.read(folder)
    restored = [trial for _, trial in sorted(restore(folder, spec).items()) if trial.checkpoints.newest]
    if not restored:
        raise ConfigError(f"--fork {run.fork}: no trial of it has a checkpoint yet")
    return spec, restored


def renumbered(configuration_of: Sequence[int] | None, trials: Sequence[int]) -> list[int] | None:
    """The configurations of some of the trials, counted from 0 again without gaps; None where each trial is one."""
    if configuration_of is None:
        return None
    kept = [configuration_of[trial] for trial in trials]
    order = sorted({*kept})
    return [order.index(configuration) for configuration in kept]


def changed(restored: RestoredTrial, changes: dict[str, Any], config_class: type[Config]) -> Config:
    """A trial's configuration with other settings. Raises ConfigError for one that its checkpoint does not fit."""
    settings = restored.trial.config
    before, after = config_class.from_dict(settings), config_class.from_dict(settings | changes)
    for name in config_class.ARCHITECTURE_FIELDS:
        if getattr(before, name) != getattr(after, name):
            raise ConfigError(
                f"--fork cannot change {name}: the checkpoints' arrays have the form of {settings[name]!r}"
            )
    return after


def starts_of(origin: Sequence[RestoredTrial]) -> list[Checkpoint]:
    """The best checkpoint of each of these trials, which have one: a fork starts from there."""
    found = []
    for trial in origin:
        best = trial.checkpoints.best
        assert best
        found.append(best)
    return found


def require_more(run: RunFlags, budget: Budget, starts: Sequence[Checkpoint]) -> None:
    """Raise ConfigError if one of the checkpoints from which a fork starts has used up the fork's budget."""
    for start in sorted(starts, key=lambda start: start.steps, reverse=True):
        if budget.share(start.counters) == 1:
            stand = f"{counted(start.iteration, 'iteration')}, {start.steps:,} steps"
            raise ConfigError(
                f"{budget}: a trial of {run.fork} has {stand} already, and they are counted from its beginning;"
                " give more"
            )


def fork_of(origin: Sequence[RestoredTrial], starts: Sequence[Checkpoint]) -> ForkOf:
    """The record of a fork: the experiment of the ``origin`` trials, and where the fork's trials leave each of them."""
    left = []
    for restored, start in zip(origin, starts, strict=True):
        trial = restored.trial
        past = past_of(trial.records.spec, trial.number)
        left.append(Start(config=trial.config, iteration=start.iteration, steps=start.steps, past=past))
    return ForkOf(name=origin[0].trial.folder.parent.name, starts=left)


BESIDE_KEPT = 2
"""Checkpoints that a trial has beside the best ones while it saves: the latest, and the one that is being written.

A trial of a fork has one more, from which it started."""

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
    baseline: Mapping[str, Any] | None = None  # the baseline's values of the swept settings; None without a baseline
    configuration_of: list[int] | None = None  # each trial's configuration, where these have several seeds
    scheduler: str = "fifo"
    max_concurrent: int | None = None  # trials at once
    time_budget_s: float | None = None
    confirms: str | None = None  # the sweep whose confirmation it is
    origin: Sequence[RestoredTrial] = ()  # of a fork, the trials from which its own start
    drawn: int | None = None  # how many configurations were drawn, those that were drawn twice included
    space: Mapping[str, str] = field(default_factory=dict)  # values of each swept setting, in words
    preset: dict[str, Any] | None = None  # settings of a preset in the space's file
    notes: Sequence[str] = ()  # what a user should know before it starts
    resources: ClusterResources = NOWHERE  # by which its time is estimated
    measured: Capacity | None = None  # what they can play, if games were played for that already

    @functools.cached_property
    def spec(self) -> ExperimentSpec:
        """What is written down of it."""
        return ExperimentSpec(
            learner=self.learner.name,
            command=this_command(),
            iterations=self.budget.iterations,
            timesteps=self.budget.timesteps,
            swept=[*self.swept],
            configs=[config.to_dict() for config in self.configs],
            checkpoint_frequency=self.run.checkpoint_frequency,
            keep_checkpoints=self.run.kept,
            interval=SCHEDULERS[self.scheduler].interval(self.budget),
            scheduler=self.scheduler,
            rungs=self.rungs,
            max_concurrent=self.max_concurrent,
            time_budget_s=self.time_budget_s,
            storage_uri=self.run.uri,
            confirms=self.confirms,
            fork_of=self._fork_of,
            configuration_of=self.configuration_of,
            drawn=self.drawn,
            space=dict(self.space) or None,
            preset=self.preset,
            baseline=None if self.baseline is None else dict(self.baseline),
        )

    @property
    def _fork_of(self) -> ForkOf | None:
        return fork_of(self.origin, self.starts) if self.origin else None

    @functools.cached_property
    def starts(self) -> list[Checkpoint]:
        """Of a fork, the checkpoint from which each trial starts."""
        return starts_of(self.origin)

    @property
    def configurations(self) -> list[list[int]]:
        """The trials of each configuration: its seeds, in order."""
        return members(self.configuration_of, len(self.configs))

    def steps_at(self, rung: int) -> list[float]:
        """How far each trial is as it waits at a rung, in the budget's unit: after whole iterations."""
        budget = self.budget
        counters = [start.counters for start in self.starts] or [{}] * len(self.configs)
        found = []
        for config, counted_before in zip(self.configs, counters, strict=True):
            start = counted_before.get(budget.time_attr, 0)
            length = self._iteration_length(config)
            iterations = math.ceil(max(0, rung - start) / length - 1e-9)
            if budget.iterations:
                iterations = min(iterations, budget.iterations - counted_before.get("training_iteration", 0))
            found.append(start + iterations * length)
        return found

    def _iteration_length(self, config: Config) -> float:
        """An iteration in the budget's unit: its agent steps, or 1."""
        return self.learner.iteration_steps(config) if self.budget.unit == "timesteps" else 1

    @functools.cached_property
    def rungs(self) -> list[int] | None:
        """Where halving compares trials. A fork's rungs lie beyond its furthest trial's start."""
        if not SCHEDULERS[self.scheduler].has_rungs:
            return None
        start = min(round(max(self.steps_at(0))), self.budget.limit - 1)
        return reachable(rungs(len(self.configurations), self.budget.limit, start), self.steps_at)

    @functools.cached_property
    def capacity(self) -> Capacity:
        """What the resources can play. Games of an untrained policy are played for it, unless they were before."""
        if self.measured:
            return self.measured
        seeds = max(map(len, self.configurations))
        return Capacity.of(self.learner, self.configs[0], self.resources, seeds, self.max_concurrent)

    @functools.cached_property
    def rounds(self) -> list[Round]:
        """The rounds of halving, in the budget's unit; their seconds are of whole iterations. Empty without rungs."""
        if not self.rungs:
            return []
        at = [fmean(self.steps_at(rung)) for rung in [0, *self.rungs]]
        agent_steps = at
        if self.budget.unit == "iterations":
            agent_steps = [iterations * self.capacity.iteration_steps for iterations in at]
        played = self.capacity.rounds(len(self.configurations), agent_steps)
        last = round(
            max(self.steps_at(self.budget.limit))
        )  # It is before the last rung if the other limit ends all trials.
        begin = round(at[0])
        found = []
        for each, end in zip(played, self.rungs, strict=True):
            found.append(each._replace(begin=begin, end=min(end, last)))
            begin = end
        return found

    @property
    def concurrent(self) -> int:
        """How many trials run at once."""
        count = self.resources.trials(self.configs)
        return min(count, self.max_concurrent or count)

    @functools.cached_property
    def seconds(self) -> float | None:
        """Seconds that the experiment takes, about; None where nobody estimates them."""
        if self.resources == NOWHERE:
            return None
        if self.rounds:
            return START_AND_END_S + sum(each.seconds for each in self.rounds)
        needs = []
        for config, begin, end in zip(self.configs, self.steps_at(0), self.steps_at(self.budget.limit), strict=True):
            steps = end - begin
            if self.budget.unit == "iterations":
                steps *= self.learner.iteration_steps(config)
            needs.append((config.cpus, self.capacity.trial_seconds(config.num_workers, steps)))
        return START_AND_END_S + in_turn(needs, self.resources.cpus, max(1, self.concurrent))

    @functools.cached_property
    def checkpoint_bytes(self) -> int:
        """The most that the checkpoints of all trials take at once, with those that are being written.

        Each round of halving is counted with those of its trials that would take most; where only some checkpoints are
        kept, it is never more than those are. Whole games count as short ones. Raises ConfigError for an environment of
        another form than the learner takes.
        """
        sizes = [self._bytes_of_one(config) for config in self.configs]
        beside = BESIDE_KEPT + bool(self.origin)
        total, begin = sum(sizes) * beside, 0
        for index, end in enumerate(self.rungs or [self.budget.limit]):
            made = []
            for size, config in zip(sizes, self.configs, strict=True):
                made.append(size * self._saved(config, end - begin))
            made.sort(reverse=True)
            playing = trials_of_round(len(self.configurations), index) * max(map(len, self.configurations))
            total += sum(made[:playing])
            begin = end
        if self.run.kept:
            total = min(total, sum(sizes) * (self.run.kept + beside))
        return total

    def _bytes_of_one(self, config: Config) -> int:
        """Bytes of a checkpoint's arrays: its state, and the film of an evaluation, are not counted."""
        try:
            arrays = self.learner.trainable.untrained(config).checkpoint_arrays
        except (ValueError, MemoryError) as error:
            raise ConfigError(str(error)) from None
        return sum(array.nbytes for array in arrays.values())

    def _saved(self, config: Config, span: int) -> int:
        """Checkpoints that a trial makes at most in a ``span`` of the budget's unit."""
        iterations = min(math.ceil(span / self._iteration_length(config)), self.budget.iterations or math.inf)
        regular = math.ceil(iterations / self.run.checkpoint_frequency)
        evaluated = math.ceil(iterations / config.eval_interval) if config.eval_interval else 0
        return regular + evaluated + 1  # The last one is made at the end of the span.


def require_possible(draft: Draft) -> None:
    """Raise ConfigError if trials cannot be compared, have no room for checkpoints, or have nothing left to play."""
    require_one_environment(draft.configs, draft.scheduler)
    require_room(draft.run, draft.checkpoint_bytes)
    require_more(draft.run, draft.budget, draft.starts)


@dataclass(frozen=True)
class Continuation:
    """An experiment that goes on; nothing that changes has been written yet."""

    learner: Learner
    run: RunFlags
    folder: Path
    more: Budget | None = None  # what --extend gives


NOTHING_MORE = Budget(None)
"""No larger budget; --extend refuses it."""


def continuation(learner: Learner, run: RunFlags, more: Budget = NOTHING_MORE) -> Continuation:
    """What --resume asks for, or --extend, which gives each trial a larger budget: ``more``.

    Raises ConfigError if there is no such experiment, or if ``more`` is no larger budget.
    """
    folder = mirror.find(run, run.resume or run.extend or "", learner.name)
    if not run.extend:
        return Continuation(learner, run, folder)
    ExperimentSpec.read(folder).with_more(more)  # It refuses what is no larger budget.
    return Continuation(learner, run, folder, more)


def begun(learner: Learner, run: RunFlags) -> Continuation | None:
    """With --resume-or-start, what is left to do of the experiment that this command began; None if it did not yet.

    Raises ConfigError if another command began it.
    """
    if not run.resume_or_start or not mirror.taken(run, run.name or ""):
        return None
    found = continuation(learner, dataclasses.replace(run, resume=run.name))
    spec = ExperimentSpec.read(found.folder)
    if spec.command != this_command():
        raise ConfigError(
            f"--resume-or-start: another command began {run.name}: {first_command(spec)};"
            f" --resume {run.name} goes on with it as it is"
        )
    return found
