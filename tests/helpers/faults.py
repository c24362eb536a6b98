"""Faults by script: in the game that a test names, a worker dies, freezes, hangs or raises; once, or each time."""

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from trainables.sampling.segments import Segment


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def freeze() -> None:
    """Stop the whole process, with all of Ray's threads in it."""
    os.kill(os.getpid(), signal.SIGSTOP)


def hang() -> None:
    while True:
        signal.pause()


def fail() -> None:
    raise ZeroDivisionError("a bug")


class _Interrupted:
    """An environment with a fault in its fifth step."""

    def __init__(self, env: Any, fault: Callable[[], None]) -> None:
        self._env, self._fault, self._steps = env, fault, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def step(self, action: int) -> Any:
        self._steps += 1
        if self._steps == 5:
            self._fault()
        return self._env.step(action)


class FaultyWorker:
    """A worker as ``make_worker`` makes it, with a fault in the midst of ``at``.

    That is a game, (iteration, game), or a segment, (update, slot). With a ``marker`` (a file to which the first fault
    writes its process number) the fault happens once.
    """

    def __init__(
        self, make_worker: Callable[[], Any], fault: Callable[[], None], at: tuple[int, int], marker: Path | None
    ) -> None:
        self.fault, self.at, self.marker = fault, at, marker
        self.worker = make_worker()
        self.play, self.worker.play = self.worker.play, self.play_game

    def __getattr__(self, name: str) -> Any:
        return getattr(self.worker, name)

    def play_game(self, weights: Any, number: Any) -> Any:
        if number[1:] == self.at:
            self._interrupt()
        return self.play(weights, number)

    def _interrupt(self) -> None:
        if not (self.marker and self.marker.exists()):
            if self.marker:
                self.marker.write_text(str(os.getpid()))
            self.worker.env = _Interrupted(self.worker.env, self.fault)

    def play_block(self, weights: Any, block: Any) -> Any:
        if isinstance(block[0], Segment) and block[0][1:3] == self.at:
            self._interrupt()
        return self.worker.play_block(weights, block)


def faulty(trainable: type, fault: Callable[[], None], at: tuple[int, int], marker: Path | None) -> type:
    """A trainable whose workers have that fault."""

    class Faulty(trainable):  # type: ignore[misc, valid-type]
        @staticmethod
        def worker_factory(settings: Any) -> Callable[[], FaultyWorker]:
            return partial(FaultyWorker, trainable.worker_factory(settings), fault, at, marker)  # type: ignore[attr-defined]

    return Faulty
