"""A new experiment that starts where another one stands: ``--fork``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.ask.flags import RunFlags
from experiments.plan.learners import Learner
from experiments.plan.trial_names import number_of, trial_name
from experiments.read.policies import copy
from experiments.read.restored import RestoredTrial, restore
from experiments.record import folders, mirror
from experiments.record.spec import ExperimentSpec, ForkOf
from experiments.run import lifecycle
from trainables.checks import ConfigError
from trainables.config import Config
from trainables.metrics import METRIC


def forked(learner: Learner, run: RunFlags) -> tuple[ExperimentSpec, list[RestoredTrial]]:
    """The specification of the experiment that ``--fork`` names, and those of its trials that have a checkpoint.

    Raises ConfigError if there is no such experiment of this learner, or no checkpoint in it.
    """
    folder = mirror.find(run, run.fork or "", learner.name)
    spec = ExperimentSpec.read(folder)
    restored = [trial for _, trial in sorted(restore(folder, spec).items()) if trial.checkpoints]
    if not restored:
        raise ConfigError(f"--fork {run.fork}: no trial of it has a checkpoint yet")
    return spec, restored


def changed(restored: RestoredTrial, changes: dict[str, Any], config_class: type[Config]) -> Config:
    """A trial's configuration with other settings.

    Raises ConfigError for an impossible one, and for one that its checkpoint's arrays do not fit.
    """
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


def starting_points(
    spec: ExperimentSpec, restored: Sequence[RestoredTrial], run: RunFlags
) -> list[tuple[Path, dict[str, Any]]]:
    """The best checkpoint of each trial. Raises ConfigError if one of them has used up ``spec``'s budget."""
    starts = [best_checkpoint(trial) for trial in restored]
    furthest = max((row for _, row in starts), key=spec.budget.share)
    if spec.budget.share(furthest) == 1:
        stand = f"{furthest['training_iteration']} iterations, {furthest['timesteps_total']:,} steps"
        raise ConfigError(
            f"{spec.budget}: a trial of {run.fork} has {stand} already, and they are counted from its beginning;"
            " give more"
        )
    return starts


def fork(learner: Learner, spec: ExperimentSpec, restored: Sequence[RestoredTrial], run: RunFlags) -> tuple[int, Path]:
    """Run a new experiment whose trials start from the best checkpoints of others, in order.

    Returns the program's exit status and the experiment's folder. Raises ConfigError if there is nothing left to do.
    """
    starts = starting_points(spec, restored, run)

    def prepare(folder: Path) -> None:
        for index, ((source, row), config) in enumerate(zip(starts, spec.configs, strict=True)):
            name = trial_name(number_of(index), config, spec.swept)
            copy(source, folder / name / "checkpoint_000000")
            print(f"  {name}: starts from {folders.display(source)}, after iteration {row['training_iteration']}")

    origin = ForkOf(name=run.fork or "", iterations=[row["training_iteration"] for _, row in starts])
    return lifecycle.start(learner, spec.but(fork_of=origin), run, prepare)
