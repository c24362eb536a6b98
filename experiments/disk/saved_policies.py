"""Policies to play and to give away: the best one, found by a name or path, made ready to play, and exported."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.disk import folders
from experiments.disk.experiments import Experiment, read_experiment
from experiments.disk.trial_checkpoints import load, load_state, of_trial
from experiments.plan.learners import LEARNERS, learner_named
from trainables import TRAINED, checkpoints
from trainables.checkpoints import STATE, CheckpointError, number
from trainables.checks import ConfigError, unknown
from trainables.config import Config
from trainables.saved import Checkpoint, Checkpoints

if TYPE_CHECKING:
    from trainables.policy import PolicyRunner
    from trainables.trainable import PongTrainable


SHIPPED = tuple(f"{TRAINED.name}/{learner}" for learner in LEARNERS)
"""Names of the trained policies that come with the package."""


def of_experiment(experiment: Experiment) -> Checkpoints:
    """The checkpoints of an experiment's best trial. The best of them is the best policy of the experiment.

    This is the one rule by which ``watch.py``, ``export`` and the command that has a policy play choose: first the
    trial that leads (``Experiment.best``), then its checkpoint with the highest score, and of equal scores the one that
    was trained longest (``Checkpoints.best``). Trials are compared at equal steps and over their seeds. The highest
    score among the checkpoints of all trials is often the luck of a trial that was stopped long before, or in a fork
    the score of another trial's origin. A report's film is of the same trial, and of its latest game that was filmed.

    The first checkpoint of a fork's trial, with which it began, is one of the trial's own. If the best trial has saved
    none that can be used, no other trial takes its place. Before the first result no trial leads, unless there is but
    one.
    """
    if experiment.best:
        return experiment.best.checkpoints
    if len(experiment.trials) == 1:
        return experiment.trials[0].checkpoints
    return Checkpoints(())


def find(storage_path: Path, name_or_path: str) -> Checkpoints:
    """The checkpoints of an experiment's best trial, of a trial, or a single one; at least one of them is usable.

    A name is looked for in the storage path, a path anywhere, and then what comes with the package (``SHIPPED``).
    Raises ConfigError, listing what is there, if it does not exist or holds no whole checkpoint.
    """
    folder = _existing(storage_path, name_or_path)
    if folders.is_experiment(folder):
        return _of_best_trial(read_experiment(folder))
    if os.path.isfile(folder / STATE):
        found = Checkpoints([folder], load_state)
    else:
        found = of_trial(folder)
    if found.newest:
        return found
    hint = " (yet)"
    inside = folders.existing(folder)
    if inside:
        hint = f"; the experiments in it: {', '.join(inside)}"
    raise ConfigError(f"{name_or_path} holds no whole checkpoint{hint}")


def _of_best_trial(experiment: Experiment) -> Checkpoints:
    """As ``of_experiment``. Raises ConfigError, naming trials that have a usable checkpoint, if that one has none."""
    found = of_experiment(experiment)
    if found.newest:
        return found
    others = [trial.name for trial in experiment.trials if trial.checkpoints.newest]
    if not others:
        raise ConfigError(f"{experiment.name} holds no whole checkpoint (yet)")
    why = "no trial of it has a result"
    if experiment.best:
        why = f"its best trial, {experiment.best.name}, has no whole checkpoint"
    raise ConfigError(f"{experiment.name}: {why} yet; to take another trial's, name it: {', '.join(others)}")


def _existing(storage_path: Path, name_or_path: str) -> Path:
    """The folder that a name or a path means. Raises ConfigError, listing what is there, if there is none."""
    known = [*folders.existing(storage_path), *SHIPPED]
    if not name_or_path:
        raise ConfigError(unknown("checkpoint, trial or experiment", name_or_path, known))
    places = [storage_path.absolute() / name_or_path, Path(name_or_path).absolute()]
    if name_or_path in SHIPPED:
        places.append(TRAINED.parent / name_or_path)
    for folder in places:
        if os.path.isdir(folder):
            return folder
    for path in (storage_path / name_or_path, Path(name_or_path)):
        if os.path.isdir(path.parent) and path.parent not in (Path(), storage_path):
            # An experiment or trial exists, and what was meant within it does not.
            known = [name for name in os.listdir(path.parent) if os.path.isdir(path.parent / name)]
            raise ConfigError(unknown("checkpoint, trial or experiment", str(path), known))
    raise ConfigError(unknown("checkpoint, trial or experiment", name_or_path, known))


def trial_name(checkpoint: Checkpoint) -> str:
    """The name of a checkpoint's trial, or its own if it stands alone."""
    folder = checkpoint.folder
    if number(folder) >= 0:
        folder = folder.parent
    return folder.name


def in_words(checkpoint: Checkpoint) -> str:
    """Where a checkpoint lies, how long it was trained, and its score then."""
    score = f"{checkpoint.score:.1f} in training (latest games)"
    if not np.isfinite(checkpoint.score):
        score = "no game had ended in training"
    return f"{folders.display(checkpoint.folder)}: iteration {checkpoint.iteration}, {score}"


def trainable_of(checkpoint: Checkpoint) -> "type[PongTrainable]":
    """The learner's Trainable. Raises ConfigError for a learner of one's own that the user has not named."""
    return learner_named(checkpoint.state.learner).trainable


def settings_of(checkpoint: Checkpoint) -> Config:
    """The configuration of the checkpoint's trial. Raises ConfigError if the checkpoint has none."""
    try:
        return learner_named(checkpoint.state.learner).config_class.from_dict(checkpoint.state.config)
    except ConfigError as error:
        raise ConfigError(f"{checkpoint.folder}: {error}") from None


def on_the_way(earlier: Sequence[Checkpoint], best: Checkpoint, count: int) -> list[Checkpoint]:
    """At most ``count`` of the earlier checkpoints: those nearest to even parts of the climb to the best score."""
    scored = [item for item in earlier if np.isfinite(item.score)]
    if not scored:
        return []
    scores = np.array([item.score for item in scored])
    parts = np.linspace(scores[0], best.score, count + 2)[1:-1]
    indices = np.unique(np.abs(scores - parts[:, None]).argmin(axis=1))
    return [scored[index] for index in indices]


def policy_runner(checkpoint: Checkpoint, trained: bool = True) -> "PolicyRunner":
    """The checkpoint's policy, ready to play; or the one that its trial's settings and seed make before any training.

    Raises CheckpointError if its arrays are damaged or of other shapes.
    """
    from trainables.policy import PolicyRunner, load_runner  # which import all that plays games

    trainable, settings = trainable_of(checkpoint), settings_of(checkpoint)
    if trained:
        return load_runner(checkpoint.folder, checkpoint.state, settings, trainable.make_algorithm)
    trial = trainable.untrained(settings)
    return PolicyRunner(trial.algorithm.worker_factory(), trial.algorithm.playing_weights(trial.arrays))


def export(checkpoint: Checkpoint, folder: Path) -> int:
    """Write a checkpoint's policy alone, to play and not to go on training, into a new folder: theta in half precision.

    Returns the number of bytes written. Raises CheckpointError if the checkpoint is damaged, and OSError.
    """
    from trainables.policy import policy_alone  # which imports all that plays games

    trainable, settings = trainable_of(checkpoint), settings_of(checkpoint)
    arrays, state = load(checkpoint.folder, settings, trainable.learner)
    algorithm = trainable.make_algorithm(settings)
    missing = {*algorithm.playing_arrays} - arrays.keys()
    if missing:
        raise CheckpointError(f"{checkpoint.folder}: lacks the arrays {sorted(missing)}")
    folder.mkdir(parents=True)
    checkpoints.save(folder, policy_alone(algorithm, arrays), state.model_copy(update={"policy_alone": True}))
    return sum(path.stat().st_size for path in folder.iterdir())
