import json
import os
import pickle
import shutil
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.pickles import Trap
from trainables import checkpoints
from trainables.checkpoints import ARRAYS, STATE, CheckpointError

HELD = {"theta": np.arange(1000, dtype=np.float32), "count": np.array(3)}


def save(folder, iteration=7):
    folder.mkdir(exist_ok=True)
    checkpoints.save(folder, HELD, {"learner": "pg", "iteration": iteration})
    return folder


@pytest.fixture
def saved(tmp_path):
    return save(tmp_path / "checkpoint_000007")


def load(folder):
    return checkpoints.load(folder, "pg", HELD)


def sign(folder):
    """Make the state vouch for its neighbour and itself: an attacker can do that, too."""
    path = folder / STATE
    state = json.loads(path.read_text()) | {"arrays_bytes": (folder / ARRAYS).stat().st_size}
    state["arrays_sha256"] = checkpoints._sha256(folder / ARRAYS)
    del state["state_sha256"]
    path.write_text(json.dumps(state | {"state_sha256": checkpoints._state_sha256(state)}))


def edit_state(folder, **changes):
    path = folder / STATE
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def refuses(folder, message, expected=HELD):
    with pytest.raises(CheckpointError, match=message) as caught:
        checkpoints.load(folder, "pg", expected)
    assert "\n" not in str(caught.value), "one line"
    assert str(folder) in str(caught.value)


def test_what_is_saved_is_loaded(saved):
    arrays, state = checkpoints.load(saved, "pg", HELD)
    assert state["iteration"] == 7
    assert arrays.keys() == HELD.keys()
    for name, array in HELD.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
    assert sorted(path.name for path in saved.iterdir()) == [ARRAYS, STATE], "no temporary file is left"


@pytest.mark.parametrize("name", [ARRAYS, STATE])
@pytest.mark.parametrize("sixteenth", range(16))
def test_a_file_cut_short_is_refused(saved, name, sixteenth):
    whole = (saved / name).read_bytes()
    (saved / name).write_bytes(whole[: len(whole) * sixteenth // 16])
    refuses(saved, "damaged or incomplete")


@pytest.mark.parametrize("name", [ARRAYS, STATE])
def test_a_flipped_bit_is_refused(saved, name):
    whole = (saved / name).read_bytes()
    for bit in range(0, 8 * len(whole), 101 if name == ARRAYS else 5):  # odd steps come by every bit of a byte
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        (saved / name).write_bytes(content)
        refuses(saved, "damaged|not from this program|is newer")


@pytest.mark.parametrize("name", [ARRAYS, STATE])
def test_a_missing_file_is_refused(saved, name):
    (saved / name).unlink()
    refuses(saved, name)


def test_a_newer_format_is_refused(saved):
    edit_state(saved, format_version=99)
    refuses(saved, "99 is newer")


@pytest.mark.parametrize(
    "content",
    ["[1, 2]", "{}", '{"format_version": 1}', '{"format_version": true}', '{"format_version": 1, "iteration": -1}'],
)
def test_a_foreign_state_is_refused(saved, content):
    (saved / STATE).write_text(content)
    refuses(saved, "not from this program")


@pytest.mark.parametrize("content", ["[" * 900_000, " " * 2_000_000 + "{}"])
def test_a_state_that_would_exhaust_the_parser_is_refused(saved, content):
    (saved / STATE).write_text(content)
    refuses(saved, "not valid JSON")


def test_another_learners_checkpoint_is_refused(saved):
    with pytest.raises(CheckpointError, match="of 'pg', not of 'trpo'"):
        checkpoints.load(saved, "trpo")


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (HELD | {"more": np.zeros(1)}, "holds arrays"),
        (HELD | {"theta": np.zeros(999, np.float32)}, r"theta is float32\(1000,\), this .* needs float32\(999,\)"),
        (HELD | {"theta": np.zeros(1000)}, r"theta is float32\(1000,\), this configuration needs float64"),
    ],
)
def test_arrays_of_another_configuration_are_refused(saved, expected, message):
    refuses(saved, message, expected)


def test_values_that_are_not_finite_are_neither_saved_nor_loaded(saved, tmp_path):
    broken = HELD | {"theta": np.full(1000, np.nan, np.float32)}
    with pytest.raises(CheckpointError, match="not saved"):
        checkpoints.save(tmp_path, broken, {"learner": "pg", "iteration": 7})
    assert not (tmp_path / ARRAYS).exists()
    np.savez(saved / ARRAYS, **broken)
    sign(saved)
    refuses(saved, "theta holds values that are not finite")


@pytest.mark.parametrize("expected", [HELD, None])
def test_pickled_objects_in_arrays_are_never_loaded(saved, tmp_path, expected):
    np.savez(saved / ARRAYS, theta=np.array([Trap(tmp_path / "sprung")], dtype=object), count=HELD["count"])
    sign(saved)
    refuses(saved, "theta.npy holds object, not numbers", expected)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["_dict_checkpoint.pkl", "other.PKL", "model.pickle"])
def test_a_pickle_beside_it_is_refused(saved, tmp_path, name):
    (saved / name).write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    refuses(saved, f"holds a pickle \\({name}\\)")
    assert not (tmp_path / "sprung").exists()


class Crash(BaseException):
    """The end of the process, as a test can survive it: nothing of ours catches it."""


def crash_at(monkeypatch, k):
    """Let the k-th file operation, counted from 0, be the end. Returns the names of the operations begun."""
    begun = []

    def scripted(name, operation):
        def run(*args, **kwargs):
            begun.append(name)
            if len(begun) == k + 1:
                raise Crash
            return operation(*args, **kwargs)

        return run

    for owner, name in ((Path, "open"), (os, "fsync"), (os, "replace"), (os, "open")):
        monkeypatch.setattr(owner, name, scripted(name, getattr(owner, name)))
    return begun


def test_after_a_crash_at_any_file_operation_of_a_save_a_checkpoint_is_usable(tmp_path):
    write = ["open", "fsync", "replace", "open", "fsync"]  # a file, then its folder
    operations = [*write, "open", *write]  # both files; between them the first is read for its checksum
    previous = save(tmp_path / "checkpoint_000000", 1)
    for k in range(len(operations) + 1):
        folder = tmp_path / f"checkpoint_{k + 1:06d}"
        with pytest.MonkeyPatch.context() as patch:
            begun = crash_at(patch, k)
            with pytest.raises(Crash) if k < len(operations) else nullcontext():
                save(folder, 2)
        assert begun == operations[: k + 1]
        renamed = operations[:k].count("replace")
        assert checkpoints.usable(folder, load) == (folder if renamed == 2 else previous)
        if renamed == 2:
            shutil.rmtree(folder)  # the next crash shall find the previous one only


def test_the_newest_usable_sibling_takes_the_place_of_one_that_is_not(tmp_path, caplog):
    folders = [save(tmp_path / f"checkpoint_{index:06d}", iteration=index) for index in range(5)]
    save(tmp_path / "checkpoint_tmp_of_another_trial", iteration=99)
    (folders[4] / STATE).unlink()
    (folders[3] / ARRAYS).write_bytes(b"")
    assert checkpoints.usable(folders[1], load) == folders[1]
    assert not caplog.messages
    assert checkpoints.usable(folders[4], load) == folders[2]
    assert checkpoints.usable(tmp_path / "checkpoint_000099", load) == folders[2]
    first, second = caplog.messages
    assert f"{folders[4]}: no checkpoint" in first
    assert f"Going on from {folders[2]}, iteration 2" in first
    assert "checkpoint_000099" in second


def test_a_damaged_checkpoint_gave_way_to_an_older_one_that_had_more_iterations(tmp_path):
    """A trial that copied another one may go back to fewer iterations: the weights with more are given up."""
    folders = [save(tmp_path / f"checkpoint_{index:06d}", iteration) for index, iteration in enumerate([5, 9, 6, 7])]
    save(tmp_path / "checkpoint_000002.bak", iteration=99)
    (folders[3] / ARRAYS).unlink()
    assert checkpoints.usable(folders[3], load) == folders[2]
    assert [*checkpoints.numbered(tmp_path).values()] == folders


def test_without_a_usable_sibling_the_error_is_about_the_one_asked_for(saved):
    (saved / ARRAYS).unlink()
    with pytest.raises(CheckpointError, match=f"{saved.name}: no readable"):
        checkpoints.usable(saved, load)
