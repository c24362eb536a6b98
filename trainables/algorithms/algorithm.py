"""What the Tune shell asks of an algorithm: pure functions of arrays and experience, one file an algorithm."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from trainables.config import Config, PGConfig
from trainables.learning.cores import Cores
from trainables.learning.optimisers import Adam, Optimiser, RMSProp
from trainables.sampling.worker import PlayedBlock, Worker

Array = np.ndarray
Arrays = dict[str, Array]
"""An algorithm's whole state, by name; what a checkpoint holds."""

Metrics = dict[str, float]
Play = Callable[[int, int], Iterator[PlayedBlock]]
"""Hands out games of the present iteration, (first, count), and yields their blocks in order."""


class Progress(NamedTuple):
    """How far a trial is when it makes an update."""

    decay: float  # the step size, as a share of the first one's
    points_lost: float  # share of the latest points that were lost; 1 before any


class Algorithm(ABC):
    """One way to learn."""

    config_class: ClassVar[type[Config]]
    """The class of its settings, which only a learner of one's own has to name; ``make_algorithm`` knows ours."""

    playing_arrays: ClassVar[tuple[str, ...]] = ("theta",)  # those without which ``playing_weights`` cannot play
    block_size: int = 1  # games that a worker plays before it sends what it packs of them
    num_cores: int = 1  # that an update may use; they change no bit of it

    @cached_property
    def cores(self) -> Cores:
        """Where an update computes two things at the same time, if it may."""
        return Cores(min(self.num_cores, 2))

    @abstractmethod
    def init(self, rng: np.random.Generator) -> Arrays:
        """The state before the first game."""

    @property
    @abstractmethod
    def num_params(self) -> int:
        """Entries of ``theta`` in ``init``'s arrays."""

    @abstractmethod
    def worker_factory(self) -> Callable[[], Worker]:
        """A picklable function that makes a rollout worker."""

    def playing_weights(self, arrays: Mapping[str, Array]) -> Any:
        """What of the state a worker needs to play with the present policy, and to judge what it played."""
        return arrays["theta"]

    def first_games(self, arrays: Arrays) -> int:
        """How many games an update begins with, where it is not of segments. Raises ValueError if it always is."""
        raise ValueError(f"{type(self).__name__} learns from segments: set slots to 1 or more")

    @abstractmethod
    def collect(self, arrays: Arrays, blocks: Iterator[PlayedBlock], play: Play) -> Any:
        """Take in an update's blocks while others are still being played; ``play`` hands out more games.

        Returns the batch that ``update`` learns from.
        """

    @abstractmethod
    def update(
        self, arrays: Arrays, batch: Any, progress: Progress, rng: np.random.Generator
    ) -> tuple[Arrays, Metrics]:
        """Learn: the new state, and metrics, always the same ones in the same order. ``rng`` is what it draws from."""


def pixel_optimiser(settings: PGConfig, decay: float = 1.0) -> Optimiser:
    """The gradient ascent rule that the settings name, at a share of its first step size."""
    learning_rate = settings.learning_rate * decay
    return Adam(learning_rate) if settings.optimiser == "adam" else RMSProp(learning_rate, settings.rmsprop_decay)


def with_prefix(prefix: str, arrays: Mapping[str, Array]) -> Arrays:
    """The same arrays under names that begin with ``prefix`` and a dot."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: Mapping[str, Array]) -> Arrays:
    """The arrays whose names begin with ``prefix`` and a dot, without it."""
    return {name.removeprefix(f"{prefix}."): array for name, array in arrays.items() if name.startswith(f"{prefix}.")}
