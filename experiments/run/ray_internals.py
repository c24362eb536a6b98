"""What this program uses of Ray although Ray does not promise to keep it: there is no public way.

Through these names Tune and its schedulers are told what a trial had before this program started.
"""

import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import ray
from ray.tune import Callback, Checkpoint
from ray.tune.experiment import Trial

from trainables.checks import ConfigError

WORKS_WITH = "2.60"
"""The version of Ray that was tried; pyproject.toml asks for it."""


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
    yield importlib.import_module("ray.train._internal.session"), ["_TrainingResult"]
    metadata = ("checkpoint_manager.register_checkpoint", "last_result", "pickled_error_filename")
    yield Trial("stub", stub=True), ["init_local_path", "storage", *(f"run_metadata.{name}" for name in metadata)]
    storage = importlib.import_module("ray.train._internal.storage").StorageContext
    inspect.signature(storage).bind_partial(storage_filesystem=None, current_checkpoint_index=0)  # become attributes


class ErrorText(Callback):
    """Keeps Tune from unpickling the ``error.pkl`` of failed trials; ``error.txt`` says the same.

    Tune opens it at its end to make a ResultGrid, also where it is not the file that it wrote: somebody else may have
    put it into the experiment's folder, and to open a pickle is to run it.
    """

    def on_experiment_end(self, trials: list[Trial], **info: Any) -> None:
        """Let each trial forget the pickle's name."""
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
