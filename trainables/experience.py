"""An update's games or segments, from their numbers to what is learned from them."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trainables.algorithms.algorithm import Algorithm
from trainables.config import Config
from trainables.metrics import Played
from trainables.sampling.pool import RolloutPool
from trainables.sampling.rollout import GameNumber
from trainables.sampling.segments import Segment, Slot
from trainables.sampling.worker import PlayedBlock

Observer = Callable[[Any, Sequence[GameNumber | Segment], PlayedBlock], None]
"""Is told what was played: the weights, the numbers of a block's games or a segment, and what became of them."""


class Rollout:
    """What the workers play for the update of this number; they begin at once."""

    def __init__(
        self,
        settings: Config,
        algorithm: Algorithm,
        pool: RolloutPool,
        arrays: Mapping[str, np.ndarray],
        slots: Sequence[Slot | None],
        update: int,
        observer: Observer | None = None,
    ) -> None:
        self.began = time.perf_counter()
        self._seed, self._algorithm, self._pool = settings.seed, algorithm, pool
        self._arrays, self.update, self._observer = dict(arrays), update, observer
        self._weights = algorithm.playing_weights(arrays)
        self.slots = list(slots)  # where the segments left them, once all are collected
        self.played = Played()  # of what was collected
        if slots:
            length = settings.segment_length
            segments = [Segment(settings.seed, update, number, length, slot) for number, slot in enumerate(slots)]
            self._blocks = self._play(segments)
        else:
            self._blocks = self._games(0, algorithm.first_games(self._arrays))

    def collect(self) -> tuple[Any, Played]:
        """What the algorithm makes of all that was played, and its counts."""
        return self._algorithm.collect(self._arrays, self._blocks, self._games), self.played

    def _games(self, first: int, count: int) -> Iterator[PlayedBlock]:
        games = [GameNumber(self._seed, self.update, game) for game in range(first, first + count)]
        return self._play(games, self._algorithm.block_size)

    def _play(self, numbers: Sequence[GameNumber | Segment], block_size: int = 1) -> Iterator[PlayedBlock]:
        blocks = self._pool.play(self._weights, numbers, block_size)  # the first ones begin now
        return self._noted(numbers, block_size, blocks)

    def _noted(
        self, numbers: Sequence[GameNumber | Segment], block_size: int, blocks: Iterator[PlayedBlock]
    ) -> Iterator[PlayedBlock]:
        for first, block in zip(range(0, len(numbers), block_size), blocks, strict=True):
            self.played.add(Played(block.games, block.steps, *block.points, block.strokes, block.seconds))
            if self.slots:
                self.slots[first] = block.slot
            if self._observer:
                self._observer(self._weights, numbers[first : first + block_size], block)
            yield block
