"""Signals that end a program, and what one does where there is nothing to save."""

import contextlib
import os
import signal
import sys
from collections.abc import Collection
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
"""Ctrl-C, the end that a batch system sets, a terminal that is closed, and the warning before such an end."""

SIGNALLED = 128
"""What shells add to a signal's number: the exit status of a program that the signal ended."""


def handle_all(handler: Any, numbers: Collection[signal.Signals] = SIGNALS) -> None:
    """Have ``handler`` called for all of them, but for SIGHUP under ``nohup``."""
    for number in numbers:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def end_at_once(number: int, frame: FrameType | None) -> None:
    """End the program, whatever it does now, be it Ray's start or end: Ray's processes see that this one has gone."""
    say(f"{signal.Signals(number).name}: stopped.")
    os._exit(SIGNALLED + number)


def say(text: str) -> None:
    """Print a line on stderr in a signal's handler, and flush stdout.

    A stream that was being written to when the signal came refuses, and is left out.
    """
    for stream, line in ((sys.stderr, f"\n{text}\n"), (sys.stdout, "")):
        with contextlib.suppress(OSError, RuntimeError):
            stream.write(line)
            stream.flush()
