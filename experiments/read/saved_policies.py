"""Checkpoints that nobody vouches for: found by a name or path, checked before memory is taken, and ready to play."""

import contextlib
import functools
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.plan.learners import LEARNERS, is_learner, learner_named
from experiments.record import folders
from trainables import TRAINED, checkpoints
from trainables.checkpoints import ARRAYS, FILM, STATE, CheckpointError, State
from trainables.checks import ConfigError, unknown
from trainables.config import Config

if TYPE_CHECKING:
    from trainables.policy import PolicyRunner
    from trainables.trainable import PongTrainable


SHIPPED = tuple(f"{TRAINED.name}/{learner}" for learner in LEARNERS)
"""Names of the trained policies that come with the package."""


class CheckpointRef(NamedTuple):
    """A checkpoint, of which only its state was read."""

    folder: Path
    state: State

    @property
    def name(self) -> str:
        """Its trial's name, or its own if it stands alone."""
        return (self.folder.parent if self.folder.name.startswith("checkpoint_") else self.folder).name

    @property
    def iteration(self) -> int:
        """Iterations made."""
        return self.state.iteration

    @property
    def evaluated(self) -> int:
        """The iteration of the latest evaluation before it; its own if the state does not say."""
        return int(self.state.evaluation.get("eval/iteration", self.iteration))

    @property
    def score(self) -> float:
        """Mean return of its games of the last 100,000 agent steps of training; -inf before the first."""
        return self.state.episodes.score

    @property
    def in_training(self) -> str:
        """The score in words."""
        words = f"{self.score:.1f} in training (latest games)"
        return words if np.isfinite(self.score) else "no game had ended in training"

    @property
    def trainable(self) -> "type[PongTrainable]":
        """The learner's Trainable. Raises ConfigError for a learner of one's own that the user has not named."""
        return learner_named(self.state.learner).trainable

    @property
    def settings(self) -> Config:
        """The trial's configuration. Raises ConfigError if the checkpoint's is none."""
        try:
            return learner_named(self.state.learner).config_class.from_dict(self.state.config)
        except ConfigError as error:
            raise ConfigError(f"{self.folder}: {error}") from None


def find(storage_path: Path, name_or_path: str) -> list[CheckpointRef]:
    """The checkpoints of an experiment or a trial, or the one of a checkpoint folder, by iteration.

    A name is looked for in the storage path, a path anywhere, and then what comes with the package (``SHIPPED``).
    Raises ConfigError, listing what is there, if it does not exist or holds no whole checkpoint.
    """
    known = [*folders.existing(storage_path), *SHIPPED]
    if not name_or_path:
        raise ConfigError(unknown("checkpoint, trial or experiment", name_or_path, known))
    places = [storage_path.absolute() / name_or_path, Path(name_or_path).absolute()]
    if name_or_path in SHIPPED:
        places.append(TRAINED.parent / name_or_path)
    if folder := next(filter(os.path.isdir, places), None):
        trials = [folder, *folders.trial_folders(folder).values()]
        found = [path for trial in trials for path in folders.checkpoint_folders(trial)]
        if refs := whole([folder] if os.path.isfile(folder / STATE) else found):
            return refs
        inside = folders.existing(folder)
        hint = f"; the experiments in it: {', '.join(inside)}" if inside else " (yet)"
        raise ConfigError(f"{name_or_path} holds no whole checkpoint{hint}")
    for path in (storage_path / name_or_path, Path(name_or_path)):
        if os.path.isdir(path.parent) and path.parent not in (Path(), storage_path):
            # a trial or checkpoint of what does exist
            known = [name for name in os.listdir(path.parent) if os.path.isdir(path.parent / name)]
            raise ConfigError(unknown("checkpoint, trial or experiment", str(path), known))
    raise ConfigError(unknown("checkpoint, trial or experiment", name_or_path, known))


def of_trial(folder: Path) -> list[CheckpointRef]:
    """A trial's whole checkpoints, by iteration."""
    return whole(folders.checkpoint_folders(folder))


def whole(paths: Iterable[Path]) -> list[CheckpointRef]:
    """Those of these checkpoints that are whole, by iteration: not half-written, nor replaced while we look."""
    found = []
    for folder in paths:
        with contextlib.suppress(CheckpointError):
            found.append(CheckpointRef(folder, load_state(folder)))
    return sorted(found, key=lambda item: item.iteration)


def best_of(refs: Iterable[CheckpointRef]) -> CheckpointRef:
    """The one with the best mean return in training; of equals the one that was trained longest."""
    return max(refs, key=lambda item: (item.score, item.iteration))


def on_the_way(earlier: list[CheckpointRef], best: CheckpointRef, count: int) -> list[CheckpointRef]:
    """At most ``count`` of the earlier checkpoints: those nearest to even parts of the climb to the best score."""
    scored = [item for item in earlier if np.isfinite(item.score)]
    if not scored:
        return []
    scores = np.array([item.score for item in scored])
    parts = np.linspace(scores[0], best.score, count + 2)[1:-1]
    indices = np.unique(np.abs(scores - parts[:, None]).argmin(axis=1))
    return [scored[index] for index in indices]


def load_state(folder: Path) -> State:
    """A checkpoint's state. Raises CheckpointError, also for a learner that can be none."""
    state = checkpoints.load_state(folder)
    if is_learner(state.learner):
        return state
    named = f"learner {state.learner!r} is none of {', '.join(LEARNERS)}"
    raise CheckpointError(f"{folder}: {STATE} is not from this program ({named})")


def load(folder: Path, settings: Config | None, learner: str) -> tuple[dict[str, np.ndarray], State]:
    """A checkpoint's arrays and state, as ``checkpoints.load`` reads them.

    Raises CheckpointError, before memory is taken, also if ``theta`` has not the size that ``settings`` (or the
    checkpoint's own) ask for, or the file not one that goes with it: a text decides neither what is built nor read.
    """
    try:
        settings = settings or CheckpointRef(folder, load_state(folder)).settings
        num_params = parameters(learner, settings)
    except ConfigError as error:
        raise CheckpointError(f"{folder}: {error}") from None
    from trainables.policy import load as load_checked  # with what plays

    return load_checked(folder, learner, num_params, settings.slots)


@functools.lru_cache(maxsize=1000)
def parameters(learner: str, settings: Config) -> int:
    """How many parameters a learner's theta has; nothing of that size is made. Raises ConfigError."""
    try:
        return learner_named(learner).trainable.make_algorithm(settings).num_params
    except ValueError as error:
        raise ConfigError(str(error)) from None


def copy(folder: Path, target: Path) -> None:
    """Copy what a checkpoint has of ours, and nothing else that lies in its folder, into a new one. Raises OSError."""
    target.mkdir(parents=True)
    for name in (ARRAYS, FILM, STATE):  # the state last, as it is saved
        if os.path.isfile(folder / name):
            shutil.copyfile(folder / name, target / name)


def policy_runner(checkpoint: CheckpointRef, trained: bool = True) -> "PolicyRunner":
    """The checkpoint's policy, ready to play; or the one that its trial's settings and seed make before any training.

    Raises CheckpointError if its arrays are damaged or of other shapes.
    """
    from trainables.policy import PolicyRunner, load_runner  # what plays

    trainable, settings = checkpoint.trainable, checkpoint.settings
    if trained:
        return load_runner(checkpoint.folder, checkpoint.state, settings, trainable.make_algorithm)
    trial = trainable.untrained(settings)
    return PolicyRunner(trial.algorithm.worker_factory()(), trial.algorithm.playing_weights(trial.arrays))


def export(checkpoint: CheckpointRef, folder: Path) -> int:
    """Write a checkpoint's policy alone, to play and not to train on, into a new folder: theta in half precision.

    Returns the bytes written. Raises CheckpointError if the checkpoint is damaged, and OSError.
    """
    from trainables.policy import policy_alone  # with what plays

    arrays, state = load(checkpoint.folder, checkpoint.settings, checkpoint.trainable.learner)
    algorithm = checkpoint.trainable.make_algorithm(checkpoint.settings)
    if missing := {*algorithm.playing_arrays} - arrays.keys():
        raise CheckpointError(f"{checkpoint.folder}: lacks the arrays {sorted(missing)}")
    folder.mkdir(parents=True)
    checkpoints.save(folder, policy_alone(algorithm, arrays), state.model_copy(update={"policy_alone": True}))
    return sum(path.stat().st_size for path in folder.iterdir())
