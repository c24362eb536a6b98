"""What a mirror notes of its home: each file's time and size there when both were the same."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyarrow.fs import FileInfo

from trainables.files import replace_text
from trainables.texts import parse_json, read_text

SYNCED = ".synced.json"


def noted(info: FileInfo) -> list[int]:
    """What is noted of a file: both numbers are its home's own."""
    return [info.mtime_ns or 0, info.size or 0]


def synced(mirror: Path) -> dict[str, Any]:
    """What was noted, by a file's path in the mirror; nothing if the file is damaged."""
    try:
        notes = parse_json(read_text(mirror / SYNCED))
    except (OSError, ValueError):
        return {}
    return notes if isinstance(notes, dict) else {}


def note(mirror: Path, files: Mapping[str, list[int]]) -> None:
    """Note that these are the same in both places now."""
    if files:
        replace_text(mirror / SYNCED, json.dumps(synced(mirror) | dict(files)))
