"""Checkpoints without pickle: ``arrays.safetensors`` for arrays and ``state.json`` for everything else.

``state.json`` names size and SHA-256 of the arrays' file and is written last, so a checkpoint is complete or not there
at all: one that was cut off, copied in part or changed afterwards is refused.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import safetensors.numpy
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, field_validator
from safetensors import safe_open

from trainables.files import replace_text, replacing
from trainables.metrics import Count, EpisodeStats
from trainables.texts import open_regular, parse_json, printable, read_text

FORMAT_VERSION: Literal[3] = 3
ARRAYS, STATE = "arrays.safetensors", "state.json"
FILM = "evaluation.gif"  # the last evaluation's first game
MAX_STATE_BYTES = 1_000_000
"""No state is as long; what is behind is not read."""
MAX_HEADER_BYTES = 100_000
"""No list of arrays is as long: an array takes some 80 bytes of it."""
PICKLES = (".pkl", ".pickle")
NAME = re.compile(r"checkpoint_([0-9]{6}|[1-9][0-9]{6,8})")
"""Tune's names of a trial's checkpoint folders, and no others: copies of a user, and downloads, lie beside them."""


class CheckpointError(ValueError):
    """The checkpoint cannot be used; the message says which, and why."""


class State(BaseModel):
    """All of a checkpoint but its arrays: the content of ``state.json``."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    learner: str
    config: dict[str, str | int | FiniteFloat | bool | None]
    iteration: Count
    episodes: EpisodeStats
    evaluation: dict[str, int | FiniteFloat]
    versions: dict[str, str]
    seconds: Annotated[FiniteFloat, Field(ge=0)] = 0.0  # of training until here
    policy_alone: bool = False  # it can play, and not go on learning
    format_version: Literal[3] = FORMAT_VERSION
    arrays_bytes: int = 0  # this and the next are for ``save`` to fill in
    arrays_sha256: str = ""

    @field_validator("episodes", mode="before")
    @classmethod
    def _require_all_counters(cls, stored: object) -> object:
        if isinstance(stored, dict) and (missing := EpisodeStats.model_fields.keys() - stored.keys()):
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
        return stored


def save(directory: str | Path, arrays: Mapping[str, np.ndarray], state: State) -> None:
    """Write a checkpoint into a folder of its own: each file under a temporary name, flushed, renamed; the state last.

    Raises CheckpointError, and writes nothing, if an array holds a value that is not finite.
    """
    directory = Path(directory)
    if not all_finite(arrays):
        raise CheckpointError(f"{directory}: not saved, since not all values are finite")
    content = safetensors.numpy.save({name: np.asarray(array, order="C") for name, array in arrays.items()})
    with replacing(directory / ARRAYS) as file:
        file.write(content)
    header = {"arrays_bytes": len(content), "arrays_sha256": hashlib.sha256(content).hexdigest()}
    whole = state.model_copy(update=header).model_dump()
    replace_text(directory / STATE, json.dumps(whole | {"state_sha256": _state_sha256(whole)}, indent=1))


def load(
    directory: str | Path, learner: str, expected: Mapping[str, np.ndarray] | None = None
) -> tuple[dict[str, np.ndarray], State]:
    """Read a checkpoint that ``save`` wrote for this ``learner``.

    Raises CheckpointError, in one line, if it is missing, incomplete, damaged, foreign, of another format or beside a
    pickle, or if its arrays are not all finite and of the names, types and shapes of ``expected``.
    """
    directory = Path(directory)
    _refuse_pickles(directory)
    state = load_state(directory)
    if state.learner != learner:
        raise CheckpointError(f"{directory}: a checkpoint of {state.learner!r}, not of {learner!r}")
    _check_arrays_file(directory, state)
    shapes(directory)  # a header as long as no list of arrays is refused before it is parsed
    try:
        arrays = safetensors.numpy.load_file(directory / ARRAYS, backend="pread")
    except Exception as error:  # a type that NumPy does not know
        raise _unreadable(directory, error) from None
    if expected is not None:
        require_same_form(directory, arrays, expected)
    if strange := [name for name, array in arrays.items() if not np.isfinite(array).all()]:
        raise CheckpointError(f"{directory}: {ARRAYS}: {printable(strange[0])} holds values that are not finite")
    return arrays, state


def load_state(directory: str | Path) -> State:
    """Read only ``state.json``. Raises CheckpointError as ``load`` does."""
    directory = Path(directory)
    try:
        content = parse_json(read_text(directory / STATE, MAX_STATE_BYTES))
    except OSError as error:
        raise CheckpointError(f"{directory}: no checkpoint, or half of one (no {STATE}: {error.strerror})") from None
    except ValueError:
        raise CheckpointError(f"{directory}: {STATE} is damaged or incomplete (not valid JSON)") from None
    version = content.get("format_version") if isinstance(content, dict) else None
    if type(version) is not int or version != FORMAT_VERSION:
        known = f"this program reads format_version {FORMAT_VERSION}"
        raise CheckpointError(f"{directory}: {STATE} is not from this program ({known}, not {str(version)[:60]})")
    if content.pop("state_sha256", None) != _state_sha256(content):
        raise CheckpointError(f"{directory}: {STATE} is damaged (it differs from its own checksum)")
    try:
        return State.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where, what = ".".join(map(str, first["loc"])), f"{first['msg']}, not {str(first['input'])[:60]!r}"
        raise CheckpointError(f"{directory}: {STATE} is not from this program ({where}: {what})") from None


def shapes(directory: str | Path) -> dict[str, tuple[int, ...]]:
    """The arrays' shapes, from the header of their file alone. Raises CheckpointError."""
    path = Path(directory) / ARRAYS
    try:
        with open_regular(path) as file:
            header_bytes = int.from_bytes(file.read(8), "little")
        if header_bytes > MAX_HEADER_BYTES:
            raise ValueError(f"a header of {header_bytes:,} bytes")
        with safe_open(path, "np", backend="pread") as arrays:
            return {name: tuple(arrays.get_slice(name).get_shape()) for name in arrays.keys()}  # noqa: SIM118
    except Exception as error:  # whatever the parser stumbles over
        raise _unreadable(directory, error) from None


def numbered(trial: Path) -> dict[int, Path]:
    """The checkpoint folders of a trial by number, in the order in which they were made: the newest is the last.

    That is not the order of their iterations. Under population based training a trial goes on from another one's
    checkpoint, which may have fewer of them.
    """
    found = {number(path): path for path in trial.glob("checkpoint_*")}
    return dict(sorted((number, path) for number, path in found.items() if number >= 0))


def number(checkpoint: str | Path) -> int:
    """The number in a checkpoint folder's name; -1 if it is not one that Tune gives."""
    match = NAME.fullmatch(Path(checkpoint).name)
    return int(match[1]) if match else -1


def all_finite(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether no array holds a NaN or an infinity."""
    return all(bool(np.isfinite(array).all()) for array in arrays.values())


def require_same_form(directory: Path, arrays: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> None:
    """Raise CheckpointError unless arrays have the names, types and shapes that a configuration needs."""
    if arrays.keys() != expected.keys():
        names = printable(str(sorted(arrays)))
        raise CheckpointError(f"{directory}: {ARRAYS} holds {names}, this configuration needs {sorted(expected)}")
    found = forms(arrays)
    for name, need in forms(expected).items():
        if found[name] != need:
            raise CheckpointError(f"{directory}: {ARRAYS}: {name} is {found[name]}, this configuration needs {need}")


def forms(arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """The type and shape of each array, in words."""
    return {name: f"{array.dtype} {array.shape}" for name, array in arrays.items()}


def _refuse_pickles(directory: Path) -> None:
    """A checkpoint never holds a pickle, but Tune opens one that it finds, and to open a pickle is to run it."""
    names = sorted(path.name for path in directory.glob("*") if path.suffix.lower() in PICKLES)
    if names:
        raise CheckpointError(f"{directory}: holds a pickle ({names[0]}), which could run anything: not opened")


def _check_arrays_file(directory: Path, state: State) -> None:
    """Raise CheckpointError unless the file is the one that the state was written for."""
    path = directory / ARRAYS
    try:
        with open_regular(path) as file:
            whole = path.stat().st_size == state.arrays_bytes
            whole = whole and hashlib.file_digest(file, "sha256").hexdigest() == state.arrays_sha256
    except OSError as error:
        raise CheckpointError(f"{directory}: no readable {ARRAYS} ({error.strerror})") from None
    if not whole:
        raise CheckpointError(
            f"{directory}: {ARRAYS} is damaged or incomplete (its size or checksum differs from {STATE}'s)"
        )


def _unreadable(directory: str | Path, error: Exception) -> CheckpointError:
    return CheckpointError(f"{directory}: {ARRAYS} cannot be read ({type(error).__name__}: {printable(str(error))})")


def _state_sha256(state: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
