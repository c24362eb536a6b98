"""A program's output where nobody reads it: the reader has gone, the log's disk is full, or the stream was closed."""

import contextlib
import io
import os
import sys
from typing import Any

from trainables.checks import ConfigError

STDOUT, STDERR = 1, 2
"""File descriptors."""


class Output(io.FileIO):
    """A standard stream. What cannot be written is lost and stops nothing: neither training nor the right exit status.

    A reader of stdout that has gone (``| head``) ends a program, but for one that trains: what it says from then on
    comes on stderr, where whoever typed ``| tee log`` and Ctrl-C finds how to go on.
    """

    ends_program = True
    """Whether BrokenPipeError is raised where the reader of stdout has gone."""

    lost = ""
    """Why a part of stdout could not be written, in the system's words; empty while all could."""

    def write(self, data: Any, /) -> int:
        """Write bytes; return how many. Raises BrokenPipeError as ``ends_program`` says."""
        try:
            return super().write(data)
        except BrokenPipeError:
            if Output.ends_program and self.fileno() == STDOUT:
                raise
            with contextlib.suppress(OSError):
                os.write(STDERR, data)
        except OSError as error:
            if self.fileno() == STDOUT:
                Output.lost = str(error.strerror)
        return len(data)


def open_streams() -> None:
    """Make each standard stream of this process an ``Output``; one that was closed (``>&-``) leads nowhere.

    It must lead somewhere: what is opened next would have its number, and get what libraries print.
    """
    for number in (0, STDOUT, STDERR):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name, number in (("stdout", STDOUT), ("stderr", STDERR)):
        before = getattr(sys, name)
        if before is not getattr(sys, f"__{name}__"):  # in a notebook, or under a test that reads it
            continue
        how: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace", "line_buffering": number == STDERR}
        if before:
            how = {"encoding": before.encoding, "errors": before.errors}
            how["line_buffering"] = before.line_buffering or before.write_through
        setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(Output(number, "w", closefd=False)), **how))


def go_on_unread() -> None:
    """From now on a reader that has gone does not end this program."""
    Output.ends_program = False


def require_written() -> None:
    """Raise ConfigError if a part of stdout could not be written, where somebody asked for data and not for a look."""
    sys.stdout.flush()
    if Output.lost:
        raise ConfigError(f"standard output cannot be written: {Output.lost}")
