"""What trials can run on: the CPUs of every node, since no worker can be on two."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from trainables.config import Config
from trainables.sampling.process import workers_that_fit


@dataclass(frozen=True)
class ClusterResources:
    """CPUs of each node of a cluster, or of this machine alone."""

    nodes: tuple[float, ...]

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
        for config in sorted(configs, key=lambda config: config.num_workers * config.cpus_per_worker):
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
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
