"""Population based training that is killed at any moment ends as if it had never been."""

import json
import os
import signal
import time
import uuid

import numpy as np
import pytest

from experiments.record.decisions import read_exchanges
from tests.helpers.programs import SWEEPS, begin, marked, run
from tests.helpers.small_experiments import newest_arrays, rows, trial_folders
from tests.helpers.trials import assert_same, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.ray]

CARTPOLE = ["--preset", "cartpole"]
PONG = [f"--set={setting}" for setting in ("hidden_size=10", "eval_interval=0", "slots=2", "updates_per_iteration=2")]
SWEPT = {
    # settings that vary: workers and batch in both, and in the first the networks' size, of which two are alike
    "four": ("trpo", [*CARTPOLE, "--num-samples", 4, "--iterations", 4], {"hidden_sizes", "timesteps_per_batch"}),
    "two": ("pg", [*PONG, "--num-samples", 2, "--iterations", 4, "--seed", 2], {"segment_length"}),
}


def begun(folder, process, exchanges):
    """Wait until a program has written down so many exchanges."""

    def enough():
        assert process.poll() is None, (folder.parents[1] / "log").read_text()
        return len(read_exchanges(folder)) >= exchanges

    wait_until(enough, "no exchange", seconds=400)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("population", SWEPT)
def test_a_population_killed_three_times_ends_with_the_same_weights_bit_for_bit(population, tmp_path):
    learner, flags, swept = SWEPT[population]
    sweep, rng, mark = SWEEPS[learner], np.random.default_rng(0), uuid.uuid4().hex
    flags = ["--scheduler", "pbt", "--checkpoint-frequency", 2, *flags]
    run(sweep, *flags, "--name", "undisturbed", cwd=tmp_path, timeout=600)
    killed, undisturbed = tmp_path / "results" / "killed", tmp_path / "results" / "undisturbed"
    for attempt in range(3):
        way = ["--resume", "killed"] if attempt else [*flags, "--name", "killed"]
        process = begin(sweep, *way, cwd=tmp_path, mark=mark)
        begun(killed, process, attempt + 1)
        time.sleep(rng.uniform(0, 0.02 if attempt == 1 else 4))  # in a copy, a start, an iteration or a save
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        wait_until(lambda: not marked(mark), "processes outlive their program")
    run(sweep, "--resume", "killed", cwd=tmp_path, timeout=600)

    exchanges = read_exchanges(killed)
    assert exchanges == read_exchanges(undisturbed)
    assert sum(len(exchange.copies) for exchange in exchanges) >= 2
    planned = json.loads((killed / "experiment.json").read_text())["configs"]
    assert all(len({config[name] for config in planned}) > 1 for name in {"num_workers", *swept})
    for config, left, right in zip(planned, trial_folders(killed), trial_folders(undisturbed), strict=True):
        assert_same(newest_arrays(left), newest_arrays(right))
        settings = json.loads((left / "params.json").read_text())
        assert settings == json.loads((right / "params.json").read_text())
        changed = {name for name, value in config.items() if settings[name] != value}
        assert changed <= {"learning_rate", "max_kl", "gamma"}
        for metric in ("training_iteration", "timesteps_total", "episode_reward_mean"):
            assert [row[metric] for row in rows(left)] == [row[metric] for row in rows(right)]
