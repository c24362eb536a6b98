"""What goes on of an experiment that began before: with its own settings, more to do, or a confirmation."""

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path

from experiments.analysis.luck import SUFFIX
from experiments.analysis.next_command import first_command
from experiments.ask.budget import Budget
from experiments.ask.command_line import this_command
from experiments.ask.flags import RunFlags
from experiments.disk import mirror
from experiments.disk.spec import Confirm, ExperimentSpec
from experiments.plan.learners import Learner
from trainables.checks import ConfigError


@dataclass(frozen=True)
class Continuation:
    """An experiment that goes on. Nothing of what is new has been written."""

    learner: Learner
    run: RunFlags
    folder: Path
    spec: ExperimentSpec  # as what is asked for makes it
    more: Budget | None = None  # what --extend gives
    confirm: Confirm | None = None  # that it did not promise before


def continuation(
    learner: Learner, run: RunFlags, more: Budget | None = None, confirm: Confirm | None = None
) -> Continuation:
    """What --resume, with a confirmation or without, or --extend, with more to do, asks for.

    Raises ConfigError if it cannot be.
    """
    folder = mirror.find(run, run.resume or run.extend or "", learner.name)
    spec = ExperimentSpec.read(folder)
    if run.extend:
        more = more or Budget(None)
        return Continuation(learner, run, folder, spec.with_more(more), more)
    if confirm:
        _require_confirmable(spec, folder, confirm)
    if confirm == spec.confirm or not confirm:
        return Continuation(learner, run, folder, spec)
    return Continuation(learner, run, folder, spec.but(confirm=confirm), confirm=confirm)


def begun(learner: Learner, run: RunFlags) -> Continuation | None:
    """With --resume-or-start, what is left to do of the experiment that this command began; None if it did not yet.

    Raises ConfigError if another command began it.
    """
    if not run.resume_or_start or not mirror.taken(run, run.name or ""):
        return None
    found = continuation(learner, dataclasses.replace(run, resume=run.name))
    if found.spec.command != this_command():
        raise ConfigError(
            f"--resume-or-start: another command began {run.name}: {first_command(found.spec)};"
            f" --resume {run.name} goes on with it as it is"
        )
    return found


def _require_confirmable(spec: ExperimentSpec, folder: Path, asked: Confirm) -> None:
    """Raise ConfigError if an experiment cannot promise a confirmation."""
    if spec.confirm and spec.confirm != asked:
        raise ConfigError(f"--confirm: {folder.name} promises the best {spec.confirm.best} already; leave it out")
    if spec.confirms:
        raise ConfigError(f"--confirm: {folder.name} is a confirmation")
    if not spec.confirm and os.path.lexists(again := folder.with_name(folder.name + SUFFIX)):
        raise ConfigError(f"--confirm needs the name {again.name!r}, which exists already in {again.parent}")
