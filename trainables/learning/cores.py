"""Jobs on the trial's cores: what an update computes at the same time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

FirstT = TypeVar("FirstT")
SecondT = TypeVar("SecondT")


class Cores:
    """A thread beside the caller's that stays from update to update: a new one has its memory mapped anew."""

    def __init__(self, count: int) -> None:
        self._thread = ThreadPoolExecutor(1) if count > 1 else None

    def run_two(self, first: Callable[[], FirstT], second: Callable[[], SecondT]) -> tuple[FirstT, SecondT]:
        """Results of two jobs that do not need each other's, one after the other or at the same time.

        NumPy's error state is part of a thread's context, and the other job gets a copy of the caller's.
        """
        if self._thread is None:
            return first(), second()
        job = self._thread.submit(copy_context().run, second)
        try:
            result = first()
        finally:
            other = job.result()
        return result, other
