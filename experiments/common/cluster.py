"""A running Ray cluster: attach to it with this project's code, and ask its nodes whether anything can run there."""

import importlib.metadata
import platform
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RaySystemError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import experiments
import search_spaces
import trainables
from trainables.base import PACKAGES
from trainables.checks import ConfigError

CODE = {"py_modules": [experiments, search_spaces, trainables], "excludes": ["__pycache__/"]}
"""Runtime environment of everything that runs on the nodes: the driver's code, whatever they have installed."""

PROBE_TIMEOUT_S = 120.0
"""For an answer of every node. The first on a node waits for the code, and may meet busy cores."""


def attach(address: str, **options: Any) -> None:
    """Connect to a running cluster; ``options`` are those of ``ray.init``.

    Raises ConfigError if there is none (in seconds, where Ray itself tries a minute), or if a node has not the driver's
    versions of Python and packages.
    """
    host, colon, port = address.rpartition(":")
    if colon:
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except (OSError, ValueError) as error:
            raise ConfigError(f"--address {address}: nobody answers there ({error})") from None
    try:
        ray.init(address=address, runtime_env=CODE, **options)
    except (ConnectionError, RuntimeError, ValueError, RaySystemError) as error:
        text = str(error)
        reason = " ".join(text.split()) if "Version mismatch" in text else text.splitlines()[0]
        raise ConfigError(f"--address {address}: no Ray cluster that this program can join ({reason})") from None
    _require_same_versions()


def _require_same_versions() -> None:
    """Raise ConfigError if a node's Python or packages differ from the driver's: results might, in their last bits."""

    def versions(packages: tuple[str, ...]) -> dict[str, str]:
        found = {"Python": platform.python_version()}
        for name in packages:
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                found[name] = "nothing"
        return found

    here = versions(PACKAGES)
    for node, there in _on_every_node(versions, PACKAGES).items():
        if there != here:
            differences = [f"{name} {there[name]} for {here[name]}" for name in here if there[name] != here[name]]
            raise ConfigError(
                f"node {node} has other versions than this machine: {', '.join(differences)}; install the same on all"
            )


def require_shared(folder: Path) -> None:
    """Raise ConfigError unless every node reads what is written into ``folder`` here, and the other way round."""

    def exchange(probe: Path) -> tuple[str, str | None]:
        node = ray.get_runtime_context().get_node_id()
        try:
            (probe / node).write_text((probe / "driver").read_text())
        except OSError as error:
            return node, error.strerror
        return node, None

    folder = folder.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".probe-", dir=folder) as name:
            probe = Path(name)
            probe.chmod(0o777)  # a node's Ray may run as another user
            (probe / "driver").write_text("here")
            answers = _on_every_node(exchange, probe)
            written = {path.name for path in probe.iterdir()}
    except OSError as error:
        raise ConfigError(f"--storage-path {folder} cannot be written: {error.strerror}") from None
    for node, (name, complaint) in answers.items():
        if complaint or name not in written:
            raise ConfigError(
                f"--storage-path {folder}: node {node} has not the same folder there"
                f" ({complaint or 'what it writes does not arrive'}); on a cluster of {len(answers)} nodes accepted is"
                " a folder that all of them share, for example on NFS"
            )


def _on_every_node(probe: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """What a function returns on each node, by node; it waits for no CPU, so a busy cluster answers too.

    It has to be a function within a function, which travels whole: one of a module would be looked up on the node, in a
    module whose imports may be what is missing there. Raises ConfigError if a node does not answer.
    """
    task, answers = ray.remote(num_cpus=0, max_retries=1)(probe), {}
    for node in ray.nodes():
        if node["Alive"]:
            where = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            name = f"{node['NodeManagerAddress']} ({node['NodeID'][:8]})"
            answers[name] = task.options(scheduling_strategy=where).remote(*args)
    for name, answer in answers.items():
        try:
            answers[name] = ray.get(answer, timeout=PROBE_TIMEOUT_S)
        except GetTimeoutError:
            raise ConfigError(f"node {name} has not answered for {PROBE_TIMEOUT_S:.0f} s") from None
        except RayError as error:
            raise ConfigError(f"node {name} cannot run tasks: {' '.join(str(error).split())}") from None
    return answers
