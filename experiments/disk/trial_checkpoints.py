"""A trial's checkpoints that nobody vouches for: which are there, checked before memory is taken, and copied."""

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
    return load(folder, settings, learner)[1]


def load_state(folder: Path) -> State:
    """A checkpoint's state. Raises CheckpointError, also for a learner that can be none."""
    state = checkpoints.load_state(folder)
    if is_learner(state.learner):
        return state
    named = f"learner {state.learner!r} is none of {', '.join(LEARNERS)}"
    raise CheckpointError(f"{folder}: {STATE} is not from this program ({named})")


def load(folder: Path, settings: Config, learner: str) -> tuple[dict[str, np.ndarray], State]:
    """A checkpoint's arrays and state, as ``checkpoints.load`` reads them.

    Raises CheckpointError, before memory is taken, also if ``theta`` has not the size that ``settings`` ask for, or the
    file not one that goes with it: a text decides neither what is built nor read.
    """
    try:
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


def copy_checkpoint(folder: Path, target: Path) -> None:
    """Copy what a checkpoint has of ours, and nothing else that lies in its folder, into a new one. Raises OSError."""
    target.mkdir(parents=True)
    for name in (ARRAYS, FILM, STATE):  # the state last, as it is saved
        if os.path.isfile(folder / name):
            shutil.copyfile(folder / name, target / name)
