"""A journal of what was decided: a JSON list that is replaced as a whole, and checked as it is read."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from trainables.checks import ConfigError
from trainables.files import replace_text
from trainables.texts import MAX_JSON_BYTES, parse_json, read_text

Entry = TypeVar("Entry")


def read_journal(path: Path, entry: Callable[..., Entry]) -> list[Entry]:
    """All entries so far, in order; none where there is no file. Raises ConfigError if it is damaged.

    ``entry`` takes the values of a JSON object by their names, and fails in any way where they are none of its own.
    """
    try:
        content = parse_json(read_text(path, MAX_JSON_BYTES))
        if not isinstance(content, list):
            raise TypeError
        return [entry(**values) for values in content]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ConfigError(f"{path} is damaged ({type(error).__name__})") from None


def write_journal(path: Path, entries: Sequence[Any]) -> None:
    """Replace the file by one that has all of these dataclasses."""
    replace_text(path, json.dumps([dataclasses.asdict(entry) for entry in entries], indent=1))
