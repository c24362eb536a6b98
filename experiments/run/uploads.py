"""Sends what this program writes of an experiment to the URI beneath which it lives, and fetches its checkpoints."""

import sys
from collections.abc import Callable
from typing import Any

from ray import tune
from ray.tune import Checkpoint
from ray.tune.experiment import Trial

from experiments.record.folders import RESULTS
from experiments.record.mirror import Remote
from experiments.run.tune_trials import trial_folder


class Uploads(tune.Callback):
    """Keeps an experiment's home and its mirror the same while it runs.

    Rows are there before the checkpoint that follows them. What cannot be sent or fetched now goes with the next one.
    """

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def on_trial_start(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """Send the settings."""
        self._try(self._remote.push_all, trial_folder(self._remote.folder, trial))

    def on_trial_result(self, iteration: int, trials: list[Trial], trial: Trial, result: Any, **info: Any) -> None:
        """Send the rows."""
        self._try(self._remote.push, trial_folder(self._remote.folder, trial) / RESULTS)

    def on_checkpoint(
        self, iteration: int, trials: list[Trial], trial: Trial, checkpoint: Checkpoint, **info: Any
    ) -> None:
        """Send all that was written of the trial, and fetch what the node saved."""
        self._try(self._remote.push_all, trial_folder(self._remote.folder, trial))
        self._try(self._remote.pull, trial_folder(self._remote.folder, trial).name)

    def _try(self, copy: Callable[..., None], *args: Any) -> None:
        try:
            copy(*args)
        except OSError as error:
            print(f"{self._remote.uri} is out of reach: {error}", file=sys.stderr, flush=True)
