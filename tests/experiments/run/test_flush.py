"""What is on disk itself, not in the system's memory alone, when Tune deletes a checkpoint."""

import os
from pathlib import Path

from ray.train._internal import checkpoint_manager

from experiments.plan.learners import TRPO
from tests.helpers.small_experiments import SIX_ITERATIONS, fit, iterations, trial_folders


def test_a_checkpoint_was_deleted_while_the_newer_one_was_in_memory_alone(ray_cluster, tmp_path, monkeypatch):
    flushed, missing = {}, []
    fsync, delete = os.fsync, checkpoint_manager._delete_fs_path

    def noting_fsync(descriptor):
        fsync(descriptor)
        flushed[os.readlink(f"/proc/self/fd/{descriptor}")] = os.stat(descriptor).st_mtime_ns

    def noting_delete(fs, fs_path):
        newest = max(Path(fs_path).parent.glob("checkpoint_*"))
        needed = [newest / "arrays.safetensors", newest / "state.json", newest, newest.parent / "result.json"]
        missing.append([path for path in needed if flushed.get(str(path)) != path.stat().st_mtime_ns])
        if str(newest.parent) not in flushed:
            missing.append(newest.parent)
        delete(fs, fs_path)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(checkpoint_manager, "_delete_fs_path", noting_delete)
    fit(TRPO, tmp_path / "s", SIX_ITERATIONS.but(checkpoint_frequency=1))
    (trial,) = trial_folders(tmp_path / "s")
    assert iterations(trial) == [1, 2, 3, 4, 5, 6]
    assert len(missing) >= 3, "so many were deleted"
    assert not any(missing)
