"""Programs as users run them on a cluster of real Ray nodes on one machine, which come and go meanwhile."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter

import pytest
from ray._private.internal_api import node_stats

from tests.helpers.programs import SWEEPS, TRAIN, command, run
from tests.helpers.small_experiments import last_arrays, rows, trial_folders
from tests.helpers.surroundings import SMALL, cpus, players, processes
from tests.helpers.trials import assert_same, untimed, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.ray]


TRAINING = ["pg", "--iterations", 4, "--hidden-size", 10, "--seed", 3, "--eval-interval", 0]
TRAINING += ["--checkpoint-frequency", 1, "--slots", 6, "--segment-length", 1000, "--updates-per-iteration", 1]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A training run on this machine alone."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run(TRAIN, *TRAINING, "--num-workers", 2, "--cpus-per-worker", 0.5, "--name", "t", cwd=folder)
    (trial,) = trial_folders(folder / "results" / "t")
    return trial


def test_two_drivers_on_three_nodes_get_what_one_machine_gets(cluster, undisturbed, start, tmp_path):
    flags = [*TRAINING, "--num-workers", 3, "--placement", "spread", "--address", cluster.address]
    programs = [start(TRAIN, *flags, "--name", name, log=name) for name in "ab"]
    assert [program.wait(timeout=200) for program in programs] == [0, 0], (tmp_path / "a").read_text()
    for name in "ab":
        (trial,) = trial_folders(tmp_path / "results" / name)
        assert_same(last_arrays(trial)[1], last_arrays(undisturbed)[1])
        for row in rows(trial):
            assert 0 < row["perf/bytes_between_nodes"] < row["perf/bytes_received"]
    for row in rows(undisturbed):
        assert row["perf/bytes_between_nodes"] == 0
    wait_until(lambda: cpus(cluster) == 6, "CPUs are still held", seconds=60)


def refused(program, *flags, cwd, **options):
    """What a program says as it ends with status 2: one line, before anything started."""
    done = subprocess.run(command(program, *flags), cwd=cwd, capture_output=True, text=True, timeout=90, **options)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_the_dry_run_plans_against_the_nodes_that_live(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)  # where "auto" looks first
    flags = ["--dry-run", "--address", "auto"]
    node = cluster.add_node(num_cpus=8)
    cluster.remove_node(node, allow_graceful=False)  # Ray believes in it for a while
    plan = run(SWEEPS["pg"], *flags, cwd=tmp_path)
    assert "on 6 CPUs of 4 nodes" in plan
    assert "num_workers 8 left out" in plan
    complaint = refused(SWEEPS["pg"], *flags, "--num-workers", 2, "--set", "cpus_per_worker=3", cwd=tmp_path)
    assert "for 0 workers of 3" in complaint
    assert not (tmp_path / "results").exists()


LOOK = """
import json, ray
from experiments.run.ray_session import start_ray

def files():
    import experiments, search_spaces, trainables
    from pathlib import Path
    roots = [Path(module.__path__[0]) for module in (experiments, search_spaces, trainables)]
    paths = [path for root in roots for path in root.rglob("*") if path.is_file()]
    return [str(path) for path in paths if "__pycache__" not in path.parts]

start_ray({!r}, False)
print(json.dumps(ray.get(ray.remote(files).remote())))
"""


def test_the_nodes_share_the_drivers_code_and_nothing_else(cluster, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "look.py").write_text(LOOK.format(cluster.address), encoding="utf-8")
    for name in ("numpy", "trainables"):
        (tmp_path / "here" / f"{name}.py").write_text("raise SystemExit('of the present folder')", encoding="utf-8")
    look = command(tmp_path / "look.py")
    done = subprocess.run(look, cwd=tmp_path / "here", capture_output=True, text=True, timeout=60, check=True)
    files = json.loads(done.stdout.splitlines()[0])
    assert len(files) > 40
    for file in files:
        assert "py_modules_files" in file
        assert file.endswith(".py")


PLAY = """
import numpy as np
from experiments.run.ray_session import start_ray
from trainables.sampling.pool import RolloutPool
from trainables.sampling.rollout import GameNumber

def look(worker, weights, block):
    return weights[:1]

start_ray({!r}, False)
pool = RolloutPool(object, 6)
for iteration in range(5):
    weights = np.full(500_000, iteration, float)  # 4 MB
    list(pool.play(weights, [GameNumber(0, iteration, game) for game in range(24)], how=look))
pool.close()
"""


def bytes_stored(cluster):
    """How many bytes of objects each node has stored so far, by what its raylet answers."""
    stored = {}
    for node in cluster.worker_nodes:
        stats = node_stats(node.node_ip_address, node.node_manager_port, include_memory_info=False)
        stored[node.node_id] = stats.store_stats.cumulative_created_bytes
    return Counter(stored)


def test_weights_travel_to_each_node_once_however_many_workers_and_games_it_has(cluster, tmp_path):
    before = bytes_stored(cluster)
    play = [sys.executable, "-c", PLAY.format(cluster.address)]
    subprocess.run(play, cwd=tmp_path, capture_output=True, timeout=60, check=True)
    stored = bytes_stored(cluster) - before
    copies = {node: count // 4_000_000 for node, count in stored.items()}
    assert copies == {node.node_id: 5 for node in cluster.worker_nodes}


def test_a_folder_that_the_nodes_do_not_share_is_refused(cluster, tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)  # under this path only the program's own process finds the folder
    flags = ["--address", cluster.address, "--storage-path", f"/proc/self/fd/{descriptor}", "--smoke-test"]
    complaint = refused(SWEEPS["pg"], *flags, cwd=tmp_path, pass_fds=[descriptor])
    os.close(descriptor)
    assert "has not the same folder there" in complaint
    assert "on a cluster of 4 nodes accepted is a folder that all of them share" in complaint
    assert not [*tmp_path.iterdir()]


def test_a_node_with_other_versions_is_refused(cluster, tmp_path):
    metadata = tmp_path / "gymnasium-0.1.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: gymnasium\nVersion: 0.1\n")
    node = cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": str(tmp_path)})
    try:
        complaint = refused(SWEEPS["pg"], "--address", cluster.address, "--smoke-test", cwd=tmp_path)
    finally:
        cluster.remove_node(node)
    assert "has other versions than this machine: gymnasium 0.1 for" in complaint


def test_a_waiting_trial_uses_a_node_that_is_added(cluster, start, tmp_path):
    flags = ["--num-samples", 4, "--iterations", 1000, "--scheduler", "fifo", "--set", "hidden_size=10", *SMALL]
    program = start(SWEEPS["pg"], *flags, "--num-workers", 2, "--address", cluster.address, "--name", "s")
    folder = tmp_path / "results" / "s"
    wait_until(lambda: len([*folder.glob("*/result.json")]) == 3, "three trials have room", seconds=90)
    node = cluster.add_node(num_cpus=2)
    try:
        wait_until(lambda: node in players(cluster), "nobody uses it", seconds=90)
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=90) == 130, (tmp_path / "log").read_text()
    finally:
        cluster.remove_node(node)
    assert len(trial_folders(folder)) == 4


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
    assert program.poll() is None, (tmp_path / "log").read_text()
    (trial,) = trial_folders(folder)
    (learner,) = processes(cluster, "PongPG").values()

    def all_play():
        found = players(cluster)
        return found if len(found) == workers else []

    playing = wait_until(all_play, "workers are not playing")
    assert Counter(playing) == dict.fromkeys(cluster.worker_nodes, workers // 3), "spread"
    dead = learner if victim == "learner" else next(node for node in playing if node != learner)
    cluster.remove_node(dead, allow_graceful=False)
    try:
        assert program.wait(timeout=150) == 0, (tmp_path / "log").read_text()
    finally:
        cluster.add_node(num_cpus=2)
    assert_same(last_arrays(trial)[1], last_arrays(undisturbed)[1])
    assert [untimed(row) for row in rows(trial)] == [untimed(row) for row in rows(undisturbed)]
    restarts = sum(row["perf/worker_restarts"] for row in rows(trial))
    assert restarts == (workers // 3 if victim == "worker" else 0)
    assert len({row["pid"] for row in rows(trial)}) == (1 if victim == "worker" else 2)
    wait_until(lambda: cpus(cluster) == 6, "CPUs are still held", seconds=60)
