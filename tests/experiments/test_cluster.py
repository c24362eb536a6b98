"""A cluster of several nodes, on one machine: real Ray nodes with pretended CPUs, and the programs as users run them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ray.cluster_utils import Cluster

from tests.experiments.test_sweep import SWEEPS, TRAIN, command, last_checkpoint, rows, run, trials_of
from tests.trials import assert_same, untimed, wait_until

pytestmark = pytest.mark.slow

SMALL = ["--batch-size", 6, "--num-workers", 3, "--checkpoint-frequency", 1]


@pytest.fixture(scope="module")
def cluster():
    """A head without CPUs, as on Kubernetes, and three nodes of two CPUs each."""
    with pytest.MonkeyPatch.context() as patch:
        if Path("~/.ray/auth_token").expanduser().is_file():
            patch.setenv("RAY_AUTH_MODE", "token")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        for _ in range(3):
            cluster.add_node(num_cpus=2)
        yield cluster
        cluster.shutdown()


@pytest.fixture
def start(tmp_path):
    """Starts a program in the background."""
    programs = []

    def begin(program, *flags):
        with (tmp_path / f"log{len(programs)}").open("w") as log:
            programs.append(subprocess.Popen(command(program, *flags), cwd=tmp_path, stdout=log, stderr=log))
        return programs[-1]

    yield begin
    for program in programs:
        program.kill()
        program.wait()


def cpus(cluster):
    """CPUs of the whole cluster that nobody holds, as a program that attaches sees them."""
    code = (
        "import experiments, ray; ray.init(address=%r, log_to_driver=False, logging_level='ERROR');"
        "print(ray.available_resources().get('CPU', 0))"
    )
    done = subprocess.run([sys.executable, "-c", code % cluster.address], capture_output=True, text=True, timeout=60)
    return float(done.stdout)


def node_of(cluster, pid):
    """The node whose raylet is a process's parent."""
    parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return next(node for node in cluster.worker_nodes if node.all_processes["raylet"][0].process.pid == parent)


def rollout_actors():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if path.read_bytes().startswith(b"ray::_RolloutActor.play"):
            yield int(path.parent.name)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A sweep of two trials on this machine alone."""
    folder = tmp_path_factory.mktemp("alone")
    flags = ["--num-samples", 2, "--iterations", 3, "--scheduler", "fifo", "--set", "hidden_size=10", *SMALL]
    run(SWEEPS["pg"], *flags, "--set", "cpus_per_worker=0.5", "--name", "s", cwd=folder)
    return folder / "results" / "s"


def test_two_drivers_on_three_nodes_get_what_one_machine_gets(cluster, alone, start, tmp_path):
    flags = ["--num-samples", 2, "--iterations", 3, "--scheduler", "fifo", "--set", "hidden_size=10", *SMALL]
    flags += ["--set", "placement=spread", "--address", cluster.address]
    programs = [start(SWEEPS["pg"], *flags, "--name", name) for name in "ab"]
    assert [program.wait(timeout=200) for program in programs] == [0, 0], (tmp_path / "log0").read_text()
    for name in "ab":
        for trial, expected in zip(trials_of(tmp_path / "results" / name), trials_of(alone), strict=True):
            assert_same(last_checkpoint(trial)[1], last_checkpoint(expected)[1])
            for row in rows(trial):
                assert 0 < row["perf/bytes_between_nodes"] < row["perf/bytes_received"]
            assert all(row["perf/bytes_between_nodes"] == 0 for row in rows(expected))
    wait_until(lambda: cpus(cluster) == 6, "CPUs are still held")
