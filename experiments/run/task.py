"""What a command line asks for, once it is found to be possible: a new experiment, a fork, or one that goes on."""

import dataclasses
import itertools
import math
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.ask.budget import Budget
from experiments.ask.command_line import this_command
from experiments.ask.flags import RunFlags
from experiments.ask.schedulers import SCHEDULERS
from experiments.plan.capacity import trials_of_round
from experiments.plan.learners import Learner
from experiments.plan.own_files import imported
from experiments.plan.resources import ClusterResources, local_cpus
from experiments.read.luck import SUFFIX
from experiments.read.next_command import first_command
from experiments.read.restored import RestoredTrial, restore
from experiments.record import mirror
from experiments.record.spec import Confirm, ExperimentSpec, ForkOf, Start
from trainables.checks import ConfigError
from trainables.config import Config
from trainables.saved import Checkpoint
from trainables.texts import counted

RESERVE_BYTES = 200 * 2**20
"""Free disk space below which nothing is written any more: for what is being written already."""

BESIDE_KEPT = 2
"""Checkpoints that a trial has beside the best ones while it saves: the latest, and the one that is being written.

A fork has one more, with which it began."""


@dataclass(frozen=True)
class Task:
    """All that a program is to do. Nothing of it has been written."""

    learner: Learner
    run: RunFlags
    spec: ExperimentSpec  # of a new experiment, or as an extension makes it
    folder: Path | None = None  # of the experiment that goes on
    more: Budget | None = None  # what --extend gives
    origin: Sequence[RestoredTrial] = ()  # the trials from which those of a fork start
    checkpoint_bytes: int = 0  # at most; of a new experiment
    seconds: float | None = None  # that all trials of a new one take, about
    smoke_test_since: float | None = None  # in seconds of time.monotonic, of what asks whether everything works

    @property
    def share_left(self) -> float:
        """The share of the trials' budget, in the mean, that is still to be played; less than 1 for a fork."""
        return fmean([1 - self.spec.budget.share(start.counters) for start in best_of_each(self.origin)] or [1.0])


def resources_for(run: RunFlags) -> ClusterResources:
    """What a new experiment can run on. A cluster is attached to; on this machine alone, nothing is started yet."""
    if not run.address:
        return ClusterResources((local_cpus(),))
    from experiments.run.ray_session import start_ray  # Ray

    return start_ray(run.address, run.verbose)


def begun(learner: Learner, run: RunFlags) -> Task | None:
    """With --resume-or-start, what is left to do of the experiment that this command began; None if it did not yet.

    Raises ConfigError if another command began it.
    """
    if not run.resume_or_start or not mirror.taken(run, run.name or ""):
        return None
    task = continuation(learner, dataclasses.replace(run, resume=run.name), Budget(None))
    if task.spec.command != this_command():
        raise ConfigError(
            f"--resume-or-start: another command began {run.name}: {first_command(task.spec)};"
            f" --resume {run.name} goes on with it as it is"
        )
    return task


def continuation(learner: Learner, run: RunFlags, asked: Budget, confirm: Confirm | None = None) -> Task:
    """What --resume, with a confirmation or without, or --extend asks for. Raises ConfigError if it cannot be."""
    folder = mirror.find(run, run.resume or run.extend or "", learner.name)
    spec = ExperimentSpec.read(folder)
    if run.resume:
        return Task(learner, run, _with_confirmation(spec, folder, confirm) if confirm else spec, folder)
    return Task(learner, run, spec.with_more(asked), folder, asked)


def _with_confirmation(spec: ExperimentSpec, folder: Path, asked: Confirm) -> ExperimentSpec:
    """What an experiment is to do once a confirmation is asked for that it did not promise when it began."""
    if spec.confirm and spec.confirm != asked:
        raise ConfigError(f"--confirm: {folder.name} promises the best {spec.confirm.best} already; leave it out")
    if spec.confirms or SCHEDULERS[spec.scheduler].changes_settings:
        what = "a confirmation" if spec.confirms else f"a sweep of {spec.scheduler}"
        raise ConfigError(f"--confirm: {folder.name} is {what}")
    if not spec.confirm and os.path.lexists(again := folder.with_name(folder.name + SUFFIX)):
        raise ConfigError(f"--confirm needs the name {again.name!r}, which exists already in {again.parent}")
    return spec.but(confirm=asked)


def beginning(learner: Learner, run: RunFlags, spec: ExperimentSpec, origin: Sequence[RestoredTrial] = ()) -> Task:
    """A new experiment, or with an ``origin`` a fork. Raises ConfigError if it cannot be."""
    size = require_possible(learner, spec, run)
    if origin:
        starting_points(spec, origin, run)
    return Task(learner, run, spec, origin=origin, checkpoint_bytes=size)


def require_free(run: RunFlags, confirms: bool) -> None:
    """Raise ConfigError if a new experiment's name, or its confirmation's, is taken, or a callback is not there."""
    if run.name and mirror.taken(run, run.name):
        raise ConfigError(f"--name {run.name!r} exists already in {run.storage_path}; --resume {run.name} continues it")
    if run.name and confirms and mirror.taken(run, again := run.name + SUFFIX):
        raise ConfigError(f"--confirm needs the name {again!r}, which exists already in {run.storage_path}")
    for typed in run.callback:
        factory(typed)


def require_possible(learner: Learner, spec: ExperimentSpec, run: RunFlags) -> int:
    """The most bytes that a new experiment's checkpoints take. Raises ConfigError if it cannot be, or has no room."""
    require_free(run, bool(spec.confirm))
    try:
        need = checkpoint_bytes(learner, spec, beside=BESIDE_KEPT + 1 if run.fork else BESIDE_KEPT)
    except ValueError as error:  # an environment of another form than the learner takes
        raise ConfigError(str(error)) from None
    path = run.folder.absolute()
    above = next(folder for folder in (path, *path.parents) if os.path.exists(folder))  # False where one may not look
    free = shutil.disk_usage(above).free
    if need + RESERVE_BYTES > free:
        hint = "" if spec.keep_checkpoints else "; --keep-checkpoints best takes less"
        raise ConfigError(
            f"--storage-path {run.folder}: checkpoints take up to {need / 1e6:,.0f} MB and"
            f" {RESERVE_BYTES / 1e6:,.0f} MB stay free, but {free / 1e6:,.0f} MB are left on that disk{hint}"
        )
    return need


def factory(typed: str) -> Callable[[], Any]:
    """What ``module:factory`` names. Raises ConfigError if it cannot be imported, or called."""
    _, found = imported(typed)
    if not callable(found):
        raise ConfigError(f"--callback {typed}: {found!r} cannot be called; accepted is a function or a class")
    return found


def checkpoint_bytes(learner: Learner, spec: ExperimentSpec, beside: int = BESIDE_KEPT) -> int:
    """The most that the checkpoints of all trials take at once, with those ``beside`` the ones that are kept.

    Where all are kept, of each round of halving those of the trials that have most of them; games count as short.
    """
    configs = [learner.config_class.from_dict(config) for config in spec.configs]
    states = map(learner.trainable.untrained, configs)
    each = [sum(array.nbytes for array in state.checkpoint_arrays.values()) for state in states]
    if spec.keep_checkpoints:
        return sum(each) * (spec.keep_checkpoints + beside)
    total = sum(each) * beside
    ends = spec.rungs or [spec.budget.limits[spec.budget.time_attr]]
    for round_, (begin, end) in enumerate(itertools.pairwise([0, *ends])):
        made = [size * _saved(learner, spec, config, end - begin) for size, config in zip(each, configs, strict=True)]
        total += sum(sorted(made, reverse=True)[: trials_of_round(len(configs), round_)])
    return total


def _saved(learner: Learner, spec: ExperimentSpec, config: Config, span: int) -> int:
    """Checkpoints that a trial makes at most in a span of the budget's unit."""
    steps = learner.iteration_steps(config) if spec.budget.unit == "timesteps" else 1
    iterations = min(math.ceil(span / steps), spec.iterations or math.inf)
    evaluated = iterations / config.eval_interval if config.eval_interval else 0
    decided = span / spec.interval if SCHEDULERS[spec.scheduler].saves_at_decisions else 1
    return math.ceil(iterations / spec.checkpoint_frequency) + math.ceil(evaluated) + math.ceil(decided)


def forked(learner: Learner, run: RunFlags) -> tuple[ExperimentSpec, list[RestoredTrial]]:
    """The specification of the experiment that ``--fork`` names, and those of its trials that have a checkpoint."""
    folder = mirror.find(run, run.fork or "", learner.name)
    spec = ExperimentSpec.read(folder)
    restored = [trial for _, trial in sorted(restore(folder, spec).items()) if trial.checkpoints.newest]
    if not restored:
        raise ConfigError(f"--fork {run.fork}: no trial of it has a checkpoint yet")
    return spec, restored


def changed(restored: RestoredTrial, changes: dict[str, Any], config_class: type[Config]) -> Config:
    """A trial's configuration with other settings. Raises ConfigError for one that its checkpoint does not fit."""
    before, after = config_class.from_dict(restored.config), config_class.from_dict(restored.config | changes)
    for name in config_class.ARCHITECTURE_FIELDS:
        if getattr(before, name) != getattr(after, name):
            raise ConfigError(
                f"--fork cannot change {name}: the checkpoints' arrays have the form of {restored.config[name]!r}"
            )
    return after


def starting_points(spec: ExperimentSpec, restored: Sequence[RestoredTrial], run: RunFlags) -> list[Checkpoint]:
    """The best checkpoint of each trial. Raises ConfigError if one of them has used up ``spec``'s budget."""
    starts = best_of_each(restored)
    furthest = max(starts, key=lambda start: spec.budget.share(start.counters))
    if spec.budget.share(furthest.counters) == 1:
        stand = f"{counted(furthest.iteration, 'iteration')}, {furthest.steps:,} steps"
        raise ConfigError(
            f"{spec.budget}: a trial of {run.fork} has {stand} already, and they are counted from its beginning;"
            " give more"
        )
    return starts


def best_of_each(restored: Sequence[RestoredTrial]) -> list[Checkpoint]:
    """The best checkpoint of each of these trials, as far as they have one; a fork starts from these."""
    found = []
    for trial in restored:
        if best := trial.checkpoints.best:
            found.append(best)
    return found


def forked_from(restored: Sequence[RestoredTrial], starts: Sequence[Checkpoint]) -> ForkOf:
    """The experiment of these trials, and where those of its fork leave them."""
    folder = restored[0].trial.folder.parent
    before = ExperimentSpec.read(folder).fork_of
    ways = []
    for trial, start in zip(restored, starts, strict=True):
        left = Start(config=trial.config, iteration=start.iteration, steps=start.steps)
        ways.append([*(before.starts[trial.trial.number] if before else []), left])
    return ForkOf(name=folder.name, starts=ways)
