"""One program at a time: the lock that a running experiment holds on its folder.

The system gives the lock back when the program ends, however it ends, so no stale lock needs to be cleared away.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from trainables.checks import ConfigError

LOCK = ".lock"

WAITS = (0.01, 0.04, 0.1)  # seconds between attempts to take it


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold an experiment's lock. Raises ConfigError if another program holds it, or if it cannot be written."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written, its lock {LOCK} either: {error.strerror}") from None
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        try:
            _acquire(file)
        except BlockingIOError:
            raise ConfigError(f"{folder} is in use by another program: wait for it, or end it") from None
        except OSError as error:
            reason = f"{folder} cannot be locked ({error.strerror}): it needs a file system that has flock"
            raise ConfigError(reason) from None
        yield


def _acquire(file: BinaryIO) -> None:
    """Lock a file. A lock that ``is_held`` takes to look lasts for a moment, and is waited for."""
    for wait in WAITS:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(wait)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_held(folder: Path) -> bool:
    """Whether a program is running this experiment now; not so where the file system has no locks.

    Looking leaves no trace, and needs no right to write.
    """
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(descriptor)
