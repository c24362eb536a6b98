"""The Ray that a program runs on: started here, or a cluster that runs already."""

import logging
import warnings

import ray

from experiments.ask.flags import RunFlags
from experiments.plan.resources import ClusterResources, local_cpus
from experiments.run.cluster import attach


def resources_for(run: RunFlags) -> ClusterResources:
    """What a new experiment can run on. A cluster is attached to; on this machine alone, nothing is started yet."""
    return start_ray(run.address, run.verbose) if run.address else ClusterResources.here()


def start_ray(address: str | None, verbose: bool) -> ClusterResources:
    """Start Ray here, or attach to a running cluster; return its nodes.

    Starts nothing if this program has a Ray already. Raises ConfigError as ``attach`` does.
    """
    if not ray.is_initialized():
        if not verbose:
            warnings.filterwarnings("ignore", module="ray")
            logging.getLogger("ray.tune").setLevel(logging.ERROR)
        quiet = {"log_to_driver": verbose, "logging_level": logging.INFO if verbose else logging.ERROR}
        if address is None:
            # Without "local" Ray would join a cluster that runs on this machine.
            ray.init(address="local", num_cpus=local_cpus(), include_dashboard=False, **quiet)  # type: ignore[arg-type]
        else:
            attach(address, **quiet)
    return ClusterResources(tuple(node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]))
