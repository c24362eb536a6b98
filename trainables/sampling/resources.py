"""Resource arithmetic: how many workers of a size some CPUs hold."""


def workers_that_fit(cpus: float, cpus_per_worker: float) -> int:
    """How many workers of ``cpus_per_worker`` CPUs each fit on one node (or into one bundle) with ``cpus`` CPUs.

    No worker can be on two nodes, so whole ones count. The small addend makes 0.3 / 0.1, a little less than 3 in
    floating point, three workers.
    """
    return int(cpus / cpus_per_worker + 1e-6)
