"""Callbacks of the user's own, what is on disk itself before older checkpoints go, and a disk that is nearly full."""

import contextlib
import inspect
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from ray import tune
from ray.train._internal import checkpoint_manager

from experiments.ask.flags import RunFlags
from experiments.disk.spec import ExperimentSpec
from experiments.plan.learners import TRPO
from experiments.run import callbacks, tuner
from experiments.run.callbacks import RESERVE_FILES, DiskGuard, Guarded, made
from experiments.run.preconditions import RESERVE_BYTES, require_room
from experiments.run.ray_internals import ErrorText
from experiments.run.session import Session
from experiments.run.stopping import StopSignals
from tests.helpers.programs import done
from tests.helpers.small_experiments import SIX_ITERATIONS, fit, iterations, trial_folders
from tests.helpers.written_experiments import write_experiment
from trainables.checks import ConfigError

FILE = """
import json
from ray import tune

class Rows(tune.Callback):
    def on_trial_result(self, iteration, trials, trial, result, **info):
        with open("heard", "a") as file:
            file.write(json.dumps([str(trial), result["training_iteration"]]) + "\\n")

class Broken(tune.Callback):
    def on_trial_result(self, **info):
        raise OSError("no\\nroute")

def mlflow():
    from ray.air.integrations.mlflow import MLflowLoggerCallback
    return MLflowLoggerCallback(tracking_uri="file:./mlruns", experiment_name="pong")

def another(): return 3
def fails(): return 1 / 0
number = 3
"""
SMALL = ("pg", "--preset", "smoke", "--hidden-size", "8", "--eval-interval", "0", "--segment-length", "50")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "heard_of.py").write_text(FILE)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("another", "makes int; accepted is a ray.tune.Callback"),
        ("fails", "the call fails with ZeroDivisionError: division by zero (heard_of.py, line"),
        ("number", "3 cannot be called"),
        ("nope", "unknown name 'nope'"),
    ],
)
def test_what_makes_no_callback_is_refused_in_one_line(name, complaint, folder):
    with pytest.raises(ConfigError) as error:
        made([f"heard_of:{name}"])
    assert complaint in str(error.value)


def test_every_hook_of_tune_reaches_it():
    hooks = {"setup", *(name for name in vars(tune.Callback) if name.startswith("on_"))}
    assert len(hooks) > 10
    heard = []

    class Hears(tune.Callback):
        def __getattribute__(self, name):
            return lambda *_: heard.append(name)

    for hook in hooks:
        names = inspect.signature(getattr(Guarded, hook)).parameters.keys() - {"self", "args", "info"}
        getattr(Guarded("it", Hears()), hook)(**{name: [] if name == "trials" else 1 for name in names})
    assert {*heard} == hooks
    assert hooks <= {*vars(Guarded)}


def test_a_callback_that_fails_is_left_out_from_then_on(folder, capsys):
    (guarded,) = made(["heard_of:Broken"])
    for _ in range(2):
        guarded.on_trial_result(iteration=1, trials=[], trial=None, result={})
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("--callback heard_of:Broken is left out from here on: on_trial_result fails with OSError")


class HearsOfEnds(tune.Callback):
    """Keeps which trials ended, and that the experiment did."""

    def __init__(self):
        self.heard = []

    def on_trial_complete(self, iteration, trials, trial, **info):
        self.heard.append(trial)

    def on_experiment_end(self, trials, **info):
        self.heard.append("end")


def test_a_callback_hears_once_of_the_end_of_each_trial_that_began_also_where_a_signal_ends_the_experiment():
    hears, trials = HearsOfEnds(), ["ended", "paused", "never began"]
    guarded = Guarded("it", hears)
    for trial in trials[:2]:
        guarded.on_trial_start(iteration=1, trials=trials, trial=trial)
    guarded.on_trial_complete(iteration=2, trials=trials, trial="ended")
    guarded.on_experiment_end(trials=trials)
    assert hears.heard == ["ended", "paused", "end"]


def test_a_callback_hears_of_the_end_of_each_trial_also_where_tune_gives_up(tmp_path, monkeypatch):
    hears = HearsOfEnds()
    guarded = Guarded("it", hears)

    def began_and_gave_up():
        guarded.on_trial_start(iteration=1, trials=["first", "second"], trial="first")
        raise OSError("no room")

    folder = write_experiment(tmp_path, "run", "trpo", [({}, [-20], "running")])
    monkeypatch.setattr(tuner, "make_tuner", lambda *_: SimpleNamespace(fit=began_and_gave_up))
    with pytest.raises(OSError, match="no room"):
        tuner.fit_once(Session(TRPO, folder, ExperimentSpec.read(folder), callbacks=[guarded]))
    assert hears.heard == ["first", "end"]


OOM = "3 worker(s) were killed due to the node running low on memory. Memory on the node was 23 GB used / 24 GB\nAdvice"


@pytest.mark.parametrize(
    ("failures", "ends"),
    [
        (["a bug", OOM], True),
        (["a bug", f"RuntimeError: worker 1 failed 3 times, at last because it died: {OOM}"], True),
        ([OOM, "a bug"], False),
    ],
)
def test_a_trial_whose_process_ray_ends_for_lack_of_memory_ends_the_experiment_and_fails_by_nothing_of_its_own(
    failures, ends, tmp_path
):
    text = "".join(f"Failure # {number} (occurred at noon)\n{failure}\n" for number, failure in enumerate(failures, 1))
    (tmp_path / "error.txt").write_text(text)
    trial = SimpleNamespace(error_file=tmp_path / "error.txt")
    for hook in (ErrorText().on_trial_recover, ErrorText().on_trial_error):
        with pytest.raises(RuntimeError, match="memory is nearly full") if ends else contextlib.nullcontext():
            hook(iteration=1, trials=[], trial=trial)


@pytest.mark.slow
def test_a_callback_of_ones_own_hears_of_every_iteration_and_must_be_typed_again_to_resume(ray_cluster, folder):
    flags = ("--callback", "heard_of:Rows", "--callback", "heard_of:Broken")
    said = done("train.py", *SMALL, "--iterations", "3", "--name", "first", *flags)
    assert f"--extend results/first --iterations 6 --address auto {' '.join(flags)}\n" in said
    assert [json.loads(row) for row in (folder / "heard").read_text().splitlines()] == [["00000", n] for n in (1, 2, 3)]
    done("train.py", "pg", "--extend", "first", "--iterations", "4")
    done("train.py", "pg", "--extend", "first", "--iterations", "5", "--callback", "heard_of:Rows")
    assert [json.loads(row)[1] for row in (folder / "heard").read_text().splitlines()] == [1, 2, 3, 5]


@pytest.mark.slow
def test_mlflow_has_settings_and_rows_in_its_file_store(ray_cluster, folder, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    done("train.py", *SMALL, "--iterations", "2", "--name", "first", "--callback", "heard_of:mlflow")
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"file:{folder}/mlruns")
    (trial,) = client.search_runs([client.get_experiment_by_name("pong").experiment_id])
    assert trial.data.params["hidden_size"] == "8"
    row = json.loads((folder / "results/first/00000/result.json").read_text().splitlines()[-1])
    assert trial.data.metrics["timesteps_total"] == row["timesteps_total"]


@pytest.mark.slow
def test_a_checkpoint_is_deleted_only_once_the_newer_one_and_its_rows_are_on_disk(ray_cluster, tmp_path, monkeypatch):
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


@pytest.mark.parametrize(
    ("free", "signal", "said"),
    [([RESERVE_BYTES - 1, 0, RESERVE_BYTES], None, ["is nearly full", "There is room again"]), ([], 15, [])],
)
def test_an_experiment_waits_while_the_disk_is_nearly_full_until_there_is_room_or_a_signal(
    free, signal, said, tmp_path, monkeypatch, capsys
):
    usage, looks = shutil.disk_usage("/"), [*free]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=looks.pop(0)))
    monkeypatch.setattr(callbacks.time, "sleep", lambda seconds: None)
    signals = StopSignals()
    signals.received = signal
    DiskGuard(tmp_path, signals).on_step_begin(iteration=1, trials=[])
    assert looks == []
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(said)
    assert all(text in line for text, line in zip(said, lines, strict=True))


def test_an_experiment_waits_while_the_disk_has_room_for_too_few_files(tmp_path, monkeypatch, capsys):
    disk, free = os.statvfs(tmp_path), [0, RESERVE_FILES]
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_files=disk.f_files or 1, f_favail=free.pop(0)))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=RESERVE_BYTES, free=RESERVE_BYTES))
    monkeypatch.setattr(callbacks.time, "sleep", lambda seconds: None)
    DiskGuard(tmp_path, StopSignals()).on_step_begin(iteration=1, trials=[])
    assert free == []
    assert "room for 0 files" in capsys.readouterr().err


def test_a_file_system_that_does_not_say_what_is_free_counts_as_one_with_room(tmp_path, monkeypatch):
    """As that of a FUSE program which has no answer of its own."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=0, free=0))
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_files=0, f_favail=0))
    monkeypatch.setattr(callbacks.time, "sleep", lambda seconds: pytest.fail("it waits"))
    require_room(RunFlags(storage_path=str(tmp_path)), need=10**9)
    DiskGuard(tmp_path, StopSignals()).on_step_begin(iteration=1, trials=[])
