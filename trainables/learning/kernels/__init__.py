"""Compiled loops, and nothing else: the only modules that know numba.

A loop is compiled where it runs at every step of a game, or walks through the large arrays of an update. Of the dozen
NumPy calls that a step would need, each takes a microsecond and leaves the emulator's next frames a colder cache. The
NumPy form of each loop is its oracle in the tests: the same bits, since both add one number after the other, in order.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(nogil: bool = False) -> Callable[[Loop], Loop]:
    """Decorator: compile the loop when it is first called, and keep the result on disk.

    ``nogil`` lets other threads run meanwhile: right for a loop of a millisecond, too dear for one of a microsecond.
    Divisions by zero are NumPy's: infinite, without an error.
    """
    return numba.njit(cache=True, nogil=nogil, error_model="numpy")  # type: ignore[return-value]
