import json

import numpy as np
import pytest

from trainables import checkpoints
from trainables.checkpoints import ARRAYS, STATE, CheckpointError

ARRAYS_HELD = {"theta": np.arange(1000, dtype=np.float32), "count": np.array(3)}


@pytest.fixture
def saved(tmp_path):
    checkpoints.save(tmp_path, ARRAYS_HELD, {"learner": "pg", "iteration": 7})
    return tmp_path


def edit_state(folder, **changes):
    path = folder / STATE
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_what_is_saved_is_loaded(saved):
    arrays, state = checkpoints.load(saved, "pg")
    assert state["iteration"] == 7
    assert arrays.keys() == ARRAYS_HELD.keys()
    for name, array in ARRAYS_HELD.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
    assert sorted(path.name for path in saved.iterdir()) == [ARRAYS, STATE], "no temporary file is left"


@pytest.mark.parametrize("name", [ARRAYS, STATE])
@pytest.mark.parametrize("sixteenth", range(16))
def test_a_file_cut_short_is_refused(saved, name, sixteenth):
    whole = (saved / name).read_bytes()
    (saved / name).write_bytes(whole[: len(whole) * sixteenth // 16])
    with pytest.raises(CheckpointError, match="damaged or incomplete"):
        checkpoints.load(saved, "pg")


def test_a_flipped_bit_is_refused(saved):
    content = bytearray((saved / ARRAYS).read_bytes())
    content[len(content) // 2] ^= 1
    (saved / ARRAYS).write_bytes(content)
    with pytest.raises(CheckpointError, match="checksum"):
        checkpoints.load(saved, "pg")


@pytest.mark.parametrize("name", [ARRAYS, STATE])
def test_a_missing_file_is_refused(saved, name):
    (saved / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        checkpoints.load(saved, "pg")


def test_a_newer_format_is_refused(saved):
    edit_state(saved, format_version=99)
    with pytest.raises(CheckpointError, match="99 is newer"):
        checkpoints.load(saved, "pg")


def test_a_foreign_state_is_refused(saved):
    (saved / STATE).write_text("[1, 2]")
    with pytest.raises(CheckpointError, match="not from this program"):
        checkpoints.load(saved, "pg")


def test_another_learners_checkpoint_is_refused(saved):
    with pytest.raises(CheckpointError, match="of 'pg', not of 'trpo'"):
        checkpoints.load(saved, "trpo")


def test_pickled_objects_are_never_loaded(saved):
    np.savez(saved / ARRAYS, theta=np.array([{"a": 1}], dtype=object))
    edit_state(saved, arrays_sha256=checkpoints._sha256(saved / ARRAYS))
    with pytest.raises(CheckpointError, match="cannot be read"):
        checkpoints.load(saved, "pg")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"theta": ARRAYS_HELD["theta"]}, "holds arrays"),
        (ARRAYS_HELD | {"theta": np.zeros(999, np.float32)}, r"theta is float32\(999,\)"),
        (ARRAYS_HELD | {"theta": np.zeros(1000)}, r"theta is float64"),
        (ARRAYS_HELD | {"theta": np.full(1000, np.nan, np.float32)}, "not finite"),
    ],
)
def test_arrays_of_another_configuration_are_refused(arrays, message):
    with pytest.raises(CheckpointError, match=message):
        checkpoints.shaped_like(arrays, ARRAYS_HELD, "here")
