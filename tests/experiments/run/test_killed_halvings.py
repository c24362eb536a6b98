"""Successive halving that is killed at any moment ends as if it had never been."""

import time
import uuid

import numpy as np
import pytest

from experiments.record.decisions import read_decisions
from tests.helpers.programs import SWEEPS, begin, marked, run
from tests.helpers.small_experiments import same, trial_folders
from tests.helpers.trials import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.ray]

CARTPOLE = ["--preset", "cartpole"]
SWEPT = {
    "cartpole": ("trpo", [*CARTPOLE, "--num-samples", 9, "--iterations", 13]),
    "seeds": ("trpo", [*CARTPOLE, "--num-samples", 3, "--seeds", 2, "--iterations", 13]),
    "pong": ("pg", ["--set=hidden_size=10", "--set=slots=2", "--num-samples", 3, "--iterations", 8, "--seed", 2]),
}


def decided(folder, process, decisions):
    """Wait until a program has one more decision, or has ended."""
    wait_until(lambda: process.poll() is not None or len(read_decisions(folder)) > decisions, "nothing", seconds=400)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("swept", SWEPT)
def test_a_sweep_killed_three_times_has_the_same_winner_and_weights_bit_for_bit(swept, tmp_path):
    learner, flags = SWEPT[swept]
    sweep, rng, mark = SWEEPS[learner], np.random.default_rng(0), uuid.uuid4().hex
    flags = ["--checkpoint-frequency", 2, "--set=num_workers=1", *flags]
    run(sweep, *flags, "--name", "undisturbed", cwd=tmp_path, timeout=600)
    killed, undisturbed = tmp_path / "results" / "killed", tmp_path / "results" / "undisturbed"
    for attempt in range(3):
        way = ["--resume", "killed"] if attempt else [*flags, "--name", "killed"]
        process = begin(sweep, *way, cwd=tmp_path, mark=mark)
        if attempt:
            decided(killed, process, attempt - 1)
        else:
            wait_until(lambda: trial_folders(killed) if killed.exists() else (), "no trial")
        time.sleep(rng.uniform(0, 0.02 if attempt == 1 else 4))  # as trials are stopped, start, play or save
        process.kill()
        process.wait()
        wait_until(lambda: not marked(mark), "processes outlive their program")
    run(sweep, "--resume", "killed", cwd=tmp_path, timeout=600)
    assert len(read_decisions(killed)) == len(read_decisions(undisturbed)) > 0
    same(killed, undisturbed)
