"""Reading ``.npz`` files that nobody vouches for: all is checked before memory is taken for it, and nothing runs."""

import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trainables.texts import open_regular, printable

NUMBERS = "biuf"
"""Kinds of dtype that are plain numbers: bool, signed, unsigned, float. Objects would need a pickle."""

MAX_HEADER = 10_000
"""Bytes of an array's header; NumPy writes 128."""


class Refused(ValueError):
    """The file is not what it should be; the message says in what."""


class _Kind(NamedTuple):
    """What is known of an array before it is read."""

    dtype: np.dtype
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}{self.shape}"


def shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The arrays' shapes, from their headers alone. Raises Refused as ``read`` does."""
    with _opened(path) as archive:
        return {name: _kind(archive, member).shape for name, member in _members(archive).items()}


def read(path: Path, expected: Mapping[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
    """The arrays of a file that ``numpy.savez`` wrote, by name.

    Raises Refused if it is anything else, if its arrays are not exactly of the names, shapes and types of ``expected``
    (where given), or if a value is not finite. Members must be stored as they are: then no file can ask for more
    memory than it has bytes, as a compressed one ("zip bomb") can.
    """
    with _opened(path) as archive:
        members = _members(archive)
        kinds = {name: _kind(archive, member) for name, member in members.items()}
        if expected is not None:
            _compare(kinds, {name: _Kind(array.dtype, array.shape) for name, array in expected.items()})
        arrays = {name: _array(archive, member) for name, member in members.items()}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise Refused(f"{printable(name)} holds values that are not finite")
    return arrays


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except Refused:
        raise
    except Exception as error:  # whatever the parsers of three formats stumble over
        raise Refused(f"cannot be read ({type(error).__name__}: {error})") from None


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    listed = archive.infolist()
    members = {member.filename.removesuffix(".npy"): member for member in listed}
    if len(members) < len(listed):
        raise Refused("holds a name twice")
    if any(member.compress_type != zipfile.ZIP_STORED for member in listed):
        raise Refused("is compressed, and checkpoints never are")
    if sum(member.file_size for member in listed) > os.fstat(archive.fp.fileno()).st_size:  # type: ignore[union-attr]
        raise Refused("claims to hold more than its own size")
    return members


def _kind(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Kind:
    with archive.open(member) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise Refused(f"{printable(member.filename)} has a header of an unknown version")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=MAX_HEADER)
        header = file.tell()
    if dtype.kind not in NUMBERS:
        raise Refused(f"{printable(member.filename)} holds {dtype}, not numbers")
    if header + math.prod(shape) * dtype.itemsize != member.file_size:
        raise Refused(f"{printable(member.filename)} has another size than its header says")
    return _Kind(dtype, shape)


def _compare(have: dict[str, _Kind], want: dict[str, _Kind]) -> None:
    if have.keys() != want.keys():
        raise Refused(f"holds arrays {sorted(have)}, this configuration needs {sorted(want)}")
    for name, kind in want.items():
        if have[name] != kind:
            raise Refused(f"{name} is {have[name]}, this configuration needs {kind}")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)
