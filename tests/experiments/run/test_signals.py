"""SIGINT and SIGTERM end a program in good order; a running sweep is in TensorBoard."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from experiments.ask.signals import SIGNALS
from experiments.benchmarks.account import descendants
from experiments.disk.spec import INTERRUPTED, ExperimentSpec
from experiments.run.stopping import RayWatch, StopSignals
from tests.helpers.programs import ROOT, SWEEPS, TRAIN, command
from tests.helpers.small_experiments import assert_tensorboard_shows, iterations, last_arrays, trial_folders
from tests.helpers.trials import wait_until

ENDLESS = ["--preset", "cartpole", "--timesteps-per-batch", 300]
ENDLESS += ["--hidden-sizes", 8, "--iterations", 100_000, "--num-workers", 1, "--checkpoint-frequency", 1]


def rows_in(experiment):
    return sum(path.read_text().count("\n") for path in experiment.glob("*/result.json"))


def wait_for_rows(experiment, count, process, cwd):
    def enough():
        assert process.poll() is None, (cwd / "log").read_text()
        return rows_in(experiment) >= count

    wait_until(enough, "no results", seconds=120)


@pytest.mark.slow
def test_a_stopped_program_saves_says_how_to_go_on_and_goes_on(start, tmp_path):
    experiment = tmp_path / "results" / "stopped"
    process = start(TRAIN, "trpo", *ENDLESS, "--name", "stopped")
    wait_for_rows(experiment, 3, process, tmp_path)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    log = (tmp_path / "log").read_text()
    assert "SIGINT: saving as iterations end. Once more, and it ends at once." in log
    assert "train.py trpo --resume results/stopped" in log
    assert "Traceback" not in log
    (trial,) = trial_folders(experiment)
    newest, _ = last_arrays(trial)
    assert newest in (len(iterations(trial)), len(iterations(trial)) - 1), "a checkpoint each iteration was asked for"

    process = start(TRAIN, "trpo", "--resume", "stopped")
    wait_for_rows(experiment, newest + 3, process, tmp_path)
    os.killpg(process.pid, signal.SIGHUP)  # to Ray's processes as well; SIGUSR1 is the batch job's
    assert process.wait(60) == 128 + signal.SIGHUP
    assert "SIGHUP: saving" in (tmp_path / "log").read_text()
    assert ExperimentSpec.read(experiment).ended == INTERRUPTED
    assert (tmp_path / "log").read_text().endswith("train.py trpo --resume results/stopped\n")
    assert iterations(trial) == list(range(1, len(iterations(trial)) + 1))


@pytest.mark.slow
def test_a_signal_to_ray_as_well_as_a_batch_system_sends_it_ends_the_program_at_once(start, tmp_path):
    experiment = tmp_path / "results" / "stopped"
    process = start(TRAIN, "trpo", *ENDLESS, "--name", "stopped")
    wait_for_rows(experiment, 3, process, tmp_path)
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(30) == 128 + signal.SIGTERM
    log = (tmp_path / "log").read_text()
    assert "Ray was ended, too: nothing more can be saved." in log
    assert log.endswith("train.py trpo --resume results/stopped\n")


def server(process, name):
    """The process number of a server of the Ray that a program started, and its words; None before it has started."""
    for pid in descendants(process.pid):
        with contextlib.suppress(OSError):  # it ended meanwhile
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if words[0].endswith(f"/{name}"):
                return pid, words
    return None


def lose(process, what):
    """Kill a server of the Ray that a program started, or remove its folder, as a cleaner of /tmp does."""
    pid, words = server(process, "raylet" if what == "folder" else what)
    if what == "folder":
        (socket,) = (word for word in words if word.startswith("--raylet_socket_name="))
        # Ray and Tune write, rename and remove files there meanwhile, which a cleaner passes over.
        shutil.rmtree(Path(socket.partition("=")[2]).parents[1], ignore_errors=True)
    else:
        os.kill(pid, signal.SIGKILL)


def says_how_to_go_on(log, name):
    ours = "\nRay has ended: one of its servers was killed, or its temporary folder was removed.\nResume:  "
    assert log.count(ours) == 1  # Ray's own last lines may stand before it or behind it
    return log.partition(ours)[2].splitlines()[0].endswith(f"--resume results/{name}")


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["raylet", "gcs_server", "folder"])
def test_a_ray_that_has_ended_ends_the_program_in_seconds_with_the_command_that_goes_on(start, lost, tmp_path):
    process = start(TRAIN, "trpo", *ENDLESS, "--name", "lost")
    wait_for_rows(tmp_path / "results" / "lost", 2, process, tmp_path)
    lose(process, lost)
    assert process.wait(45) == 3
    assert says_how_to_go_on((tmp_path / "log").read_text(), "lost")


@pytest.mark.slow
def test_a_sweep_ends_once_rays_folder_was_removed_and_no_trial_has_failed(start, tmp_path):
    words = ["--preset", "cartpole", "--set=timesteps_per_batch=300", "--set=hidden_sizes=8", "--num-samples", 3]
    process = start(SWEEPS["trpo"], *words, "--iterations", 3000, "--num-workers", 1, "--name", "lost")
    wait_for_rows(tmp_path / "results" / "lost", 2, process, tmp_path)
    lose(process, "folder")
    assert process.wait(45) == 3
    assert says_how_to_go_on((tmp_path / "log").read_text(), "lost")
    assert not [*(tmp_path / "results" / "lost").glob("*/error.txt")]


@pytest.mark.slow
def test_a_ray_that_ends_while_the_winner_plays_ends_the_program_too(start, tmp_path):
    flags = ["--preset", "smoke", "--num-workers", 1, "--num-samples", 3, "--timesteps", 6000, "--name", "lost"]
    process = start(SWEEPS["pg"], *flags)
    wait_until(lambda: "The winner plays" in (tmp_path / "log").read_text(), "no winner", seconds=120)
    lose(process, "gcs_server")
    assert process.wait(45) == 3
    assert "sweep_pong.py --resume results/lost\n" in (tmp_path / "log").read_text()


@pytest.mark.slow
def test_a_signal_while_ray_starts_ends_the_program_and_leaves_no_experiment(start, tmp_path):
    process = start(TRAIN, "trpo", *ENDLESS)
    wait_until(lambda: server(process, "gcs_server"), "no Ray", seconds=120)
    process.send_signal(signal.SIGTERM)
    assert process.wait(45) == 143
    assert (tmp_path / "log").read_text().endswith("\nSIGTERM: stopped.\n")
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_an_experiment_whose_output_nobody_reads_any_more_saves_and_says_how_to_go_on(tmp_path):
    words = command(TRAIN, "trpo", *ENDLESS, "--name", "unread")
    (tmp_path / "log").touch()
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for_rows(tmp_path / "results" / "unread", 3, process, tmp_path)
            process.stdout.close()
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
            assert process.wait(60) == 130
        finally:
            process.kill()
    assert said.rstrip().endswith("train.py trpo --resume results/unread")
    assert "Trials did not complete" not in said
    (trial,) = trial_folders(tmp_path / "results" / "unread")
    assert last_arrays(trial)[0] == iterations(trial)[-1]


@pytest.mark.slow
def test_a_batch_job_that_is_stopped_and_run_again_goes_on_by_itself(tmp_path):
    """The script of ``deploy/`` without Slurm: signals come as it sends them, ``scontrol`` writes what it is told."""
    experiment, scontrol = tmp_path / "results" / "job", tmp_path / "scontrol"
    scontrol.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/told\n')
    scontrol.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": sys.executable}
    environment |= {"SLURM_JOB_ID": "7", "SLURM_SUBMIT_DIR": str(ROOT)}
    flags = [*ENDLESS, "--name", "job", "--storage-path", tmp_path / "results"]
    words = ["bash", ROOT / "deploy" / "slurm.sh", "train.py", "trpo", *map(str, flags)]
    seen = 0
    for number, send in ((signal.SIGUSR1, os.kill), (signal.SIGTERM, os.killpg), (signal.SIGUSR1, os.killpg)):
        with (tmp_path / "log").open("w") as log:
            job = subprocess.Popen(words, stdout=log, stderr=log, env=environment, start_new_session=True)
        wait_for_rows(experiment, seen + 3, job, tmp_path)
        send(job.pid, number)
        assert job.wait(100) == 128 + number, (tmp_path / "log").read_text()
        assert ExperimentSpec.read(experiment).ended == INTERRUPTED, "it was saved"
        seen = rows_in(experiment)
    assert (tmp_path / "told").read_text() == "requeue 7\nrequeue 7\n", "after TERM Slurm runs it again by itself"
    (trial,) = trial_folders(experiment)
    assert iterations(trial) == list(range(1, len(iterations(trial)) + 1))


@pytest.fixture
def live(start, tmp_path):
    """A running sweep, and its folder: both trials had their first evaluation."""
    flags = ["--scheduler", "fifo", "--num-samples", 2, "--iterations", 500, "--num-workers", 1, "--set=eval_games=2"]
    flags += ["--set=slots=2", "--set=segment_length=1500", "--set=updates_per_iteration=1", "--set=hidden_size=10"]
    process, live = start(SWEEPS["pg"], *flags, "--name", "live"), tmp_path / "results" / "live"

    def shown():
        return [has_pictures(trial) for trial in trial_folders(live)] == [True, True]

    try:
        wait_for_rows(live, 1, process, tmp_path)
        wait_until(shown, "no pictures", seconds=120)
        yield process, live
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_tensorboard_shows_a_running_and_a_killed_sweep_too(live):
    process, folder = live
    for trial in trial_folders(folder):
        assert_tensorboard_shows(trial)
    assert process.poll() is None, "it still runs"
    process.kill()
    process.wait()
    for trial in trial_folders(folder):
        assert_tensorboard_shows(trial)


def has_pictures(trial):
    return {"film/game", "policy/neurons"} == {*EventAccumulator(str(trial)).Reload().Tags()["images"]}


@pytest.fixture
def signals():
    """Released after the test; then the handlers of before are put back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signals = StopSignals()
    yield signals
    signals.release()
    for number, handler in before.items():
        signal.signal(number, handler)


AFTERWARDS = """
import atexit, os, signal, sys
from experiments.ask.signals import SIGNALS
from experiments.run.stopping import StopSignals
for number, moment in zip(SIGNALS, ["at the end", "before"] * 2):
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup has ignored
    signals = StopSignals("RESUME")
    signals.setup()
    signals.release()
    if moment == "at the end":
        signals.resume = ""
    atexit.register(os.kill, os.getpid(), number)
    if moment == "before":
        os.kill(os.getpid(), number)
        print("went on")
    sys.exit()
"""

GOES_ON = "Resume:  RESUME\n"


def test_a_signal_after_an_experiments_end_or_as_a_program_ends_ends_it_without_a_traceback():
    """A process for each signal, which one forks that has loaded Ray."""
    ended = subprocess.run([sys.executable, "-c", AFTERWARDS], cwd=ROOT, capture_output=True, text=True)
    said = "".join(f"\n{number.name}: stopped.\n{how}" for number, how in zip(SIGNALS, ["", GOES_ON] * 2, strict=True))
    assert ended.stderr == said
    assert ended.stdout.split() == [str(128 + number) for number in SIGNALS]


def test_a_signal_to_an_experiment_that_runs_is_kept_for_its_end(capsys, signals):
    told = []
    signal.signal(signal.SIGINT, lambda number, frame: told.append(number))  # as Tune does
    signals.setup()
    os.kill(os.getpid(), signal.SIGTERM)
    assert (signals.received, told) == (signal.SIGTERM, []), "trials save first"
    signals.end_experiment()
    assert told == [signal.SIGINT]
    assert "SIGTERM: saving" in capsys.readouterr().err


def test_a_second_signal_ends_an_experiment_at_once(capsys, signals, monkeypatch):
    monkeypatch.setattr(os, "_exit", sys.exit)
    signals.keep()
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(SystemExit, match=str(128 + signal.SIGTERM)):
        os.kill(os.getpid(), signal.SIGTERM)
    assert capsys.readouterr().err.count("Stopped at once.") == 1


def test_the_watch_for_ray_ends_with_its_experiment():
    before = {*threading.enumerate()}
    with RayWatch(StopSignals()):
        (watch,) = {*threading.enumerate()} - before
    watch.join(10)
    assert not watch.is_alive()
