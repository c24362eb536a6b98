"""Checkpoints that nobody vouches for: found by a name or path, checked before memory is taken, and ready to play."""

import contextlib
import functools
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.plan.learners import LEARNERS, is_learner, learner_named
from experiments.record import folders
from trainables import checkpoints
from trainables.checkpoints import ARRAYS, FILM, STATE, CheckpointError, State
from trainables.checks import ConfigError, unknown
from trainables.config import Config
from trainables.sampling.console import PACKED_BYTES

if TYPE_CHECKING:
    from trainables.algorithms.algorithm import Algorithm
    from trainables.sampling.worker import Worker
    from trainables.trainable import PongTrainable

ARRAYS_TO_THETA = 32
"""Bytes of a checkpoint's file to one parameter, at most. Adam's PPO has 12, TRPO in double precision 16; a small
network's filter and header (``HEADER``) come on top. A learner of one's own may have more arrays."""
HEADER = 100_000


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
        """Mean return of its last 100 training games, ``episode_reward_mean``; -inf before the first."""
        returns = self.state.episodes.recent_returns
        return float(np.mean(returns)) if returns else -np.inf

    @property
    def in_training(self) -> str:
        """The score in words."""
        words = f"{self.score:.1f} in training (last 100 games)"
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


class PolicyRunner(NamedTuple):
    """A worker and the weights that it plays with."""

    worker: "Worker"
    weights: Any


def find(storage_path: Path, name_or_path: str) -> list[CheckpointRef]:
    """The checkpoints of an experiment or a trial, or the one of a checkpoint folder, by iteration.

    A name is looked for in the storage path, a path anywhere. Raises ConfigError, listing what is there, if it does
    not exist or holds no whole checkpoint.
    """
    places = (storage_path.absolute() / name_or_path, Path(name_or_path).absolute())
    if folder := next(filter(os.path.isdir, places), None):
        trials = [folder, *folders.trial_folders(folder).values()]
        found = [path for trial in trials for path in folders.checkpoint_folders(trial)]
        if refs := whole([folder] if os.path.isfile(folder / STATE) else found):
            return refs
        inside = folders.existing(folder)
        hint = f"; the experiments in it: {', '.join(inside)}" if inside else " (yet)"
        raise ConfigError(f"{name_or_path} holds no whole checkpoint{hint}")
    known = folders.existing(storage_path)
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
    state = load_state(folder)
    try:
        settings = settings or CheckpointRef(folder, state).settings
        need = parameters(state.learner, settings)
    except ConfigError as error:
        raise CheckpointError(f"{folder}: {error}") from None
    try:
        have = checkpoints.shapes(folder).get("theta")
    except CheckpointError:
        return checkpoints.load(folder, learner)  # which says why
    if have != (need,):
        raise CheckpointError(f"{folder}: theta has the shape {have}, its configuration needs {(need,)}")
    most = ARRAYS_TO_THETA * need + PACKED_BYTES * settings.slots + HEADER
    if state.arrays_bytes > most and state.learner in LEARNERS:
        raise CheckpointError(
            f"{folder}: {ARRAYS} has {state.arrays_bytes:,} bytes, its configuration needs {most:,} at most"
        )
    return checkpoints.load(folder, learner)


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


def policy_runner(checkpoint: CheckpointRef, trained: bool = True) -> PolicyRunner:
    """The checkpoint's policy, ready to play; or the one that its trial's settings and seed make before any training.

    Raises CheckpointError if its arrays are damaged or of other shapes.
    """
    learner, settings = checkpoint.trainable.learner, checkpoint.settings
    if trained:
        load(checkpoint.folder, settings, learner)  # before anything is built of the size that its text says
    trial = checkpoint.trainable.untrained(settings)
    arrays = trial.arrays
    if trained:
        alone = checkpoint.state.policy_alone
        expected = _policy_alone(trial.algorithm, arrays) if alone else trial.checkpoint_arrays
        arrays, _ = checkpoints.load(checkpoint.folder, learner, expected)
        arrays["theta"] = arrays["theta"].astype(np.float32)
    return PolicyRunner(trial.algorithm.worker_factory()(), trial.algorithm.playing_weights(arrays))


def export(checkpoint: CheckpointRef, folder: Path) -> int:
    """Write a checkpoint's policy alone, to play and not to train on, into a new folder: theta in half precision.

    Returns the bytes written. Raises CheckpointError if the checkpoint is damaged, and OSError.
    """
    arrays, state = load(checkpoint.folder, checkpoint.settings, checkpoint.trainable.learner)
    algorithm = checkpoint.trainable.make_algorithm(checkpoint.settings)
    if missing := {*algorithm.playing_arrays} - arrays.keys():
        raise CheckpointError(f"{checkpoint.folder}: lacks the arrays {sorted(missing)}")
    policy = _policy_alone(algorithm, arrays)
    folder.mkdir(parents=True)
    checkpoints.save(folder, policy, state.model_copy(update={"policy_alone": True}))
    return sum(path.stat().st_size for path in folder.iterdir())


def _policy_alone(algorithm: "Algorithm", arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: arrays[name] for name in algorithm.playing_arrays} | {"theta": arrays["theta"].astype(np.float16)}
