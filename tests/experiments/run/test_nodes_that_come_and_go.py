"""Nodes that are added to a cluster or die while trials run there, learners and workers with them."""

import signal
from collections import Counter

import pytest

from tests.helpers.programs import SWEEPS, TRAIN, run
from tests.helpers.small_experiments import last_arrays, rows, trial_folders
from tests.helpers.surroundings import SMALL, cpus, players, processes
from tests.helpers.trials import assert_same, untimed, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.ray]


def test_a_waiting_trial_uses_a_node_that_is_added(cluster, start, tmp_path):
    flags = ["--num-samples", 4, "--iterations", 1000, "--scheduler", "fifo", "--set", "hidden_size=10", *SMALL]
    program = start(SWEEPS["pg"], *flags, "--num-workers", 2, "--address", cluster.address, "--name", "s")
    folder = tmp_path / "results" / "s"
    wait_until(lambda: len([*folder.glob("*/result.json")]) == 3, "three trials have room", seconds=90)
    node = cluster.add_node(num_cpus=2)
    try:
        wait_until(lambda: node in players(cluster), "nobody uses it", seconds=90)
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=90) == 130, (tmp_path / "log0").read_text()
    finally:
        cluster.remove_node(node)
    assert len(trial_folders(folder)) == 4


TRAINING = ["pg", "--iterations", 4, "--hidden-size", 10, "--seed", 3, "--eval-interval", 0]
TRAINING += ["--checkpoint-frequency", 1, "--slots", 6, "--segment-length", 1000, "--updates-per-iteration", 1]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A training run on this machine alone."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run(TRAIN, *TRAINING, "--num-workers", 2, "--cpus-per-worker", 0.5, "--name", "t", cwd=folder)
    (trial,) = trial_folders(folder / "results" / "t")
    return trial


@pytest.mark.parametrize(
    ("victim", "workers"),
    [("worker", 3), ("worker", 6), ("learner", 3)],
    ids=["workers move", "workers find no room", "learner moves"],
)
def test_a_node_that_dies_in_mid_iteration_costs_no_trial_and_changes_no_bit(
    cluster, undisturbed, start, tmp_path, victim, workers
):
    flags = [*TRAINING, "--num-workers", workers, "--placement", "spread"]
    program = start(TRAIN, *flags, "--address", cluster.address, "--name", "t")
    folder = tmp_path / "results" / "t"
    wait_until(lambda: [*folder.glob("*/checkpoint_*/state.json")] or program.poll(), "no first iteration", seconds=90)
    assert program.poll() is None, (tmp_path / "log0").read_text()
    (trial,) = trial_folders(folder)
    (learner,) = processes(cluster, "PongPG").values()
    playing = wait_until(lambda: len(found := players(cluster)) == workers and found, "workers are not playing")
    assert Counter(playing) == dict.fromkeys(cluster.worker_nodes, workers // 3), "spread"
    dead = learner if victim == "learner" else next(node for node in playing if node != learner)
    cluster.remove_node(dead, allow_graceful=False)
    try:
        assert program.wait(timeout=150) == 0, (tmp_path / "log0").read_text()
    finally:
        cluster.add_node(num_cpus=2)
    assert_same(last_arrays(trial)[1], last_arrays(undisturbed)[1])
    assert [untimed(row) for row in rows(trial)] == [untimed(row) for row in rows(undisturbed)]
    restarts = sum(row["perf/worker_restarts"] for row in rows(trial))
    assert restarts == (workers // 3 if victim == "worker" else 0)
    assert len({row["pid"] for row in rows(trial)}) == (1 if victim == "worker" else 2)
    wait_until(lambda: cpus(cluster) == 6, "CPUs are still held", seconds=60)
