"""What a command line asks for, once it is found to be possible: a new experiment, or one that goes on."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.ask.budget import Budget
from experiments.ask.flags import RunFlags
from experiments.ask.schedulers import SCHEDULERS
from experiments.plan.learners import Learner
from experiments.read.luck import SUFFIX
from experiments.read.restored import RestoredTrial
from experiments.record import folders, mirror
from experiments.record.spec import Confirm, ExperimentSpec
from experiments.run import lifecycle
from experiments.run.confirm import confirm, due
from experiments.run.fork import fork, starting_points
from trainables.checks import ConfigError


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
    size = lifecycle.require_possible(learner, spec, run)
    if origin:
        starting_points(spec, origin, run)
    return Task(learner, run, spec, origin=origin, checkpoint_bytes=size)


def perform(task: Task) -> int:
    """Do it, and the confirmation that it promises; return the program's exit status."""
    learner, run = task.learner, task.run
    if task.folder and not task.more and task.spec.confirm != ExperimentSpec.read(task.folder).confirm:
        lifecycle.promise(task.folder, task.spec)
    if task.folder and not task.more and due(task.folder, run):
        print(f"{folders.display(task.folder)} has come to its end, and stays as it is.")
        return confirm(learner, task.folder, run)
    if task.folder:
        status, folder = lifecycle.go_on(learner, task.folder, run, task.more), task.folder
    elif task.origin:
        status, folder = fork(learner, task.spec, task.origin, run)
    else:
        status, folder = lifecycle.start(learner, task.spec, run)
    if status not in (0, 1):
        return status
    try:
        return max(status, confirm(learner, folder, run))
    except ConfigError as error:  # what was asked for is done in part
        print(f"--confirm was left out: {error}", file=sys.stderr)
        return lifecycle.UNFINISHED
