"""What a new experiment needs before it starts: CPUs, a free name, callbacks that are there, and room on the disk."""

import itertools
import math
import os
import shutil
from collections.abc import Callable
from typing import Any

from experiments.ask.flags import RunFlags
from experiments.ask.schedulers import SCHEDULERS
from experiments.plan.capacity import trials_of_round
from experiments.plan.learners import Learner
from experiments.plan.own_files import imported
from experiments.plan.resources import ClusterResources, local_cpus
from experiments.read.luck import SUFFIX
from experiments.record import mirror
from experiments.record.spec import ExperimentSpec
from trainables.checks import ConfigError
from trainables.config import Config

RESERVE_BYTES = 200 * 2**20
"""Free disk space below which nothing is written any more: for what is being written already."""

BESIDE_KEPT = 2
"""Checkpoints that a trial has beside the best ones while it saves: the latest, and the one that is being written.

A fork has one more, with which it began."""


def resources_for(run: RunFlags) -> ClusterResources:
    """What a new experiment can run on. A cluster is attached to; on this machine alone, nothing is started yet."""
    if not run.address:
        return ClusterResources((local_cpus(),))
    from experiments.run.ray_session import start_ray  # Ray

    return start_ray(run.address, run.verbose)


def require_free(run: RunFlags, confirms: bool = False) -> None:
    """Raise ConfigError if a new experiment's name, or its confirmation's, is taken, or a callback is not there."""
    if run.name and mirror.taken(run, run.name):
        raise ConfigError(f"--name {run.name!r} exists already in {run.storage_path}; --resume {run.name} continues it")
    if run.name and confirms and mirror.taken(run, again := run.name + SUFFIX):
        raise ConfigError(f"--confirm needs the name {again!r}, which exists already in {run.storage_path}")
    for typed in run.callback:
        factory(typed)


def factory(typed: str) -> Callable[[], Any]:
    """What ``module:factory`` names. Raises ConfigError if it cannot be imported, or called."""
    _, found = imported(typed)
    if not callable(found):
        raise ConfigError(f"--callback {typed}: {found!r} cannot be called; accepted is a function or a class")
    return found


def require_room(run: RunFlags, need: int) -> None:
    """Raise ConfigError if the disk has no room for checkpoints of so many bytes."""
    path = run.folder.absolute()
    above = next(folder for folder in (path, *path.parents) if os.path.exists(folder))  # False where one may not look
    free = shutil.disk_usage(above).free
    if need + RESERVE_BYTES > free:
        hint = "" if run.kept else "; --keep-checkpoints best takes less"
        raise ConfigError(
            f"--storage-path {run.folder}: checkpoints take up to {need / 1e6:,.0f} MB and"
            f" {RESERVE_BYTES / 1e6:,.0f} MB stay free, but {free / 1e6:,.0f} MB are left on that disk{hint}"
        )


def checkpoint_bytes(learner: Learner, spec: ExperimentSpec) -> int:
    """The most that the checkpoints of all trials take at once, with those that are being written.

    Where all are kept, of each round of halving those of the trials that have most of them; games count as short.
    Raises ConfigError for an environment of another form than the learner takes.
    """
    configs = [learner.config_class.from_dict(config) for config in spec.configs]
    try:
        states = [learner.trainable.untrained(config) for config in configs]
    except ValueError as error:
        raise ConfigError(str(error)) from None
    each = [sum(array.nbytes for array in state.checkpoint_arrays.values()) for state in states]
    beside = BESIDE_KEPT + bool(spec.fork_of)
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
