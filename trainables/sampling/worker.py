"""A rollout worker: an ordinary class that plays numbered games. ``actor.py`` makes an actor of it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from trainables.sampling.rollout import Environment, GameNumber


class Worker(Protocol):
    """What a pool needs of a worker."""

    @property
    def env(self) -> Environment:
        """What it plays on."""
        ...

    def play_block(self, weights: Any, block: Sequence[GameNumber]) -> Any:
        """Play the numbered games, one after the other, with a policy of these weights.

        What is returned has ``nbytes``, the bytes that travel.
        """
        ...

    # The rest is for measuring and filming, outside of training.

    def sampler(self, weights: Any, rng: np.random.Generator) -> Callable[[Any], int]:
        """A function that draws an action for an observation, as in training."""
        ...

    def probabilities(self, weights: Any) -> Callable[[Any], np.ndarray]:
        """A function that gives each action's probability (k,) at an observation."""
        ...

    def view(self, weights: Any) -> Callable[[Any], np.ndarray]:
        """A function that shows what the network sees of an observation, as a picture of numbers in [-1, 1]."""
        ...


class GameSummary(NamedTuple):
    """What is worth knowing of a game, apart from what is learned from it."""

    episode_return: float
    length: int  # agent steps
    seconds: float  # wall-clock time that the worker spent on the game
