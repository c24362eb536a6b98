"""Checkpoints without pickle: ``arrays.npz`` for arrays and ``state.json`` for everything else.

``state.json`` names size and SHA-256 of ``arrays.npz`` and is written last, so a checkpoint is complete or not there at
all: one that was cut off, copied in part or changed afterwards is refused. Format 1 (without sizes, and without a
checksum of the state itself) is read for ever.
"""

import hashlib
import json
import logging
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trainables import npz
from trainables.files import replacing
from trainables.texts import open_regular, parse_json, read_text

FORMAT_VERSION = 2
ARRAYS, STATE = "arrays.npz", "state.json"
MAX_STATE_BYTES = 1_000_000
"""No state is as long; what is behind is not read."""
PICKLES = (".pkl", ".pickle")
NAME = re.compile(r"checkpoint_([0-9]{6}|[1-9][0-9]{6,8})")
"""Tune's names of a trial's checkpoint folders, and no others: copies of a user, and downloads, lie beside them."""

logger = logging.getLogger(__name__)


class CheckpointError(ValueError):
    """The checkpoint cannot be used; the message says which, and why."""


def save(directory: str | Path, arrays: dict[str, np.ndarray], state: dict[str, Any]) -> None:
    """Write a checkpoint into a folder of its own: each file under a temporary name, flushed, renamed; the state last.

    Raises CheckpointError, and writes nothing, if an array holds a value that is not finite.
    """
    directory = Path(directory)
    if not all_finite(arrays):
        raise CheckpointError(f"{directory}: not saved, since not all values are finite")
    with replacing(directory / ARRAYS) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    header = {
        "format_version": FORMAT_VERSION,
        "arrays_bytes": (directory / ARRAYS).stat().st_size,
        "arrays_sha256": _sha256(directory / ARRAYS),
    }
    whole = header | state | header  # a state that was loaded brings the header of another file along
    with replacing(directory / STATE) as file:
        file.write(json.dumps(whole | {"state_sha256": _state_sha256(whole)}, indent=1).encode())


def load(
    directory: str | Path, learner: str, expected: Mapping[str, np.ndarray] | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a checkpoint that ``save`` wrote for this ``learner`` (``state["learner"]``).

    Raises CheckpointError, in one line, if it is missing, incomplete, damaged, foreign, from a newer version or beside
    a pickle, or if its arrays are not of the names, shapes and types of ``expected`` (where given), all finite.
    """
    directory = Path(directory)
    _refuse_pickles(directory)
    state = load_state(directory)
    if state.get("learner") != learner:
        raise CheckpointError(f"{directory}: a checkpoint of {state.get('learner')!r}, not of {learner!r}")
    _check_arrays_file(directory, state)
    try:
        return npz.read(directory / ARRAYS, expected), state
    except npz.Refused as error:
        raise CheckpointError(f"{directory}: {ARRAYS} {error}") from None


def load_state(directory: str | Path) -> dict[str, Any]:
    """Read only ``state.json``: configuration, counters, versions. Raises CheckpointError as ``load`` does."""
    directory = Path(directory)
    try:
        state = parse_json(read_text(directory / STATE, MAX_STATE_BYTES))
    except OSError as error:
        raise CheckpointError(f"{directory}: no checkpoint, or half of one (no {STATE}: {error.strerror})") from None
    except ValueError:
        raise CheckpointError(f"{directory}: {STATE} is damaged or incomplete (not valid JSON)") from None
    version = state.get("format_version") if isinstance(state, dict) else None
    if type(version) is not int or version < 1:
        raise CheckpointError(f"{directory}: {STATE} is not from this program (it has no format_version)")
    if version > FORMAT_VERSION:
        raise CheckpointError(
            f"{directory}: format version {version} is newer than this program reads ({FORMAT_VERSION}): update it"
        )
    if version > 1 and state.pop("state_sha256", None) != _state_sha256(state):
        raise CheckpointError(f"{directory}: {STATE} is damaged (it differs from its own checksum)")
    if type(state.get("iteration")) is not int or state["iteration"] < 0:
        raise CheckpointError(f"{directory}: {STATE} is not from this program (it has no iteration)")
    return state


def usable(directory: str | Path, read: Callable[[Path], object]) -> Path:
    """``directory`` if it can be read, else the newest checkpoint beside it that can, with a warning.

    ``read`` raises CheckpointError about one that cannot. Raises CheckpointError, about ``directory``, if none can.
    """
    directory = Path(directory)
    try:
        read(directory)
        return directory
    except CheckpointError as error:
        reason = error
    for sibling in reversed([path for path in numbered(directory.parent).values() if path != directory]):
        try:
            read(sibling)
            iteration = load_state(sibling)["iteration"]
        except CheckpointError:
            continue
        logger.warning("%s. Going on from %s, iteration %d, instead.", reason, sibling, iteration)
        return sibling
    raise reason


def numbered(trial: Path) -> dict[int, Path]:
    """The checkpoint folders of a trial by number, in the order in which they were made: the newest is the last.

    That is not the order of their iterations. Under population based training a trial goes on from another one's
    checkpoint, which may have fewer of them.
    """
    found = {number(path): path for path in trial.glob("checkpoint_*")}
    found.pop(-1, None)
    return dict(sorted(found.items()))


def number(checkpoint: str | Path) -> int:
    """The number in a checkpoint folder's name; -1 if it is not one that Tune gives."""
    match = NAME.fullmatch(Path(checkpoint).name)
    return int(match[1]) if match else -1


def folder_name(number: int) -> str:
    """What Tune calls the checkpoint of this number."""
    return f"checkpoint_{number:06d}"


def all_finite(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether no array holds a NaN or an infinity."""
    return all(bool(np.isfinite(array).all()) for array in arrays.values())


def _refuse_pickles(directory: Path) -> None:
    """A checkpoint never holds a pickle, but Tune opens one that it finds, and to open a pickle is to run it."""
    names = sorted(path.name for path in directory.glob("*") if path.suffix.lower() in PICKLES)
    if names:
        raise CheckpointError(f"{directory}: holds a pickle ({names[0]}), which could run anything: not opened")


def _check_arrays_file(directory: Path, state: dict[str, Any]) -> None:
    """Raise CheckpointError unless the file is the one that the state was written for."""
    path = directory / ARRAYS
    try:
        size = path.stat().st_size
        # Format 1 does not name the size.
        whole = size == state.get("arrays_bytes", size) and _sha256(path) == state.get("arrays_sha256")
    except OSError as error:
        raise CheckpointError(f"{directory}: no readable {ARRAYS} ({error.strerror})") from None
    if not whole:
        raise CheckpointError(
            f"{directory}: {ARRAYS} is damaged or incomplete (its size or checksum differs from {STATE}'s)"
        )


def _state_sha256(state: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def _sha256(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
