"""A rollout actor, what runs in a worker's process; and what it is asked to do, in order, and until when."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import ray

from trainables.sampling.process import freeze_imported_objects, set_malloc_thresholds
from trainables.sampling.rollout import GameNumber
from trainables.sampling.segments import Segment
from trainables.sampling.worker import Worker
from trainables.versions import require_same_sources

Block = tuple[GameNumber | Segment, ...]
"""What is played by one worker, one after the other, and makes one answer: games, or one segment."""


@ray.remote
class RolloutActor:
    """A process with a worker in it, which does what a pool asks for, in turn."""

    def __init__(self) -> None:
        require_same_sources()
        set_malloc_thresholds()

    def build(self, make_worker: Callable[[], Worker]) -> str:
        """Have a worker, in place of the present one if there is one; return the node that it is on."""
        self._worker = make_worker()
        freeze_imported_objects()
        return ray.get_runtime_context().get_node_id()

    def play(self, blocks: Sequence[Block], how: Callable, *weights: Any) -> list[Any]:
        """The answers of all blocks, or of those before one that raises an error: asked for first, it does so again.

        Without ``weights``, those of the last call.
        """
        if weights:
            (self._weights,) = weights
        answers: list[Any] = []
        # A policy that diverged overflows. The learner sees it in the results; a warning a layer helps nobody.
        with np.errstate(all="ignore"):
            for block in blocks:
                try:
                    answers.append(how(self._worker, self._weights, block))
                except Exception:
                    if not answers:
                        raise
                    break
        return answers


class Task(NamedTuple):
    """What a worker is asked for: blocks of games, or, where there are none, its own start."""

    reply: Any  # Ray's reference to the answers, or as many of the first ones as there were before an error
    blocks: tuple[Block, ...]
    seconds: float  # that it may take
    deadline: float  # by time.monotonic(), which stands still while a laptop sleeps; of the first in a worker's queue

    def name(self, worker: int) -> str:
        """Its name in messages, as that worker's."""
        if not self.blocks:
            return f"the start of rollout worker {worker}"
        first, last = self.blocks[0][0], self.blocks[0][-1]
        return f"rollout worker {worker} in {first}" + (f" to {last}" if last != first else "")

    @classmethod
    def of(cls, reply: Any, blocks: tuple[Block, ...], seconds: float) -> Self:
        """A task that is under way from now on."""
        return cls(reply, blocks, seconds, time.monotonic() + seconds)
