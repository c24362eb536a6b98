"""How many cores a program plans for and starts on: the fewest that anything around it allows."""

import os

import pytest

from experiments.plan.resources import BATCH_SYSTEMS, core_limits, fewer_cores, local_cpus

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


def test_what_a_batch_system_gives_a_task_counts_and_the_plan_says_so(no_batch_system, monkeypatch):
    assert fewer_cores() == [] or QUOTA in fewer_cores()[0]
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {*range(8)})
    for text, cores in (("1", 1), ("6", 6), ("64", 8), ("", 8), ("1(x2)", 8)):
        monkeypatch.setenv("SLURM_CPUS_PER_TASK", text)
        assert min(local_cpus(), 8) == min(cores, core_limits().get(QUOTA, 8))
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")
    assert fewer_cores() == ["Of 8 cores SLURM_CPUS_PER_TASK leaves 1."]
