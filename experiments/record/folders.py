"""Experiments as folders: the names of their files, how they are made, found and read."""

import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from experiments.record.names import is_name
from experiments.record.provenance import provenance
from trainables.checks import ConfigError, unknown
from trainables.files import replace_text
from trainables.texts import MAX_JSON_BYTES, parse_json, printable, read_text

RECORD = "experiment.json"
"""How the experiment was started; written before anything runs, read by ``--resume``."""

RESULTS, PARAMS, ERROR = "result.json", "params.json", "error.txt"
"""In a trial's folder: a row of JSON for each iteration, the settings, and Tune's report of what went wrong."""

TUNE_STATES = "experiment_state-*.json"
"""Pattern of Tune's own accounts of the trials, one file for each time that it was started."""


def existing(storage_path: Path) -> list[str]:
    """Names of the experiments in a storage folder, as far as it can be read."""
    try:
        names = os.listdir(storage_path)
    except OSError:
        return []
    return sorted(name for name in names if os.path.isfile(storage_path / name / RECORD))


def create(storage_path: Path, name: str | None, learner: str, spec: dict[str, Any]) -> Path:
    """Make a new experiment's folder with its specification and its origin; return its absolute path.

    Without a name it is called by learner, date and time. Raises ConfigError if the name exists already or is no folder
    name, or if the storage path cannot be written; then no folder is left behind.
    """
    if name and not is_name(name):
        raise ConfigError(f"--name {name!r} is not a folder name; put the path into --storage-path")
    text = json.dumps(spec | provenance(), indent=1)
    try:
        storage_path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=storage_path):
            folder = _make(storage_path.absolute(), name, learner)
        try:
            replace_text(folder / RECORD, text)
        except OSError:
            shutil.rmtree(folder)
            raise
    except OSError as error:
        raise ConfigError(f"--storage-path {storage_path} cannot be written: {error.strerror}") from None
    return folder


def _make(storage_path: Path, name: str | None, learner: str) -> Path:
    """A new folder; of programs that begin in one second each has its own."""
    called, count = name or f"{learner}-{time.strftime('%Y%m%d-%H%M%S')}", 1
    folder = storage_path / called
    while True:
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            if name:
                text = f"--name {name!r} exists already in {storage_path}; --resume {name} continues it"
                raise ConfigError(text) from None
            count += 1
            folder = storage_path / f"{called}-{count}"


def find(storage_path: Path, name_or_path: str, learner: str | None = None) -> Path:
    """The folder of an experiment, named within the storage path or by any path.

    Raises ConfigError, listing those that exist, if there is none, if it is not of the ``learner`` asked for, or if its
    name cannot be printed.
    """
    path = Path(name_or_path).absolute()
    for folder in (storage_path.absolute() / name_or_path, path):
        if os.path.isfile(folder / RECORD):
            if not is_name(folder.name):
                raise ConfigError(f"{printable(str(folder))!r}: accepted are names that can be printed; rename it")
            found = read_record(folder).get("learner")
            if learner not in (None, found):
                raise ConfigError(f"{folder} is an experiment of {found!r}, not of {learner!r}")
            return folder
    # Of a path that leads to no experiment, show what lies in that folder, or else beside it.
    parents = [storage_path] if Path(name_or_path).name == name_or_path else [path, path.parent, storage_path]
    parent = next((parent for parent in parents if existing(parent)), storage_path)
    raise ConfigError(f"{unknown('experiment', Path(name_or_path).name, existing(parent))} (in {parent})")


def read_record(folder: Path) -> dict[str, Any]:
    """What ``experiment.json`` says: specification and origin, of any types. Raises ConfigError if it is no JSON."""
    try:
        content = parse_json(read_text(folder / RECORD, MAX_JSON_BYTES))
    except OSError as error:
        raise ConfigError(f"{folder / RECORD} cannot be read: {error.strerror}") from None
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise ConfigError(f"{folder / RECORD} is damaged: it is not valid JSON")
    return content


def display(path: Path) -> str:
    """A path as short as it can be typed here."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)
