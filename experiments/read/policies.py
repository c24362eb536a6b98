"""Checkpoints on disk, found by the name or path of what holds them, and the policies in them, ready to play."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.plan.learners import LEARNERS
from experiments.record import folders
from trainables import checkpoints
from trainables.algorithms import make_algorithm
from trainables.algorithms.algorithm import Algorithm
from trainables.checks import ConfigError, unknown
from trainables.config import Config, upgraded
from trainables.sampling.worker import Worker
from trainables.trainable import PongTrainable

POLICY_ALONE = "policy_alone"
"""Key of the state of a checkpoint that can play, and not go on learning."""


class CheckpointRef(NamedTuple):
    """A checkpoint, of which only ``state.json`` was read."""

    folder: Path
    state: dict[str, Any]

    @property
    def name(self) -> str:
        """Its trial's name, or its own if it stands alone."""
        folder = self.folder.parent if self.folder.name.startswith("checkpoint_") else self.folder
        return folder.name

    @property
    def iteration(self) -> int:
        """Updates made."""
        return self.state["iteration"]

    @property
    def score(self) -> float:
        """Mean return of its last 100 training games, ``episode_reward_mean``; -inf before the first."""
        returns = self.state["episodes"]["recent_returns"]
        return float(np.mean(returns)) if returns else -np.inf

    @property
    def trainable(self) -> type[PongTrainable]:
        """The learner's Trainable."""
        return LEARNERS[self.state["learner"]].trainable

    @property
    def settings(self) -> Config:
        """The trial's configuration."""
        return self.trainable.config_class.from_dict(upgraded(self.state["learner"], self.state["config"]))


class PolicyRunner(NamedTuple):
    """A worker and the weights that it plays with."""

    worker: Worker
    weights: Any


def find(storage_path: Path, name_or_path: str) -> list[CheckpointRef]:
    """The checkpoints of an experiment or a trial, or the one of a checkpoint folder, by iteration.

    A name is looked for in the storage path, a path anywhere. Raises ConfigError, listing what is there, if it does
    not exist or holds no whole checkpoint.
    """
    for folder in (storage_path.absolute() / name_or_path, Path(name_or_path).absolute()):
        if not folder.is_dir():
            continue
        found = [folder] if (folder / checkpoints.STATE).is_file() else []
        found = found or [*folder.glob("checkpoint_*"), *folder.glob("*/checkpoint_*")]
        if not (refs := whole(found)):
            inside = folders.existing(folder)
            hint = f"; the experiments in it: {', '.join(inside)}" if inside else " (yet)"
            raise ConfigError(f"{name_or_path} holds no whole checkpoint{hint}")
        return refs
    parent = next((p for p in (storage_path / name_or_path, Path(name_or_path)) if p.parent.is_dir()), None)
    known = folders.existing(storage_path)
    if parent and parent.parent not in (Path(), storage_path):  # a trial or checkpoint of what does exist
        known = [path.name for path in parent.parent.iterdir() if path.is_dir()]
        name_or_path = f"{parent.parent}/{parent.name}"
    raise ConfigError(unknown("checkpoint, trial or experiment", name_or_path, known))


def of_trial(folder: Path) -> list[CheckpointRef]:
    """A trial's whole checkpoints, by iteration."""
    return whole(folder.glob("checkpoint_*"))


def whole(folders: Iterable[Path]) -> list[CheckpointRef]:
    """Those of these checkpoints that are whole, by iteration."""
    found = [CheckpointRef(folder, state) for folder in folders if (state := _state(folder))]
    return sorted(found, key=lambda item: item.iteration)


def best_of(refs: Iterable[CheckpointRef]) -> CheckpointRef:
    """The one with the best mean return in training; of equals the one that was trained longest."""
    return max(refs, key=lambda item: (item.score, item.iteration))


def policy_runner(checkpoint: CheckpointRef) -> PolicyRunner:
    """The checkpoint's policy, ready to play. Raises CheckpointError if its arrays are damaged or of other shapes."""
    trial = checkpoint.trainable.untrained(checkpoint.settings)
    alone = checkpoint.state.get(POLICY_ALONE)
    expected = _policy_alone(trial.algorithm, trial.arrays) if alone else trial.arrays
    arrays, _ = checkpoints.load(checkpoint.folder, trial.learner, expected)
    arrays["theta"] = arrays["theta"].astype(np.float32)
    return _runner(trial.algorithm, arrays)


def untrained_runner(checkpoint: CheckpointRef) -> PolicyRunner:
    """The policy that the trial's settings and seed make before any training; all but forks began with it."""
    trial = checkpoint.trainable.untrained(checkpoint.settings)
    return _runner(trial.algorithm, trial.arrays)


def _runner(algorithm: Algorithm, arrays: Mapping[str, np.ndarray]) -> PolicyRunner:
    return PolicyRunner(algorithm.worker_factory()(), algorithm.playing_weights(arrays))


def export(checkpoint: CheckpointRef, folder: Path) -> int:
    """Write a checkpoint's policy alone, to play and not to train on, into a new folder: theta in half precision.

    Returns the bytes written. Raises CheckpointError if the checkpoint is damaged, and OSError.
    """
    arrays, state = checkpoints.load(checkpoint.folder, checkpoint.trainable.learner)
    folder.mkdir(parents=True)
    policy = _policy_alone(make_algorithm(checkpoint.settings), arrays)
    checkpoints.save(folder, policy, state | {POLICY_ALONE: True})
    return sum(path.stat().st_size for path in folder.iterdir())


def _policy_alone(algorithm: Algorithm, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: arrays[name] for name in algorithm.playing_arrays} | {"theta": arrays["theta"].astype(np.float16)}


def _state(folder: Path) -> dict[str, Any] | None:
    try:
        state = checkpoints.load_state(folder)
    except checkpoints.CheckpointError:  # half-written, or replaced while we look
        return None
    return state if state.get("learner") in LEARNERS else None
