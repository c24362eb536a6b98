"""One program at a time: the lock that a running experiment holds on its folder.

The system gives the lock back when the program ends, however it ends, so no stale lock needs to be cleared away.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainables.checks import ConfigError

LOCK = ".lock"

WAITS = (0.01, 0.04, 0.1, 0.0)
"""Seconds after each failed attempt to take the lock: ``is_held`` of another program has it for a moment."""


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold an experiment's lock. Raises ConfigError if another program holds it, or if it cannot be made or taken."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written, its lock {LOCK} either: {error.strerror}") from None
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        for wait in WAITS:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(wait)
            except OSError as error:
                reason = f"{folder} cannot be locked ({error.strerror}): it needs a file system that has flock"
                raise ConfigError(reason) from None
        else:
            raise ConfigError(f"{folder} is in use by another program: wait for it, or end it")
        yield


def is_held(folder: Path) -> bool:
    """Whether a program runs this experiment now, as far as locks say. Needs no right to write, and leaves no trace."""
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
