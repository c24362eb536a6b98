"""The Ray that a program runs on: one of its own, started here, or a cluster that runs already."""

import contextlib
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import time
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from pyarrow.fs import FileSelector, FileSystem
from ray import cloudpickle
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import experiments
import search_spaces
import trainables
from experiments.ask.storage import locate
from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources, local_cpus
from experiments.run.ray_internals import (
    OwnPath,
    few_servers,
    leave_no_colours,
    on_loopback,
    own_signals,
    require_internals,
    without_advice,
)
from trainables.checks import ConfigError
from trainables.processor import KERNELS
from trainables.surroundings import SOCKETS_FOLDER, address_space, private_folder, require_room_for_ray
from trainables.versions import SOURCES, installed_versions, sources_digest

CODE = {
    "py_modules": [experiments, search_spaces, trainables],
    "excludes": ["__pycache__/", "*.html", "*.typed", "trained/"],
    "env_vars": {name: os.environ[name] for name in (KERNELS,) if name in os.environ} | {SOURCES: sources_digest()},
}
"""Runtime environment of everything that runs on the nodes: the driver's code, whatever they have installed, its
digest, which they compare, and its kernels of BLAS, which a process reads as it starts."""

PROBE_TIMEOUT_S = 120.0
"""Seconds in which a node has to answer. The first task on a node waits for the code, and may meet busy cores."""

KEEP_SESSIONS_S = 86_400.0
"""Seconds for which the logs of a Ray that has ended stay: a day."""


def start_ray(address: str | None, verbose: bool) -> ClusterResources:
    """Start Ray here, or attach to a running cluster, unless this program has one already; return its nodes."""
    if not ray.is_initialized():
        require_internals()
        if not verbose:
            warnings.filterwarnings("ignore", module="ray")
            logging.getLogger("ray.tune").setLevel(logging.ERROR)
        # What Ray logs as it fails to start comes to one line of ours; later errors of Ray's are shown.
        quiet = {"log_to_driver": verbose, "logging_level": logging.INFO if verbose else logging.CRITICAL}
        if sys.stderr.isatty():
            print("Ray starts ..." if address is None else "The cluster is asked ...", file=sys.stderr, flush=True)
        if address is None:
            start_local(local_cpus(), **quiet)
        else:
            attach(address, **quiet)
        leave_no_colours()
        if not verbose:
            logging.getLogger("ray").setLevel(logging.ERROR)
            without_advice()
    return cluster_resources()


def cluster_resources() -> ClusterResources:
    """The nodes of the Ray that this program has, as they are now."""
    return ClusterResources(tuple(node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]))


def ship(learner: Learner) -> None:
    """Have Ray send the code of a learner of one's own: what runs anywhere is what was imported here."""
    if learner.typed:
        cloudpickle.register_pickle_by_value(sys.modules[learner.name.rpartition(".")[0]])


def start_local(cpus: int, **options: Any) -> None:
    """Start a Ray of this program's own, which listens on loopback alone; ``options`` are those of ``ray.init``.

    Its workers look for modules where this program does, in the same order, and nowhere else. Where Ray fails to start
    it is started once more. Raises ConfigError where it fails again, or where the surroundings do not allow it.
    """
    require_room_for_ray()
    folder = Path(f"{private_folder(SOCKETS_FOLDER)}/ray")  # Ray opens it for all, in a folder that is not
    _remove_old_sessions(folder)
    _guard_token()
    if limit := address_space():
        options["object_store_memory"] = limit // 10  # Each process maps all of it into its address space.
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), SOURCES: sources_digest()}
    # Processes that are started now never get these signals, which a terminal or a batch system sends to all of them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP, signal.SIGUSR1})
    try:
        with on_loopback(**environment), own_signals(), few_servers(logs=options.get("log_to_driver", True)):
            try:
                _start(cpus, folder, **options)
            except Exception as error:  # Errors are of many kinds, and Ray's own is a plain Exception.
                print(f"Ray did not start: {_reason(error)}. Once more ...", file=sys.stderr, flush=True)
                _start(cpus, folder, **options)
    except Exception as error:
        raise ConfigError(
            f"Ray does not start here: {_reason(error)}. On a machine that is busy, or whose disk is slow, try again"
            f" later; what its servers said is in {folder}/session_latest/logs"
        ) from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(cpus: int, folder: Path, **options: Any) -> None:
    """Have Ray start its servers, with its files in this folder.

    It may fail on its first start on a machine and not on the next: a server ends if Ray's own Python processes take
    more than 15 s to start, as they do from a cold disk. What a failed start leaves running ends with this program.
    """
    # Without "local" Ray would join a cluster that runs on this machine.
    ray.init(
        address="local",
        num_cpus=cpus,
        include_dashboard=False,
        job_config=OwnPath(),
        _temp_dir=str(folder),
        **options,
    )


def _reason(error: Exception) -> str:
    """Why Ray did not start, in one line without its full stop."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _remove_old_sessions(folder: Path) -> None:
    """Remove what Rays of this user's programs that have ended left behind: 0.3 to 4 MB each, which Ray never removes.

    A raylet writes into its log each minute, so a Ray whose log is older than ``KEEP_SESSIONS_S`` has ended.
    """
    for session in folder.glob("session_2*"):
        log = session / "logs" / "raylet.out"
        with contextlib.suppress(OSError):  # Another program may remove it at the same time.
            if time.time() - (log if log.exists() else session).stat().st_mtime > KEEP_SESSIONS_S:
                shutil.rmtree(session)


def _guard_token() -> None:
    """See that nobody else on this machine can read Ray's token, which Ray would write into a file for all.

    A file of the user's own is closed to others. Where that fails, as without a file, this program has a new token in
    its environment. Nothing is done where the environment names a token, or has no token used.
    """
    if {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys() or os.environ.get("RAY_AUTH_MODE") == "disabled":
        return
    try:
        os.chmod(os.path.expanduser("~/.ray/auth_token"), 0o600)
    except OSError:
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def attach(address: str, **options: Any) -> None:
    """Connect to a running cluster; ``options`` are those of ``ray.init``.

    Raises ConfigError if there is none, or if a node has other versions than this machine. Where nobody answers it does
    so within 5 s; Ray itself would try for a minute.
    """
    host, colon, port = address.rpartition(":")
    if colon:
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except (OSError, ValueError) as error:
            raise ConfigError(f"--address {address}: nobody answers there ({error})") from None
    try:
        with own_signals():
            ray.init(address=address, runtime_env=CODE, job_config=OwnPath(), **options)
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        text = str(error).strip() or type(error).__name__
        reason = " ".join(text.split()) if "Version mismatch" in text else text.splitlines()[0]
        raise ConfigError(
            f"--address {address}: no Ray cluster that this program can join ({reason}); one that a token guards wants"
            " the same token here (docs/clusters.md)"
        ) from None
    _require_same_versions()


def _require_same_versions() -> None:
    """Raise ConfigError if a node's Python or packages differ from the driver's: then results' last bits might, too."""

    def versions() -> dict[str, str]:
        from trainables.versions import installed_versions  # on the node, with the code that was sent along

        return installed_versions()

    here = installed_versions()
    for node, there in _on_every_node(versions).items():
        if there != here:
            differences = [f"{name} {there[name]} for {here[name]}" for name in here if there[name] != here[name]]
            raise ConfigError(
                f"node {node} has other versions than this machine: {', '.join(differences)}; install the same on all"
            )


def require_shared(storage: str) -> None:
    """Raise ConfigError unless every node reads what is written here at a path or URI, and the other way round."""
    filesystem, root = locate(storage)
    probe = f"{root}/.probe-{uuid.uuid4().hex}"
    try:
        filesystem.create_dir(probe)
        try:
            answers = _exchange(filesystem, probe)
            written = {info.base_name for info in filesystem.get_file_info(FileSelector(probe))}
        finally:
            filesystem.delete_dir(probe)
    except OSError as error:
        raise ConfigError(f"--storage-path {storage} cannot be written: {error}") from None
    for node, (name, complaint) in answers.items():
        if complaint or name not in written:
            raise ConfigError(
                f"--storage-path {storage}: node {node} has not the same folder there"
                f" ({complaint or 'what it writes does not arrive'}); on a cluster of {len(answers)} nodes accepted is"
                " a folder that all of them share, for example on NFS, or a URI as s3://bucket/folder"
            )


def _exchange(filesystem: FileSystem, probe: str) -> dict[str, tuple[str, str | None]]:
    """Have each node copy a file of ours to one that has the node's id as name.

    Returns by node its id, and what went wrong there; None if nothing did.
    """

    def read_and_write(filesystem: FileSystem, probe: str) -> tuple[str, str | None]:
        node = ray.get_runtime_context().get_node_id()
        try:
            with filesystem.open_input_stream(f"{probe}/driver") as source:
                here = source.read()
            with filesystem.open_output_stream(f"{probe}/{node}") as target:
                target.write(here)
        except OSError as error:
            return node, str(error)
        return node, None

    if filesystem.type_name == "local":
        Path(probe).chmod(0o777)  # A node's Ray may run as another user.
    with filesystem.open_output_stream(f"{probe}/driver") as target:
        target.write(b"here")
    return _on_every_node(read_and_write, filesystem, probe)


def _on_every_node(probe: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """What a function returns on each node, by the node's name. It waits for no CPU, so a busy cluster answers, too.

    It has to be a function within a function, which is sent whole: a node may lack the module that a function of a
    module is imported from. A node that has died, which Ray lists for half a minute more, is left out. Raises
    ConfigError if a living one does not answer.
    """
    task = ray.remote(num_cpus=0, max_retries=1)(probe)
    nodes = _living()
    asked = {}
    for node in nodes:
        there = NodeAffinitySchedulingStrategy(node, soft=False)
        asked[node] = task.options(scheduling_strategy=there).remote(*args)
    answers = {}
    for node, name in nodes.items():
        try:
            answers[name] = ray.get(asked[node], timeout=PROBE_TIMEOUT_S)
        except RayError as error:
            if node not in _living():
                continue
            if isinstance(error, GetTimeoutError):
                raise ConfigError(f"node {name} has not answered for {PROBE_TIMEOUT_S:.0f} s") from None
            raise ConfigError(f"node {name} cannot run tasks: {' '.join(str(error).split())}") from None
    return answers


def _living() -> dict[str, str]:
    """The nodes that Ray lists as alive, and what to call each."""
    nodes = (node for node in ray.nodes() if node["Alive"])
    return {node["NodeID"]: f"{node['NodeManagerAddress']} ({node['NodeID'][:8]})" for node in nodes}
