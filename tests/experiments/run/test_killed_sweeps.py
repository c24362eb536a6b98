"""A sweep that is killed at any moment ends as if it had never been, whoever decides which trials go on."""

import json
import time
import uuid

import numpy as np
import pytest

from experiments.disk.decisions import read_decisions
from tests.helpers.programs import SWEEPS, begin, marked, run
from tests.helpers.small_experiments import iterations, newest_arrays, rows, trial_folders
from tests.helpers.trials import assert_same, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.ray]

CARTPOLE = ["--preset", "cartpole"]
PONG = ["--set=hidden_size=10", "--set=slots=2", "--set=updates_per_iteration=2", "--set=eval_interval=0"]
PONG += ["--num-workers", 1]
SWEPT = {
    "halving": ("trpo", [*CARTPOLE, "--num-workers", 1, "--num-samples", 3, "--seeds", 2, "--iterations", 13]),
    "fifo": ("pg", [*PONG, "--num-samples", 2, "--iterations", 8, "--set=segment_length=1500"]),
}


def made_so_far(folder, in_rows):
    """Rows, or decisions."""
    if not folder.exists():
        return 0
    if in_rows:
        return sum(path.read_text().count("\n") for path in folder.glob("*/result.json"))
    return len(read_decisions(folder))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("scheduler", SWEPT)
def test_a_sweep_killed_twice_ends_with_the_same_decisions_and_weights_bit_for_bit(scheduler, tmp_path):
    learner, flags = SWEPT[scheduler]
    sweep, rng, mark = SWEEPS[learner], np.random.default_rng(0), uuid.uuid4().hex
    flags = ["--scheduler", scheduler, "--checkpoint-frequency", 2, *flags]
    run(sweep, *flags, "--name", "undisturbed", cwd=tmp_path, timeout=600)
    killed, undisturbed = tmp_path / "results" / "killed", tmp_path / "results" / "undisturbed"
    for attempt in range(2):
        way = ["--resume", "killed"] if attempt else [*flags, "--name", "killed"]
        in_rows = scheduler == "fifo" or not attempt
        before = made_so_far(killed, in_rows)
        process = begin(sweep, *way, cwd=tmp_path, mark=mark)
        deadline = time.monotonic() + 400
        while process.poll() is None and made_so_far(killed, in_rows) == before:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.02 if attempt == 1 else 4))  # as trials stop, start, play or save
        process.kill()
        process.wait()
        wait_until(lambda: not marked(mark), "processes outlive their program")
    run(sweep, "--resume", "killed", cwd=tmp_path, timeout=600)

    assert read_decisions(killed) == read_decisions(undisturbed)
    assert bool(read_decisions(killed)) == (scheduler == "halving")
    planned = json.loads((killed / "experiment.json").read_text())["configs"]
    for config, left, right in zip(planned, trial_folders(killed), trial_folders(undisturbed), strict=True):
        assert left.name == right.name
        assert_same(newest_arrays(left), newest_arrays(right))
        assert iterations(left) == [*range(1, len(iterations(left)) + 1)]
        settings = json.loads((left / "params.json").read_text())
        assert settings == json.loads((right / "params.json").read_text())
        assert {name: settings[name] for name in config} == config
        for metric in ("training_iteration", "timesteps_total", "episode_score"):
            assert [row[metric] for row in rows(left)] == [row[metric] for row in rows(right)]
