"""Where a fork starts: the trials of another experiment, with their best checkpoints and settings that may change."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.ask.budget import Budget
from experiments.ask.flags import RunFlags
from experiments.plan.learners import Learner
from experiments.read.restored import RestoredTrial, restore
from experiments.record import mirror
from experiments.record.spec import ExperimentSpec, ForkOf, Start
from trainables.checks import ConfigError
from trainables.config import Config
from trainables.metrics import METRIC
from trainables.texts import counted


def forked(learner: Learner, run: RunFlags) -> tuple[ExperimentSpec, list[RestoredTrial]]:
    """The specification of the experiment that ``--fork`` names, and those of its trials that have a checkpoint."""
    folder = mirror.find(run, run.fork or "", learner.name)
    spec = ExperimentSpec.read(folder)
    restored = [trial for _, trial in sorted(restore(folder, spec).items()) if trial.checkpoints]
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
    before, after = config_class.from_dict(restored.config), config_class.from_dict(restored.config | changes)
    for name in config_class.ARCHITECTURE_FIELDS:
        if getattr(before, name) != getattr(after, name):
            raise ConfigError(
                f"--fork cannot change {name}: the checkpoints' arrays have the form of {restored.config[name]!r}"
            )
    return after


def best_checkpoint(restored: RestoredTrial) -> tuple[Path, dict[str, Any]]:
    """A trial's checkpoint with the best mean return, and its results."""
    return max(restored.checkpoints, key=lambda item: (item[1][METRIC], item[1]["training_iteration"]))


def require_more(run: RunFlags, budget: Budget, starts: Sequence[tuple[Path, dict[str, Any]]]) -> None:
    """Raise ConfigError if one of the checkpoints from which a fork starts has used up the fork's budget."""
    furthest = max((row for _, row in starts), key=budget.share, default=None)
    if furthest and budget.share(furthest) == 1:
        stand = f"{counted(furthest['training_iteration'], 'iteration')}, {furthest['timesteps_total']:,} steps"
        raise ConfigError(
            f"{budget}: a trial of {run.fork} has {stand} already, and they are counted from its beginning; give more"
        )


def fork_of(origin: Sequence[RestoredTrial], starts: Sequence[tuple[Path, dict[str, Any]]]) -> ForkOf:
    """The experiment of the trials of an ``origin``, and where those of its fork leave them."""
    folder = origin[0].trial.folder.parent
    before = ExperimentSpec.read(folder).fork_of
    ways = []
    for trial, (_, row) in zip(origin, starts, strict=True):
        start = Start(config=trial.config, iteration=row["training_iteration"], steps=row["timesteps_total"])
        earlier = before.starts[trial.trial.number] if before else []
        ways.append([*earlier, start])
    return ForkOf(name=folder.name, starts=ways)
