"""What a rollout worker is asked to do, in order, and until when."""

import time
from collections import deque
from typing import Any, NamedTuple

from trainables.sampling.rollout import GameNumber
from trainables.sampling.segments import Segment

Block = tuple[GameNumber | Segment, ...]
"""What is played by one worker, one after the other, and makes one answer: games, or one segment."""


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
