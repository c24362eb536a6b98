"""What a sweep makes of trials that diverge or are killed, and what many trials leave behind."""

import contextlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
import ray

from experiments.benchmarks.account import descendants
from experiments.plan.learners import PG
from tests.helpers.small_experiments import fit, small_spec
from tests.helpers.trials import CARTPOLE, arrays_of, wait_until
from trainables.config import PGConfig
from trainables.trainable import PongTRPO

pytestmark = [pytest.mark.slow, pytest.mark.ray]


def rows(trial):
    text = (Path(trial) / "result.json").read_text()
    assert "NaN" not in text
    assert "Infinity" not in text
    return [json.loads(line) for line in text.splitlines()]


def expected_iterations(trials, rungs, reduction_factor, last):
    """How far ASHA lets each trial go: below the best third of those before it at a rung, it ends there."""
    recorded = {rung: [] for rung in rungs}
    for trial in trials:
        for row in trial:
            iteration, value = row["training_iteration"], row["episode_score"]
            stop = row["diverged"] == 1
            if iteration in recorded:
                before = recorded[iteration]
                stop |= before != [] and bool(value < np.percentile(before, 100 * (1 - 1 / reduction_factor)))
                before.append(value)
            if stop or iteration == last:
                yield iteration
                break


def test_a_trial_that_diverges_ends_and_asha_stops_the_others_as_it_should(ray_cluster, tmp_path):
    settings = {
        "hidden_size": 8,
        "slots": 0,
        "games_per_update": 1,
        "num_workers": 1,
        "cpus_per_worker": 4.0,
        "eval_interval": 0,
    }  # one at a time
    rates = [2e-3, 1e30, *[2e-3] * 5]
    configs = [PGConfig(**settings, learning_rate=rate, seed=seed) for seed, rate in enumerate(rates)]
    spec = small_spec("pg", configs, iterations=4, checkpoint_frequency=1, scheduler="asha", interval=1)
    results = fit(PG, tmp_path, spec)
    assert not results.num_errors
    trials = [rows(results[index].path) for index in range(len(rates))]
    assert [row["diverged"] for row in trials[1]] == [1]
    assert trials[1][0]["episode_score"] == -21
    for trial in [trials[0], *trials[2:]]:
        assert {row["diverged"] for row in trial} == {0}
    iterations = [len(trial) for trial in trials]
    assert iterations == list(expected_iterations(trials, (1, 3), 3, 4))
    assert {1, 4} <= {*iterations[:1], *iterations[2:]}, "some were stopped, some not"
    for array in arrays_of(results[1].checkpoint.path).values():
        assert np.isfinite(array).all()


def held():
    """Open files, threads and resident megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    counts = (len(os.listdir(f"/proc/self/{kind}")) for kind in ("fd", "task"))
    return np.array([*counts, pages * os.sysconf("SC_PAGE_SIZE") / 1e6])


def worker_processes():
    names = []
    for process in descendants(os.getpid()):  # another Ray of this machine may have workers, too
        with contextlib.suppress(OSError):  # it ended meanwhile
            names.append(Path(f"/proc/{process}/cmdline").read_bytes())
    return [name for name in names if name.startswith(b"ray::RolloutActor")]


def test_eight_trials_in_a_row_leave_nothing_behind(ray_cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    after = []
    for _ in range(8):
        trial = PongTRPO(config=CARTPOLE | {"num_workers": 2})
        trial.train()
        trial.save(str(tmp_path / "checkpoint"))
        trial.stop()
        wait_until(lambda: not worker_processes(), "workers outlive their trial")
        wait_until(lambda: ray.available_resources().get("CPU", 0) == 4, "CPUs are still held")
        after.append(held())
    files, threads, _ = after[7] - after[2]
    assert files <= 2
    assert threads <= 2
    megabytes = np.diff(after[2:], axis=0)[:, 2]
    assert np.median(megabytes) < 1, "every trial leaves some: what is taken once may come late"
