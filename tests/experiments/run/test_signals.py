"""Programs that are stopped: by SIGINT and SIGTERM in good order, by SIGKILL at any moment."""

import os
import signal
import time
import uuid

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.helpers.programs import SWEEPS, TRAIN, begin, marked, run
from tests.helpers.small_experiments import assert_tensorboard_shows, iterations, last_arrays, trial_folders
from tests.helpers.trials import assert_same, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.ray]

ENDLESS = ["--preset", "cartpole", "--timesteps-per-batch", 300]
ENDLESS += ["--hidden-sizes", 8, "--iterations", 100_000, "--num-workers", 1, "--checkpoint-frequency", 1]


def rows_in(experiment):
    return sum(path.read_text().count("\n") for path in experiment.glob("*/result.json"))


def wait_for_rows(experiment, count, process, cwd):
    def enough():
        assert process.poll() is None, (cwd / "log").read_text()
        return rows_in(experiment) >= count

    wait_until(enough, "no results", seconds=120)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_program_saves_says_how_to_go_on_and_goes_on(number, status, tmp_path):
    experiment = tmp_path / "results" / "stopped"
    process = begin(TRAIN, "trpo", *ENDLESS, "--name", "stopped", cwd=tmp_path)
    wait_for_rows(experiment, 3, process, tmp_path)
    process.send_signal(number)
    assert process.wait(60) == status
    log = (tmp_path / "log").read_text()
    assert f"{number.name}: saving. Once more, and it ends at once." in log
    assert "train.py trpo --resume results/stopped" in log
    assert "Traceback" not in log
    (trial,) = trial_folders(experiment)
    newest, _ = last_arrays(trial)
    assert newest in (len(iterations(trial)), len(iterations(trial)) - 1), "a checkpoint each iteration was asked for"

    process = begin(TRAIN, "trpo", "--resume", "stopped", cwd=tmp_path)
    wait_for_rows(experiment, newest + 3, process, tmp_path)
    process.send_signal(number)
    process.send_signal(number)  # now for good
    assert process.wait(60) == status
    assert iterations(trial) == list(range(1, len(iterations(trial)) + 1))


def test_a_signal_to_ray_as_well_as_a_batch_system_sends_it_ended_the_program_after_a_minute_with_status_1(tmp_path):
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


SEGMENTS = ["--set=slots=2", "--set=segment_length=1500", "--set=updates_per_iteration=1"]
SMALL = {
    "pg": [*SEGMENTS, "--set", "hidden_size=10"],
    "trpo": [*SEGMENTS, "--set", "hidden_sizes=10-10"],
}


@pytest.mark.parametrize("learner", SMALL)
def test_a_sweep_killed_three_times_ends_with_the_same_theta_bit_for_bit(learner, tmp_path):
    sweep, rng, mark = SWEEPS[learner], np.random.default_rng(0), uuid.uuid4().hex
    flags = ["--scheduler", "fifo", "--num-samples", 2, "--iterations", 8, "--checkpoint-frequency", 2]
    flags += ["--num-workers", 1, *SMALL[learner]]
    run(sweep, *flags, "--name", "undisturbed", cwd=tmp_path)
    killed = tmp_path / "results" / "killed"
    for attempt in range(3):
        way = ["--resume", "killed"] if attempt else [*flags, "--name", "killed"]
        process = begin(sweep, *way, cwd=tmp_path, mark=mark)
        wait_for_rows(killed, 4 * attempt + int(rng.integers(2, 5)), process, tmp_path)
        time.sleep(rng.uniform(0, 0.5))  # anywhere in an iteration, a save or a start
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        wait_until(lambda: not marked(mark), "processes outlive their program")
    assert rows_in(killed) < 16, "it was not done yet"

    run(sweep, "--resume", "killed", cwd=tmp_path)
    for left, right in zip(trial_folders(killed), trial_folders(tmp_path / "results" / "undisturbed"), strict=True):
        assert iterations(left) == iterations(right) == list(range(1, 9))
        assert_same(last_arrays(left)[1], last_arrays(right)[1])


PICTURES = {"pg": {"eval/game", "policy/neurons"}, "trpo": {"eval/game"}}


@pytest.mark.parametrize("learner", SWEEPS)
def test_tensorboard_shows_a_running_and_a_killed_sweep_too(learner, tmp_path):
    flags = ["--scheduler", "fifo", "--num-samples", 2, "--iterations", 500, "--num-workers", 1, *SMALL[learner]]
    process = begin(SWEEPS[learner], *flags, "--set", "eval_games=2", "--name", "live", cwd=tmp_path)
    live = tmp_path / "results" / "live"
    try:
        wait_for_rows(live, 1, process, tmp_path)
        wait_until(
            lambda: len(trial_folders(live)) == 2 and all(map(has_pictures(learner), trial_folders(live))),
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


def has_pictures(learner):
    return lambda trial: set(EventAccumulator(str(trial)).Reload().Tags()["images"]) == PICTURES[learner]
