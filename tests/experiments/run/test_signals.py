"""SIGINT and SIGTERM end a program in good order, and what runs or was killed is in TensorBoard."""

import os
import signal
import threading

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from experiments.run.stop_signals import StopSignals
from tests.helpers.programs import SWEEPS, TRAIN, begin
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
def test_a_stopped_program_saves_says_how_to_go_on_and_goes_on(tmp_path):
    experiment = tmp_path / "results" / "stopped"
    process = begin(TRAIN, "trpo", *ENDLESS, "--name", "stopped", cwd=tmp_path)
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

    process = begin(TRAIN, "trpo", "--resume", "stopped", cwd=tmp_path)
    wait_for_rows(experiment, newest + 3, process, tmp_path)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)  # now for good
    assert process.wait(60) == 143
    assert iterations(trial) == list(range(1, len(iterations(trial)) + 1))


@pytest.mark.slow
def test_a_signal_to_ray_as_well_as_a_batch_system_sends_it_ends_the_program_at_once(tmp_path):
    experiment = tmp_path / "results" / "stopped"
    process = begin(TRAIN, "trpo", *ENDLESS, "--name", "stopped", cwd=tmp_path)
    wait_for_rows(experiment, 3, process, tmp_path)
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(30) == 128 + signal.SIGTERM
    log = (tmp_path / "log").read_text()
    assert "Ray was ended, too: nothing more can be saved." in log
    assert log.endswith("train.py trpo --resume results/stopped\n")
    (trial,) = trial_folders(experiment)
    newest, _ = last_arrays(trial)
    process = begin(TRAIN, "trpo", "--resume", "stopped", cwd=tmp_path)
    wait_for_rows(experiment, newest + 3, process, tmp_path)
    process.kill()
    process.wait()
    assert iterations(trial) == list(range(1, len(iterations(trial)) + 1))


@pytest.mark.slow
def test_tensorboard_shows_a_running_and_a_killed_sweep_too(tmp_path):
    flags = ["--scheduler", "fifo", "--num-samples", 2, "--iterations", 500, "--num-workers", 1, "--set=eval_games=2"]
    flags += ["--set=slots=2", "--set=segment_length=1500", "--set=updates_per_iteration=1", "--set=hidden_size=10"]
    process = begin(SWEEPS["pg"], *flags, "--name", "live", cwd=tmp_path)
    live = tmp_path / "results" / "live"
    try:
        wait_for_rows(live, 1, process, tmp_path)
        wait_until(
            lambda: len(trial_folders(live)) == 2 and all(map(has_pictures, trial_folders(live))),
            "no pictures",
            seconds=120,
        )
        for trial in trial_folders(live):
            assert_tensorboard_shows(trial)
        assert process.poll() is None, "it still runs"
    finally:
        process.kill()
        process.wait()
    for trial in trial_folders(live):
        assert_tensorboard_shows(trial)


def has_pictures(trial):
    return {"eval/game", "policy/neurons"} == {*EventAccumulator(str(trial)).Reload().Tags()["images"]}


@pytest.fixture
def signals():
    """Released after the test, which also ends its watch for Ray; then the handlers of before are put back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signals = StopSignals()
    yield signals
    signals.release()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_between_a_sweep_and_its_confirmation_ends_the_program(number, status, capsys, signals):
    signals.setup()
    signals.release()
    with pytest.raises(SystemExit) as stop:
        os.kill(os.getpid(), number)
    assert stop.value.code == status
    assert "saving" not in capsys.readouterr().err
    assert not signals.received


def test_a_signal_to_an_experiment_that_runs_is_kept_for_its_end(capsys, signals):
    told = []
    signal.signal(signal.SIGINT, lambda number, frame: told.append(number))  # as Tune does
    signals.setup()
    os.kill(os.getpid(), signal.SIGTERM)
    assert (signals.status, told) == (143, []), "trials save first"
    signals.end_experiment()
    assert told == [signal.SIGINT]
    assert "SIGTERM: saving" in capsys.readouterr().err


def test_the_watch_for_ray_ends_with_its_experiment(signals):
    before = {*threading.enumerate()}
    signal.signal(signal.SIGINT, lambda number, frame: None)
    signals.setup()
    os.kill(os.getpid(), signal.SIGTERM)
    (watch,) = {*threading.enumerate()} - before
    signals.release()
    watch.join(10)
    assert not watch.is_alive()
