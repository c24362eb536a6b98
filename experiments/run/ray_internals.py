"""What this program uses of Ray although Ray does not promise to keep it, since there is no public way.

With these names Tune is told what a trial had before this program started, a Ray of this program's own is closed to
others, and its end is noticed.
"""

import atexit
import importlib
import inspect
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import ray
from ray.air.execution._internal import RayActorManager
from ray.job_config import JobConfig
from ray.tune import Callback, Checkpoint
from ray.tune.experiment import Trial
from ray.tune.search import BasicVariantGenerator

from experiments.disk.rows import lines
from trainables.checks import ConfigError
from trainables.versions import OtherSourcesError

WORKS_WITH = "2.60"
"""The version of Ray with which the names below were tried; pyproject.toml asks for it."""


def require_internals() -> None:
    """Raise ConfigError if the installed Ray lacks one of the names that are used below."""
    try:
        for owner, names in _used():
            attrgetter(*names)(owner)
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigError(
            f"Ray {ray.__version__} lacks a name that this program needs ({error}); it works with Ray {WORKS_WITH}"
        ) from None


def _used() -> Iterator[tuple[Any, Sequence[str]]]:
    """Modules, classes and objects of Ray, each with the names in it that are used, dotted where they are deeper."""
    yield importlib.import_module("ray.train._internal.session"), ["_TrainingResult"]
    metadata = ("checkpoint_manager.register_checkpoint", "last_result", "pickled_error_filename")
    controller = importlib.import_module("ray.tune.execution.tune_controller").TuneController
    if "_resetting_trials" not in controller.__init__.__code__.co_names:
        raise AttributeError("TuneController has no _resetting_trials")
    yield Trial("stub", stub=True), ["init_local_path", "storage", *(f"run_metadata.{name}" for name in metadata)]
    storage = importlib.import_module("ray.train._internal.storage").StorageContext
    # These arguments of StorageContext become attributes, which ``give_back`` uses.
    inspect.signature(storage).bind_partial(storage_filesystem=None, current_checkpoint_index=0)
    yield BasicVariantGenerator(), ["_live_trials"]
    servers = ["PROCESS_TYPE_GCS_SERVER", "PROCESS_TYPE_RAYLET"]
    clusters = ["ENABLE_RAY_CLUSTER", "ENABLE_RAY_CLUSTERS_ENV_VAR"]
    yield importlib.import_module("ray._private.ray_constants"), [*clusters, *servers]
    yield importlib.import_module("ray._private.worker"), ["_global_node"]
    yield importlib.import_module("ray._private.utils"), ["set_sigterm_handler"]
    yield JobConfig, ["_runtime_env_has_working_dir"]
    yield importlib.import_module("ray._private.node"), ["Node.dead_processes", "Node.raylet_socket_name"]
    parameters = importlib.import_module("ray._private.parameter")
    inspect.signature(parameters.RayParams).bind_partial(no_monitor=True, include_log_monitor=False)
    inspect.signature(RayActorManager.next).bind(None, timeout=TUNE_WAITS_S)


@contextmanager
def on_loopback(**environment: str) -> Iterator[None]:
    """Have a Ray that is started within listen on 127.0.0.1 alone, as it does on macOS, where it makes no clusters.

    Given ``_node_ip_address`` it would listen on all addresses nevertheless. What was set before is set again in the
    end, since the programs of a cluster must know their own addresses. Ray's processes have ``environment`` in theirs.
    """
    from ray._private import ray_constants

    environment[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = "0"  # for the processes that Ray starts
    before = ray_constants.ENABLE_RAY_CLUSTER
    inherited = {name: os.environ[name] for name in environment if name in os.environ}
    ray_constants.ENABLE_RAY_CLUSTER = False  # for this process, which read the variable as Ray was imported
    os.environ |= environment
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
        for name in environment:
            os.environ.pop(name)
        os.environ |= inherited


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Have a module or a class of Ray's something else under a name, for as long as what is within runs."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def few_servers(logs: bool) -> Iterator[None]:
    """Have a Ray that is started within do without two of its servers; to start each would take a second of a core.

    The monitor asks clouds for machines. The log monitor reads ten times a second what workers print, which takes 2% of
    a core, so it is there only if these ``logs`` are shown.
    """
    from ray._private import parameter

    parameters = partial(parameter.RayParams, no_monitor=True, include_log_monitor=logs)  # type: ignore[arg-type]
    with replaced(parameter, "RayParams", parameters):
        yield


TUNE_WAITS_S = 0.5
"""Seconds for which Tune waits for a trial's result before it looks at its own books and at our callbacks. A result
ends the wait. Tune's own 0.1 s takes 4% of a core, most of it for finding that nothing has changed."""


@contextmanager
def patient() -> Iterator[None]:
    """Have a Tuner that runs within wait for ``TUNE_WAITS_S`` at a time."""
    before = RayActorManager.next

    def next_event(manager: RayActorManager, timeout: float) -> bool:
        return before(manager, timeout=max(timeout, TUNE_WAITS_S))

    with replaced(RayActorManager, "next", next_event):
        yield


class OwnPath(JobConfig):
    """Keeps workers from looking for modules in the driver's present folder, or in its program's, before all others.

    Ray leaves both out of a job whose working directory it makes itself.
    """

    def _runtime_env_has_working_dir(self) -> bool:
        return True


@contextmanager
def own_signals() -> Iterator[None]:
    """Have a Ray that is started within leave SIGTERM to this program: Ray's own handlers lose it, or end with 1."""
    from ray._private import utils

    with replaced(utils, "set_sigterm_handler", lambda handler: None):
        yield


def leave_no_colours() -> None:
    """Have colorama, which Ray brings along, not write an escape sequence as the program ends.

    A terminal that knows none (``TERM=dumb``) would show it.
    """
    if colorama := sys.modules.get("colorama"):
        atexit.unregister(colorama.initialise.reset_all)


def own_servers_ended() -> bool:
    """Whether a server of the Ray that this program started has ended.

    Of the servers of a cluster, which others started, it knows nothing.
    """
    from ray._private import ray_constants, worker

    servers = {ray_constants.PROCESS_TYPE_GCS_SERVER, ray_constants.PROCESS_TYPE_RAYLET}
    node: Any = worker._global_node
    return node is not None and any(kind in servers for kind, _ in node.dead_processes())


def own_folder_gone() -> bool:
    """Whether the folder of that Ray has gone, with the sockets in it, so that no process can be started any more."""
    from ray._private import worker

    node: Any = worker._global_node
    return node is not None and not os.path.exists(node.raylet_socket_name)


def any_live(generator: BasicVariantGenerator) -> bool:
    """Whether a trial that the generator gave has not ended yet."""
    return bool(generator._live_trials)


def takes_over(tune_controller: Any, trial: Trial) -> bool:
    """Whether a trial is about to take over the process of another one."""
    return trial in tune_controller._resetting_trials


LACKS_MEMORY = "due to the node running low on memory"
"""What the text of an error says where Ray's memory monitor ended a process, be it a trial's or a worker's."""

MEMORY_IS_FULL = "this machine's memory is nearly full, and Ray ended a process"
"""What we say of that."""


def in_one_line(error: Exception) -> str:
    """The last line of an error of Ray's, which says most; where the memory is full it is advice, and ours stands."""
    if LACKS_MEMORY in str(error):
        return f"{MEMORY_IS_FULL} to free some"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1]


def without_advice() -> None:
    """Have Tune not log errors of processes that the memory monitor ended.

    Each is 50 lines of processes and advice; ``ErrorText`` makes one line of them, and ``error.txt`` has them all.
    """

    def says_more(record: logging.LogRecord) -> bool:
        return not record.exc_info or LACKS_MEMORY not in str(record.exc_info[1])

    logging.getLogger("ray.tune.execution.tune_controller").addFilter(says_more)


class ErrorText(Callback):
    """Reads trials' ``error.txt``, and has them forget ``error.pkl``, which Tune would open to make a ResultGrid.

    Somebody else may have put ``error.pkl`` there, and to open a pickle is to run it; ``error.txt`` says the same.
    """

    def on_trial_recover(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """Raise what ends the whole experiment, since its surroundings and not this trial's settings are the reason.

        That is OtherSourcesError where a worker raised it, and RuntimeError where Ray ended a process for lack of
        memory: all trials would fail, one by one.
        """
        text = "\n".join(lines(Path(trial.error_file)))
        newest = re.split(r"^Failure # ", text, flags=re.MULTILINE)[-1]  # Earlier failures may be of earlier programs.
        _, other_sources, versions = newest.rpartition(f"{OtherSourcesError.__name__}: ")
        if other_sources:
            raise OtherSourcesError(versions)
        if LACKS_MEMORY in newest:
            raise RuntimeError(f"{MEMORY_IS_FULL} of {trial} to free some")

    on_trial_error = on_trial_recover

    def on_experiment_end(self, trials: list[Trial], **info: Any) -> None:
        for trial in trials:
            trial.run_metadata.pickled_error_filename = None


def give_back(
    trial: Trial, checkpoints: Sequence[tuple[Path, Mapping[str, Any]]], newest_index: int, last_row: Mapping[str, Any]
) -> None:
    """Let a trial that is new to Tune go on in its own folder from its checkpoints, each with its iteration's row.

    ``newest_index`` is the highest number that a checkpoint folder had, or -1.
    """
    from ray.train._internal.session import _TrainingResult

    trial.init_local_path()
    manager, storage = trial.run_metadata.checkpoint_manager, trial.storage
    assert manager
    assert storage
    for path, row in checkpoints:
        checkpoint = Checkpoint(f"{trial.path}/{path.name}", storage.storage_filesystem)
        manager.register_checkpoint(_TrainingResult(checkpoint, dict(row)))
    storage.current_checkpoint_index = newest_index
    trial.run_metadata.last_result = dict(last_row)
