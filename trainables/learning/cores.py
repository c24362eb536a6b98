"""Jobs on the trial's cores: what an update computes at the same time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

FirstT = TypeVar("FirstT")
SecondT = TypeVar("SecondT")


class Cores:
    """Threads that stay from update to update, since new ones have their memory mapped anew, page by page."""

    def __init__(self, count: int) -> None:
        self._threads = ThreadPoolExecutor(count)

    def run_two(self, first: Callable[[], FirstT], second: Callable[[], SecondT]) -> tuple[FirstT, SecondT]:
        """Results of two jobs that do not need each other's, one after the other or at the same time.

        NumPy's error state is part of a thread's context, and each job gets a copy of the caller's.
        """
        job = self._threads.submit(copy_context().run, first)
        other = self._threads.submit(copy_context().run, second)
        return job.result(), other.result()
