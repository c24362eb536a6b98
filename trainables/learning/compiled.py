"""The few loops that take time: compiled by numba where it is installed, else written for NumPy.

They are those of a game's every step and of an update's large arrays. With numba one worker comes to 0.94 of the bare
emulator's speed, with NumPy alone to 0.82 (``benchmark.py rollout``): each of the dozen NumPy calls of a step costs a
microsecond and leaves the emulator's next frames a colder cache. In an update each goes over all the arrays anew.

Both forms of a loop return the same bits. So they add in the same order, one number after the other; a test holds them
to it.
"""

from collections.abc import Callable
from typing import Any, TypeVar

try:
    import numba
except ImportError:
    numba = None  # type: ignore[assignment]

Loop = TypeVar("Loop", bound=Callable[..., Any])

COMPILED = numba is not None


def compiled(otherwise: Loop, nogil: bool = False) -> Callable[[Loop], Loop]:
    """Decorator: compile the loop; without numba, put the function ``otherwise`` in its place.

    The compiled code is kept on disk, so only the first run after an installation waits for the compiler. ``nogil``
    lets other threads go on meanwhile: right for a loop that takes a millisecond, too dear for one of a microsecond.
    Divisions by zero are NumPy's, infinite and without an error, which is also what lets several be done at a time.
    """

    def decorate(loop: Loop) -> Loop:
        if not COMPILED:
            return otherwise
        return numba.njit(cache=True, nogil=nogil, error_model="numpy")(loop)  # type: ignore[return-value]

    return decorate
