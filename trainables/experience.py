"""An update's games or segments, from their numbers to what is learned from them."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
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
        if slots:
            length = settings.segment_length
            segments = [Segment(settings.seed, update, number, length, slot) for number, slot in enumerate(slots)]
            self._blocks = self._play(segments)
        else:
            self._blocks = self._games(0, algorithm.first_games(self._arrays))

    def collect(self) -> tuple[Any, Played]:
        """What the algorithm makes of all that was played, and its counts."""
        played = Played()

        def counted(blocks: Iterator[PlayedBlock]) -> Iterator[PlayedBlock]:
            for number, block in enumerate(blocks):
                played.add(Played(block.games, block.steps, *block.points, block.seconds))
                if self.slots:
                    self.slots[number] = block.slot
                yield block

        batch = self._algorithm.collect(
            self._arrays, counted(self._blocks), lambda *games: counted(self._games(*games))
        )
        return batch, played

    def _games(self, first: int, count: int) -> Iterator[PlayedBlock]:
        games = [GameNumber(self._seed, self.update, game) for game in range(first, first + count)]
        return self._play(games, self._algorithm.block_size)

    def _play(self, numbers: Sequence[GameNumber | Segment], block_size: int = 1) -> Iterator[PlayedBlock]:
        blocks = self._pool.play(self._weights, numbers, block_size)
        if self._observer is None:
            return blocks
        return _observed(blocks, partial(self._observer, self._weights), numbers, block_size)


def _observed(
    blocks: Iterable[PlayedBlock],
    tell: Callable[[Sequence[GameNumber | Segment], PlayedBlock], None],
    numbers: Sequence[GameNumber | Segment],
    block_size: int,
) -> Iterator[PlayedBlock]:
    for first, block in zip(range(0, len(numbers), block_size), blocks, strict=True):
        tell(numbers[first : first + block_size], block)
        yield block
