"""The Ray that a program runs on: started here, or a cluster that runs already."""

import logging
import os
import secrets
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import ray
from ray import cloudpickle

from experiments.ask.flags import RunFlags
from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources, local_cpus
from experiments.run.cluster import attach
from experiments.run.ray_internals import on_loopback, require_internals
from trainables.checks import ConfigError


def resources_for(run: RunFlags) -> ClusterResources:
    """What a new experiment can run on. A cluster is attached to; on this machine alone, nothing is started yet."""
    return start_ray(run.address, run.verbose) if run.address else ClusterResources.here()


def start_ray(address: str | None, verbose: bool) -> ClusterResources:
    """Start Ray here, or attach to a running cluster; return its nodes.

    Starts nothing if this program has a Ray already. Raises ConfigError as ``attach`` and ``start_local`` do, and if
    the installed Ray lacks what this program uses of it.
    """
    if not ray.is_initialized():
        require_internals()
        if not verbose:
            warnings.filterwarnings("ignore", module="ray")
            logging.getLogger("ray.tune").setLevel(logging.ERROR)
        quiet = {"log_to_driver": verbose, "logging_level": logging.INFO if verbose else logging.ERROR}
        if address is None:
            start_local(local_cpus(), **quiet)
        else:
            attach(address, **quiet)
    return cluster_resources()


def cluster_resources() -> ClusterResources:
    """The nodes of the Ray that this program has, as they are now."""
    return ClusterResources(tuple(node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]))


def ship(learner: Learner) -> None:
    """Have Ray send the code of a learner of one's own: what runs anywhere is what was imported here."""
    if learner.module:
        cloudpickle.register_pickle_by_value(sys.modules[learner.module])


def start_local(cpus: int, **options: Any) -> None:
    """Start a Ray of this program's own, which listens on loopback alone; ``options`` are those of ``ray.init``.

    Raises ConfigError if the token that guards it can be neither read nor written.
    """
    _guard_token()
    with on_loopback():
        # Without "local" Ray would join a cluster that runs on this machine.
        ray.init(address="local", num_cpus=cpus, include_dashboard=False, **options)


def _guard_token() -> None:
    """See that the token by which Ray knows its own is there, and that nobody else on this machine can read it.

    Ray would make the file readable for all. It makes none where the environment has a token, names another file or
    asks for a Ray without tokens.
    """
    if {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys() or os.environ.get("RAY_AUTH_MODE") == "disabled":
        return
    token = Path("~/.ray/auth_token").expanduser()
    try:
        if not token.exists():
            token.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=token.parent)  # readable for its owner alone
            try:
                with open(descriptor, "w", encoding="utf-8") as file:
                    file.write(secrets.token_hex(32))
                os.link(name, token)  # whole at once; refused if another program was first
            except FileExistsError:
                pass
            finally:
                os.unlink(name)
        elif token.stat().st_mode & 0o077 and token.stat().st_uid == os.getuid():
            token.chmod(0o600)
    except OSError as error:
        raise ConfigError(
            f"{token}, where Ray keeps the token that guards it, cannot be written: {error.strerror};"
            " a token in the environment (RAY_AUTH_TOKEN) does as well"
        ) from None
