"""Checkpoints without pickle: ``arrays.npz`` for arrays and ``state.json`` for everything else.

``state.json`` names the SHA-256 of ``arrays.npz`` and is written last, so a checkpoint is complete or not there at all:
one that was cut off, copied in part or changed afterwards is refused.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

FORMAT_VERSION = 1
ARRAYS, STATE = "arrays.npz", "state.json"


class CheckpointError(ValueError):
    """The checkpoint cannot be used; the message says which, and why."""


def save(directory: str | Path, arrays: dict[str, np.ndarray], state: dict[str, Any]) -> None:
    """Write a checkpoint: each file under a temporary name, flushed to disk, then renamed; the state last."""
    directory = Path(directory)
    with _replacing(directory / ARRAYS) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    header = {"format_version": FORMAT_VERSION, "arrays_sha256": _sha256(directory / ARRAYS)}
    with _replacing(directory / STATE) as file:
        file.write(json.dumps(header | state, indent=1).encode())


def load(directory: str | Path, learner: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a checkpoint that ``save`` wrote for this ``learner`` (``state["learner"]``).

    Raises CheckpointError, in one line, if it is missing, incomplete, damaged, foreign or from a newer version.
    """
    directory = Path(directory)
    state = load_state(directory)
    if state.get("learner") != learner:
        raise CheckpointError(f"{directory}: a checkpoint of {state.get('learner')!r}, not of {learner!r}")
    try:
        digest = _sha256(directory / ARRAYS)
    except OSError as error:
        raise CheckpointError(f"{directory}: no readable {ARRAYS} ({error.strerror})") from None
    if digest != state.get("arrays_sha256"):
        raise CheckpointError(f"{directory}: {ARRAYS} is damaged or incomplete (its checksum differs from {STATE}'s)")
    try:
        with np.load(directory / ARRAYS, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}, state
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{directory}: {ARRAYS} cannot be read ({error})") from None


def load_state(directory: str | Path) -> dict[str, Any]:
    """Read only ``state.json``: configuration, counters, versions. Raises CheckpointError as ``load`` does."""
    directory = Path(directory)
    try:
        state = json.loads((directory / STATE).read_text())
    except OSError as error:
        raise CheckpointError(f"{directory}: no checkpoint, or half of one (no {STATE}: {error.strerror})") from None
    except ValueError:
        raise CheckpointError(f"{directory}: {STATE} is damaged or incomplete (not valid JSON)") from None
    version = state.get("format_version") if isinstance(state, dict) else None
    if not isinstance(version, int):
        raise CheckpointError(f"{directory}: {STATE} is not from this program (it has no format_version)")
    if version > FORMAT_VERSION:
        raise CheckpointError(
            f"{directory}: format version {version} is newer than this program reads ({FORMAT_VERSION}): update it"
        )
    return state


def newest_usable(directory: str | Path, learner: str) -> Path | None:
    """The checkpoint beside ``directory`` to use in its place; None if it is usable itself, or if there is no other."""
    directory = Path(directory)
    if _usable(directory, learner):
        return None
    siblings = [path for path in directory.parent.glob("checkpoint_*") if path != directory and _usable(path, learner)]
    return max(siblings, key=lambda path: load_state(path)["iteration"], default=None)


def shaped_like(arrays: dict[str, np.ndarray], expected: dict[str, np.ndarray], where: str | Path) -> None:
    """Raise CheckpointError unless ``arrays`` has exactly the names, shapes and types of ``expected``, all finite."""
    if arrays.keys() != expected.keys():
        raise CheckpointError(f"{where}: holds arrays {sorted(arrays)}, this configuration needs {sorted(expected)}")
    for name, want in expected.items():
        have = arrays[name]
        if have.shape != want.shape or have.dtype != want.dtype:
            raise CheckpointError(
                f"{where}: {name} is {have.dtype}{have.shape}, this configuration needs {want.dtype}{want.shape}"
            )
        if not np.isfinite(have).all():
            raise CheckpointError(f"{where}: {name} holds values that are not finite")


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of ``path`` only once it is whole and on disk."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _usable(directory: Path, learner: str) -> bool:
    try:
        load(directory, learner)
    except CheckpointError:
        return False
    return True


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
