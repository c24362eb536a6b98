"""Texts: those from files that nobody vouches for bounded, and without what a terminal would obey."""

import io
import json
import os
import stat
from pathlib import Path
from typing import Any

MAX_BYTES = 2**28
"""No file of text is as long (a row has 3 KB); what is behind is not read."""

MAX_JSON_BYTES = 2**25
"""No file that is one JSON text is as long: ten thousand trials take 10 MB."""

MAX_DIGITS = 40
"""Of a whole number: more than seeds have, and less than a float holds."""


def counted(count: int, noun: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def printable(text: str) -> str:
    """The text without control characters, which a terminal would obey, and without halves of letters."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in text)


def parse_json(text: str | bytes) -> Any:
    """What a JSON text says, its texts made ``printable``.

    Raises ValueError if it is no JSON, nested deeper than Python reads, or has a number of more than ``MAX_DIGITS``.
    """
    try:
        found = json.loads(text, parse_int=_whole)
        if isinstance(text, str) and text.isprintable() and "\\" not in text:
            return found  # what has no escapes is as printable as the text that it is a part of
        return _printable(found)
    except RecursionError:
        raise ValueError("nested too deep") from None


def open_regular(path: Path) -> io.BufferedReader:
    """Open a file for reading. Raises OSError, also if it is none: from a pipe one would read for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(None, "it is no file", str(path))
    return open(descriptor, "rb")


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """A file's text, at most its first ``limit`` bytes; what is no UTF-8 is replaced. Raises OSError."""
    with open_regular(path) as file:
        return file.read(limit).decode("utf-8", "replace")


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_printable(item) for item in value]
    if isinstance(value, dict):
        return {printable(key): _printable(item) for key, item in value.items()}
    return value


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError("a number of too many digits")
    return int(digits)
