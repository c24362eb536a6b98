"""Archives made to harm: each is refused, and costs no memory first."""

import copy
import tracemalloc
import zipfile

import numpy as np
import pytest

from trainables import npz

EXPECTED = {"theta": np.zeros(1000, np.float32)}


def npy(shape, data=b"", dtype="<f4"):
    """An array's file whose header may promise anything."""
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape}).ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


def deflated(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("theta.npy", npy((10**7,), bytes(4 * 10**7)))


def overlapping(path):
    """Many names for the same bytes: a bomb without compression."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("theta.npy", npy((10**5,), bytes(4 * 10**5)))
        (only,) = archive.filelist
        for index in range(1000):
            archive.filelist.append(copy.copy(only))
            archive.filelist[-1].filename = f"{index}.npy"


def promising(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("theta.npy", npy((10**12,)))


def twins(path):
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("theta.npy", "theta"):
            archive.writestr(name, npy((1,), bytes(4)))


def nonsense(path):
    path.write_bytes(bytes(1000))


def deep(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("theta.npy", npy("(" * 5000))


@pytest.mark.parametrize("expected", [EXPECTED, None])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (deflated, "compressed"),
        (overlapping, "more than its own size"),
        (promising, "another size"),
        (twins, "twice"),
        (nonsense, "cannot be read"),
        (deep, "cannot be read"),
    ],
)
def test_a_bomb_is_refused_before_memory_is_taken(tmp_path, make, message, expected):
    make(tmp_path / "arrays.npz")
    tracemalloc.start()
    with pytest.raises(npz.Refused, match=message):
        npz.read(tmp_path / "arrays.npz", expected)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000
