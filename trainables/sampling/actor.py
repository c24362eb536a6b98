"""A rollout actor, what runs in a worker's process; and what it is asked to do, in order, and until when."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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

    def __init__(self, make_worker: Callable[[], Worker]) -> None:
        require_same_sources()
        set_malloc_thresholds()
        self._worker = make_worker()
        freeze_imported_objects()

    def start(self) -> str:
        """Answer once the worker is built; return the node that it is on."""
        return ray.get_runtime_context().get_node_id()

    def build(self, make_worker: Callable[[], Worker]) -> str:
        """Have another worker in place of the present one; answer as ``start`` does."""
        self._worker = make_worker()
        return self.start()

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

    def call(self, function: Callable[[Worker], Any]) -> Any:
        """Run a function on the worker: for tests and diagnosis."""
        return function(self._worker)


class Task(NamedTuple):
    """What a worker is asked for: blocks of games, or, where there are none, its own start."""

    reply: Any  # Ray's reference to the answers, or as many of the first ones as there were before an error
    blocks: tuple[Block, ...]
    seconds: float  # that it may take

    def of(self, worker: int) -> str:
        """Its name in messages, as that worker's."""
        if not self.blocks:
            return f"the start of rollout worker {worker}"
        first, last = self.blocks[0][0], self.blocks[0][-1]
        return f"rollout worker {worker} in {first}" + (f" to {last}" if last != first else "")


class TaskQueue:
    """A worker's tasks: the first is under way; a second one saves it the wait for the learner's next message."""

    def __init__(self) -> None:
        self.tasks: deque[Task] = deque()
        self.deadline = 0.0  # of the first; by time.monotonic(), which stands still while a laptop sleeps

    def add(self, task: Task) -> None:
        """Put a task behind the others."""
        self.tasks.append(task)
        if len(self.tasks) == 1:
            self._start_clock()

    def pop(self) -> Task:
        """Take the first task out; the next one is under way from now on."""
        task = self.tasks.popleft()
        if self.tasks:
            self._start_clock()
        return task

    def clear(self) -> list[Task]:
        """Take all tasks out."""
        tasks = [*self.tasks]
        self.tasks.clear()
        return tasks

    def _start_clock(self) -> None:
        self.deadline = time.monotonic() + self.tasks[0].seconds
