import hashlib
import json
import os
import pickle
import shutil
import tracemalloc
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from tests.helpers.trials import Trap, assert_same, edited_state
from trainables import checkpoints
from trainables.checkpoints import ARRAYS, STATE, CheckpointError, State
from trainables.metrics import EpisodeStats
from trainables.saved import usable

HELD = {"theta": np.arange(1000, dtype=np.float32), "count": np.array(3)}
COUNTERS = EpisodeStats(games=1).model_dump()


def state(iteration=7, **fields):
    evaluation = {"eval/iteration": 5, "eval/return": -20.5}
    fields = {"config": {"seed": 4}, "episodes": EpisodeStats(games=1), "evaluation": evaluation} | fields
    return State(learner="pg", iteration=iteration, versions={"python": "3"}, **fields)


def save(folder, iteration=7):
    folder.mkdir(exist_ok=True)
    checkpoints.save(folder, HELD, state(iteration))
    return folder


@pytest.fixture
def saved(tmp_path):
    return save(tmp_path / "checkpoint_000007")


def load(folder):
    return checkpoints.load(folder, "pg", HELD)


def replace_arrays(folder, content):
    """Put another file in the arrays' place, and have the state vouch for it: an attacker can do that, too."""
    (folder / ARRAYS).write_bytes(content)
    with edited_state(folder) as state:
        state["arrays_bytes"], state["arrays_sha256"] = len(content), hashlib.sha256(content).hexdigest()


def refuses(folder, message, expected=HELD):
    with pytest.raises(CheckpointError, match=message) as caught:
        checkpoints.load(folder, "pg", expected)
    assert "\n" not in str(caught.value), "one line"
    assert str(folder) in str(caught.value)


def test_what_is_saved_is_loaded(saved):
    arrays, loaded = checkpoints.load(saved, "pg", HELD)
    assert loaded.model_copy(update={"arrays_bytes": 0, "arrays_sha256": ""}) == state()
    assert type(loaded.evaluation["eval/iteration"]) is int
    assert checkpoints.shapes(saved) == {"theta": (1000,), "count": ()}
    assert arrays.keys() == HELD.keys()
    for name, array in HELD.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
    assert sorted(path.name for path in saved.iterdir()) == [ARRAYS, STATE], "no temporary file is left"


@pytest.mark.parametrize("name", [ARRAYS, STATE])
def test_a_file_that_is_cut_short_altered_by_a_bit_missing_or_a_pipe_is_refused(saved, name):
    path = saved / name
    whole = path.read_bytes()
    for sixteenth in range(16):
        path.write_bytes(whole[: len(whole) * sixteenth // 16])
        refuses(saved, "damaged or incomplete")
    for bit in range(0, 8 * len(whole), 101 if name == ARRAYS else 5):  # odd steps come by every bit of a byte
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        refuses(saved, "damaged|not from this program")
    path.unlink()
    refuses(saved, name)
    os.mkfifo(path)
    refuses(saved, name)


@pytest.mark.parametrize(
    "content", ["[1, 2]", "{}", '{"format_version": 2}', '{"format_version": true}', '{"format_version": 99}']
)
def test_a_foreign_state_is_refused(saved, content):
    (saved / STATE).write_text(content)
    refuses(saved, "not from this program")


@pytest.mark.parametrize(
    "changes",
    [
        {"iteration": -1},
        {"iteration": True},
        {"iteration": 10**15},
        {"config": {"seed": [1]}},
        {"config": {"gamma": float("inf")}},
        {"evaluation": {"eval/return": float("nan")}},
        {"unknown": 0},
        {"episodes": {}},
        {"episodes": COUNTERS | {"games": 1.0}},
        {"episodes": COUNTERS | {"won": -0.5}},
        {"episodes": COUNTERS | {"running_reward": float("nan")}},
        {"episodes": COUNTERS | {"recent_returns": [1.0, None]}},
        {"episodes": COUNTERS | {"unknown": 0}},
    ],
)
def test_a_state_of_other_types_is_refused_though_its_checksum_is_right(saved, changes):
    with edited_state(saved) as content:
        content |= changes
    refuses(saved, rf"not from this program \({next(iter(changes))}")


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
        (HELD | {"more": np.zeros(1)}, r"holds \['count', 'theta'\], this configuration needs"),
        (
            HELD | {"theta": np.zeros(999, np.float32)},
            r"theta is float32 \(1000,\), this .* float32 \(999,\)",
        ),
        (HELD | {"theta": np.zeros(1000)}, r"theta is float32 \(1000,\), this configuration needs float64"),
    ],
)
def test_arrays_of_another_configuration_are_refused(saved, expected, message):
    refuses(saved, message, expected)


def test_values_that_are_not_finite_are_neither_saved_nor_loaded(saved, tmp_path):
    broken = HELD | {"theta": np.full(1000, np.nan, np.float32)}
    with pytest.raises(CheckpointError, match="not saved"):
        checkpoints.save(tmp_path, broken, state())
    assert not (tmp_path / ARRAYS).exists()
    replace_arrays(saved, safetensors.numpy.save(broken))
    refuses(saved, "theta holds values that are not finite")


def header(**arrays):
    """A file whose header may promise anything."""
    text = json.dumps(arrays).encode()
    return len(text).to_bytes(8, "little") + text


def entry(shape, offsets, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(1000),
        pickle.dumps({"theta": [1]}),
        header(theta=entry([10**12], [0, 4 * 10**12])),
        header(theta=entry([2], [0, 4], "BF16")) + bytes(4),
        header(theta=entry([1], [0, 4]), __metadata__={"x": "y" * 10**7}) + bytes(4),
        (10**12).to_bytes(8, "little") + b"{}",
    ],
    ids=range(7),
)
def test_arrays_made_to_harm_are_refused_and_take_no_memory(saved, content):
    replace_arrays(saved, content)
    tracemalloc.start()
    refuses(saved, "cannot be read", None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


def test_arrays_of_any_layout_are_saved_in_their_order(tmp_path):
    whole = np.arange(12.0).reshape(3, 4)
    given = {"turned": whole.T, "every": whole[:, ::2], "none": np.zeros((0, 3)), "big": whole.astype(">f8")}
    checkpoints.save(tmp_path, given, state())
    loaded, _ = checkpoints.load(tmp_path, "pg")
    assert_same(loaded, given)


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
    operations = ["open", "fsync", "replace", "open", "fsync"] * 2  # for both: a file, then its folder
    previous = save(tmp_path / "checkpoint_000000", 1)
    for k in range(len(operations) + 1):
        folder = tmp_path / f"checkpoint_{k + 1:06d}"
        with pytest.MonkeyPatch.context() as patch:
            begun = crash_at(patch, k)
            with pytest.raises(Crash) if k < len(operations) else nullcontext():
                save(folder, 2)
        assert begun == operations[: k + 1]
        renamed = operations[:k].count("replace")
        assert usable(folder, load) == (folder if renamed == 2 else previous)
        if renamed == 2:
            shutil.rmtree(folder)  # the next crash shall find the previous one only


def test_the_newest_usable_sibling_takes_the_place_of_one_that_is_not(tmp_path, caplog):
    """In the order in which they were made: a trial that copied another one may have gone back to fewer iterations."""
    folders = [save(tmp_path / f"checkpoint_{index:06d}", iteration) for index, iteration in enumerate([5, 9, 7, 3, 4])]
    save(tmp_path / "checkpoint_000002.bak", iteration=99)
    save(tmp_path / "checkpoint_tmp_of_another_trial", iteration=99)
    (folders[4] / STATE).unlink()
    (folders[3] / ARRAYS).write_bytes(b"")
    assert usable(folders[1], load) == folders[1]
    assert not caplog.messages
    assert usable(folders[4], load) == folders[2]
    assert usable(tmp_path / "checkpoint_000099", load) == folders[2]
    first, second = caplog.messages
    assert f"{folders[4]}: no checkpoint" in first
    assert f"Going on from {folders[2]}, iteration 7" in first
    assert "checkpoint_000099" in second
    for folder in folders:
        (folder / STATE).unlink(missing_ok=True)
    with pytest.raises(CheckpointError, match="checkpoint_000003: no checkpoint"):
        usable(folders[3], load)
