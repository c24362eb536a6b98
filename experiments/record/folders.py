"""Experiments as folders: new ones, old ones, and how to find out what is in them."""

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from experiments.record.provenance import provenance
from trainables.checks import ConfigError, unknown

RECORD = "experiment.json"
"""How the experiment was started; written before anything runs, read by ``--resume``."""


def existing(storage_path: Path) -> list[str]:
    """Names of the experiments in a storage folder."""
    if not storage_path.is_dir():
        return []
    return sorted(folder.name for folder in storage_path.iterdir() if (folder / RECORD).is_file())


def create(storage_path: Path, name: str | None, learner: str, record: dict[str, Any]) -> Path:
    """Make a new experiment's folder with its record and its origin; return its absolute path.

    Raises ConfigError if the name exists already or is no folder name, or if the storage path cannot be written.
    """
    name = name or f"{learner}-{time.strftime('%Y%m%d-%H%M%S')}"
    if name in (".", "..") or Path(name).name != name:
        raise ConfigError(f"--name {name!r} is not a folder name; put the path into --storage-path")
    folder = storage_path.absolute() / name
    if folder.exists():
        raise ConfigError(f"--name {name!r} exists already in {storage_path}; --resume {name} continues it")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder.parent):
            folder.mkdir()
    except OSError as error:
        raise ConfigError(f"--storage-path {storage_path} cannot be written: {error.strerror}") from None
    (folder / RECORD).write_text(json.dumps(record | provenance(), indent=1))
    return folder


def find(storage_path: Path, name_or_path: str, learner: str | None = None) -> Path:
    """The folder of an experiment, named within the storage path or by any path.

    Raises ConfigError, listing those that exist, if there is none, or if it is not of the ``learner`` asked for.
    """
    path = Path(name_or_path).absolute()
    for folder in (storage_path.absolute() / name_or_path, path):
        if (folder / RECORD).is_file():
            record = read_record(folder)
            if learner not in (None, record.get("learner")):
                raise ConfigError(f"{folder} is an experiment of {record.get('learner')!r}, not of {learner!r}")
            return folder
    # Of a path that leads to no experiment, show what lies in that folder, or else beside it.
    places = [storage_path] if Path(name_or_path).name == name_or_path else [path, path.parent, storage_path]
    place = next((place for place in places if existing(place)), storage_path)
    raise ConfigError(f"{unknown('experiment', Path(name_or_path).name, existing(place))} (in {place})")


def read_record(folder: Path) -> dict[str, Any]:
    """How an experiment was started. Raises ConfigError if the record is damaged."""
    try:
        record = json.loads((folder / RECORD).read_text())
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise ConfigError(f"{folder / RECORD} is damaged: it is not valid JSON")
    return record


def display(path: Path) -> str:
    """A path as short as it can be typed here."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)
