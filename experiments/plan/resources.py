"""What trials can run on: the CPUs of every node, since no worker can be on two."""

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trainables.config import Config
from trainables.sampling.process import workers_that_fit
from trainables.surroundings import cgroups, text_of
from trainables.texts import counted


@dataclass(frozen=True)
class ClusterResources:
    """CPUs of each node of a cluster, or of this machine alone."""

    nodes: tuple[float, ...]
    note: str = ""
    """Why this machine's cores are not all there, in a sentence; empty where they are, and for a cluster."""

    @property
    def cpus(self) -> float:
        """CPUs in all."""
        return sum(self.nodes)

    def workers(self, cpus_per_worker: float) -> int:
        """How many workers of this size fit."""
        return sum(workers_that_fit(cpus, cpus_per_worker) for cpus in self.nodes)

    def trials(self, configs: Iterable[Config]) -> int:
        """How many of these trials run at once, small ones first: each needs all its workers at once."""
        free, count = list(self.nodes), 0
        for config in sorted(configs, key=lambda config: config.cpus):
            missing = config.num_workers
            for node in sorted(range(len(free)), key=free.__getitem__):
                taken = min(missing, workers_that_fit(free[node], config.cpus_per_worker))
                free[node] -= taken * config.cpus_per_worker
                missing -= taken
            if missing:
                break
            count += 1
        return count

    def __str__(self) -> str:
        if len(self.nodes) == 1:
            return f"{self.cpus:g} CPU" + "s" * (self.cpus != 1)
        return f"{self.cpus:g} CPUs of {len(self.nodes)} nodes ({', '.join(f'{cpus:g}' for cpus in self.nodes)})"


def local_cpus() -> int:
    """Cores that this process may use: the fewest that any of ``core_limits`` allows."""
    return min(core_limits().values())


BATCH_SYSTEMS = (
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPUS_ON_NODE",
    "PBS_NCPUS",
    "PBS_NUM_PPN",
    "NCPUS",
    "NSLOTS",
    "LSB_DJOB_NUMPROC",
)
"""Variables in which Slurm, PBS, Torque, Grid Engine and LSF say how many cores a job's task, or the job, has here."""

MACHINE = "this machine"
AFFINITY = "the affinity of this process (taskset, cpuset)"


def core_limits(root: Path = Path("/")) -> dict[str, int]:
    """How many cores this process may use, by what says so: the system, a container's quota, and a batch system.

    ``root`` is where the system's files are.
    """
    found = {MACHINE: os.cpu_count() or 1}
    if hasattr(os, "sched_getaffinity"):
        found[AFFINITY] = len(os.sched_getaffinity(0))
    quota = _quota(root)
    if quota:
        found["the quota of its cgroup"] = quota
    for name in BATCH_SYSTEMS:
        text = os.environ.get(name, "")
        if text.isdecimal() and int(text) > 0:
            found[name] = int(text)
    return found


def _quota(root: Path) -> int | None:
    """Whole cores that the cgroup of this process and those above leave it, and 1 at least; None without a limit.

    A process that takes more is halted until the period's end, as under ``docker run --cpus 1``.
    """
    least = min(map(_cores_of, cgroups("cpu", root)), default=math.inf)
    return None if math.isinf(least) else max(1, int(least))


def _cores_of(cgroup: Path) -> float:
    """Cores that one cgroup leaves its processes, its quota by its period (microseconds); infinity without a limit."""
    words = text_of(cgroup / "cpu.max").split()
    if not words:
        words = [*text_of(cgroup / "cpu.cfs_quota_us").split(), *text_of(cgroup / "cpu.cfs_period_us").split()]
    if len(words) != 2 or not words[0].isdecimal():  # "max" and -1 are no limit
        return math.inf
    return int(words[0]) / int(words[1])


def fewer_cores() -> str:
    """Why a plan has fewer cores than the machine, in a sentence; empty where it has all of them."""
    limits = core_limits()
    least = min(limits, key=lambda name: limits[name])
    if least == MACHINE:
        return ""
    return f"Of {counted(limits[MACHINE], 'core')} {least} leaves {limits[least]}."
