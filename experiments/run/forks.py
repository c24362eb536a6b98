"""Where a fork starts: the trials of another experiment, with their best checkpoints and settings that may change."""

from collections.abc import Sequence
from typing import Any

from experiments.ask.budget import Budget
from experiments.ask.flags import RunFlags
from experiments.disk import mirror
from experiments.disk.fork_history import past_of
from experiments.disk.restored import RestoredTrial, restore
from experiments.disk.spec import ExperimentSpec, ForkOf, Start
from experiments.plan.learners import Learner
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


def of_some(configuration_of: Sequence[int] | None, trials: Sequence[int]) -> list[int] | None:
    """The configurations of some of the trials, counted anew from 0; None where each trial is one."""
    if configuration_of is None:
        return None
    kept = [configuration_of[trial] for trial in trials]
    return [sorted({*kept}).index(configuration) for configuration in kept]


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
    """The experiment of the trials of an ``origin``, and where those of its fork leave them."""
    left = []
    for restored, start in zip(origin, starts, strict=True):
        trial = restored.trial
        past = past_of(trial.records.spec, trial.number)
        left.append(Start(config=trial.config, iteration=start.iteration, steps=start.steps, past=past))
    return ForkOf(name=origin[0].trial.folder.parent.name, starts=left)
