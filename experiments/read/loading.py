"""Checkpoints that nobody vouches for: what they say has the types that the code relies on, and arrays their size."""

import functools
import os
import shutil
from pathlib import Path

import numpy as np

from experiments.plan.learners import LEARNERS, is_learner, learner_named
from trainables import checkpoints
from trainables.checkpoints import ARRAYS, STATE, CheckpointError, State
from trainables.checks import ConfigError
from trainables.config import Config
from trainables.sampling.evaluation import FILM
from trainables.sampling.segments import PACKED_BYTES

ARRAYS_TO_THETA = 32
"""Bytes of a checkpoint's file to one parameter, at most. Adam's PPO has 12, TRPO in double precision 16; a small
network's filter and headers (``HEADERS``) come on top. A learner of one's own may have more arrays."""

HEADERS = 100_000


def sound_state(folder: Path) -> State:
    """A checkpoint's state, of a learner that there can be. Raises CheckpointError."""
    state = checkpoints.load_state(folder)
    if not is_learner(state.learner):
        why = f"learner {state.learner!r} is none of {', '.join(LEARNERS)}"
        raise CheckpointError(f"{folder}: {STATE} is not from this program ({why})")
    return state


def settings_of(state: State) -> Config:
    """The configuration that a checkpoint names. Raises ConfigError if it is none."""
    return learner_named(state.learner).config_class.from_dict(state.config)


def load(folder: Path, settings: Config | None, learner: str) -> tuple[dict[str, np.ndarray], State]:
    """A checkpoint's arrays and state, as ``checkpoints.load`` reads them.

    Raises CheckpointError, before memory is taken, also if ``theta`` has not the size that ``settings`` (or the
    checkpoint's own) ask for, or the file not one that goes with it: a text decides neither what is built nor read.
    """
    state = sound_state(folder)
    try:
        settings = settings or settings_of(state)
        need = (parameters(state.learner, settings),)
    except ConfigError as error:
        raise CheckpointError(f"{folder}: {error}") from None
    try:
        have = checkpoints.shapes(folder).get("theta")
        size = (folder / ARRAYS).stat().st_size
    except (CheckpointError, OSError):
        pass  # which says more below, as it is read
    else:
        most = ARRAYS_TO_THETA * need[0] + PACKED_BYTES * settings.slots + HEADERS
        if have != need:
            raise CheckpointError(f"{folder}: theta has the shape {have}, its configuration needs {need}")
        if size > most and state.learner in LEARNERS:
            raise CheckpointError(f"{folder}: {ARRAYS} has {size:,} bytes, its configuration needs {most:,} at most")
    return checkpoints.load(folder, learner)


@functools.lru_cache(maxsize=1000)
def parameters(learner: str, settings: Config) -> int:
    """How many parameters a learner's theta has. Nothing of that size is made.

    Raises ConfigError if there is no environment.
    """
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
