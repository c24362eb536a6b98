"""What goes on of an experiment that began before: as it is, or with more to do."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from experiments.analysis.next_command import first_command
from experiments.ask.budget import Budget
from experiments.ask.command_line import this_command
from experiments.ask.flags import RunFlags
from experiments.disk import mirror
from experiments.disk.spec import ExperimentSpec
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


def continuation(learner: Learner, run: RunFlags, more: Budget | None = None) -> Continuation:
    """What --resume, or --extend, with more to do, asks for.

    Raises ConfigError if it cannot be.
    """
    folder = mirror.find(run, run.resume or run.extend or "", learner.name)
    spec = ExperimentSpec.read(folder)
    if run.extend:
        more = more or Budget(None)
        return Continuation(learner, run, folder, spec.with_more(more), more)
    return Continuation(learner, run, folder, spec)


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
