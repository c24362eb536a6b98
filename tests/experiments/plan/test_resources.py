"""How many cores a program plans for and starts on: the fewest that anything around it allows."""

import os

import pytest

from experiments.plan import resources
from experiments.plan.resources import BATCH_SYSTEMS, core_limits, fewer_cores, local_cpus
from tests.helpers.programs import refused

QUOTA = "the quota of its cgroup"


@pytest.fixture
def no_batch_system(monkeypatch):
    for name in BATCH_SYSTEMS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "100000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "250000 100000\n"}, 2),
        ({"proc/self/cgroup": "0::/of/the/host\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n"}, None),
        (
            {
                "proc/self/cgroup": "5:cpuset:/x\n4:cpu,cpuacct:/docker/1\n",
                "sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us": "300000\n",
                "sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us": "100000\n",
            },
            3,
        ),
        (
            {
                "proc/self/cgroup": "1:cpu:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        ({}, None),
    ],
    ids=[
        "docker --cpus 1",
        "of a group above",
        "half a core",
        "no limit",
        "first version",
        "no limit there",
        "no cgroups",
    ],
)
def test_a_containers_quota_is_read_from_either_version_of_cgroups(tmp_path, no_batch_system, files, cores):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert core_limits(tmp_path).get(QUOTA) == cores


@pytest.fixture
def eight_cores(no_batch_system, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {*range(8)})
    monkeypatch.setattr(resources, "_quota", lambda root: None)  # of the container in which tests may run


@pytest.mark.parametrize("name", BATCH_SYSTEMS)
def test_what_a_batch_system_gives_a_task_counts_and_the_plan_says_so(eight_cores, monkeypatch, name):
    for text, cores in (("1", 1), ("6", 6), ("64", 8), ("", 8), ("1(x2)", 8)):
        monkeypatch.setenv(name, text)
        assert local_cpus() == cores
    monkeypatch.setenv(name, "1")
    assert fewer_cores() == f"Of 8 cores {name} leaves 1."
    assert refused("train.py", "pg").endswith(f"for less cpus_per_worker. Of 8 cores {name} leaves 1.\n")


def test_cores_on_which_a_process_may_not_run_are_not_planned_for_and_the_plan_says_so(eight_cores, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3})
    assert local_cpus() == 1
    assert fewer_cores() == "Of 8 cores the affinity of this process (taskset, cpuset) leaves 1."
