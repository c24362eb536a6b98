"""One program at a time: the lock that a running experiment holds on its folder.

The system gives the lock back when the program ends, however it ends, so no stale lock needs to be cleared away.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainables.checks import ConfigError

LOCK = ".lock"


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold an experiment's lock. Raises ConfigError if another program holds it."""
    with (folder / LOCK).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"{folder} is in use by another program: wait for it, or end it") from None
        yield


def is_held(folder: Path) -> bool:
    """Whether a program is running this experiment now. Looking leaves no trace, and needs no right to write."""
    try:
        with (folder / LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
