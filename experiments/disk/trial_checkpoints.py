"""A trial's checkpoints, for which nobody vouches: found, checked before memory is taken for them, and copied."""

import functools
import os
import shutil
from pathlib import Path

import numpy as np

from experiments.disk import folders
from experiments.plan.learners import LEARNERS, is_learner, learner_named
from trainables import checkpoints
from trainables.checkpoints import ARRAYS, FILM, STATE, CheckpointError, State
from trainables.checks import ConfigError
from trainables.config import Config
from trainables.saved import Checkpoints


def of_trial(folder: Path) -> Checkpoints:
    """The checkpoints in a trial's folder, of which the state alone is read.

    Raises ConfigError if one is a link, or if the folder cannot be read.
    """
    return Checkpoints(folders.checkpoint_folders(folder), load_state)


def to_go_on_from(folder: Path, settings: Config, learner: str) -> Checkpoints:
    """The checkpoints in a trial's folder, each usable if a trial of these settings can go on from all of it.

    Raises ConfigError as ``of_trial`` does.
    """
    return Checkpoints(folders.checkpoint_folders(folder), functools.partial(_load_whole, settings, learner))


def _load_whole(settings: Config, learner: str, folder: Path) -> State:
    """A checkpoint's state, if its arrays can be used, too. Raises CheckpointError."""
    _, state = load(folder, settings, learner)
    return state


def load_state(folder: Path) -> State:
    """A checkpoint's state. Raises CheckpointError, also if what it names as its learner can be no learner."""
    state = checkpoints.load_state(folder)
    if is_learner(state.learner):
        return state
    named = f"learner {state.learner!r} is none of {', '.join(LEARNERS)}"
    raise CheckpointError(f"{folder}: {STATE} is not from this program ({named})")


def load(folder: Path, settings: Config, learner: str) -> tuple[dict[str, np.ndarray], State]:
    """A checkpoint's arrays and state, as ``checkpoints.load`` reads them.

    Raises CheckpointError, before memory is taken, also if ``theta`` has another size than ``settings`` ask for, or if
    the file is too large for it: a text decides neither how much is built nor how much is read.
    """
    try:
        num_params = parameters(learner, settings)
    except ConfigError as error:
        raise CheckpointError(f"{folder}: {error}") from None
    from trainables.policy import load as load_checked  # which imports all that plays games

    return load_checked(folder, learner, num_params, settings.slots)


@functools.lru_cache(maxsize=1000)
def parameters(learner: str, settings: Config) -> int:
    """How many parameters a learner's theta has; nothing of that size is made. Raises ConfigError."""
    try:
        return learner_named(learner).trainable.make_algorithm(settings).num_params
    except ValueError as error:
        raise ConfigError(str(error)) from None


def copy_checkpoint(folder: Path, target: Path) -> None:
    """Copy what a checkpoint has of ours, and nothing else that lies in its folder, into a new one. Raises OSError."""
    target.mkdir(parents=True)
    for name in (ARRAYS, FILM, STATE):  # the state last, as it is saved
        if os.path.isfile(folder / name):
            shutil.copyfile(folder / name, target / name)
