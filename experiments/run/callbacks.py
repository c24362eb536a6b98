"""Callbacks of Tune beside loggers: flushing to disk, a bucket's mirror, a full disk, callbacks of a user's own."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyarrow.fs import LocalFileSystem
from ray import tune
from ray.tune import Checkpoint
from ray.tune.experiment import Trial

from experiments.disk.folders import RESULTS
from experiments.disk.mirror import Remote
from experiments.plan.learners import reason
from experiments.run.preconditions import RESERVE_BYTES, factory, free_bytes
from experiments.run.stopping import StopSignals
from experiments.run.tune_trials import trial_folder
from trainables.checks import ConfigError
from trainables.files import flush, flush_folder

LOOK_EVERY_S = 5.0
"""Seconds between two looks at the disk's free space."""

RESERVE_FILES = 100
"""Files for which the disk has room (inodes), below which no write is begun: enough for a checkpoint each of some
trials."""


class Flush(tune.Callback):
    """Writes a checkpoint, and the rows up to it, to the disk itself before Tune deletes an older one.

    So a power cut costs no more than a kill. Otherwise a checkpoint may stay in the system's memory for half a minute.
    """

    def __init__(self, experiment: Path) -> None:
        self._experiment = experiment

    def on_checkpoint(
        self, iteration: int, trials: list[Trial], trial: Trial, checkpoint: Checkpoint, **info: Any
    ) -> None:
        """Flush. Tune takes the checkpoint in, and deletes older ones, only afterwards; not if this raises OSError."""
        flush(trial_folder(self._experiment, trial) / RESULTS)
        if isinstance(checkpoint.filesystem, LocalFileSystem):  # Any other store keeps what was sent to it.
            folder = Path(checkpoint.path)
            for path in folder.iterdir():
                flush(path)
            flush_folder(folder)
            flush_folder(folder.parent)


class Uploads(tune.Callback):
    """Keeps an experiment's home and its mirror the same while it runs, rows before the checkpoint that follows them.

    What cannot be sent or fetched now goes with the next one.
    """

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def on_trial_start(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        self._try(self._remote.push_all, trial_folder(self._remote.folder, trial))

    def on_trial_result(self, iteration: int, trials: list[Trial], trial: Trial, result: Any, **info: Any) -> None:
        self._try(self._remote.push, trial_folder(self._remote.folder, trial) / RESULTS)

    def on_checkpoint(
        self, iteration: int, trials: list[Trial], trial: Trial, checkpoint: Checkpoint, **info: Any
    ) -> None:
        folder = trial_folder(self._remote.folder, trial)
        self._try(self._remote.push_all, folder)
        self._try(self._remote.pull, folder.name)

    def _try(self, copy: Callable[..., None], what: Path | str) -> None:
        try:
            copy(what)
        except OSError as error:
            print(f"{self._remote.uri} is out of reach: {error}", file=sys.stderr, flush=True)


class DiskGuard(tune.Callback):
    """Has everything wait while the disk is nearly full, since a file that is written then may be cut off."""

    def __init__(self, folder: Path, signals: StopSignals) -> None:
        self.folder, self._signals = folder, signals
        self._looked = 0.0

    def on_step_begin(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """Return once there is room, or once a signal has come. Trials wait after their present iteration."""
        if time.monotonic() - self._looked < LOOK_EVERY_S:
            return
        self.wait()
        self._looked = time.monotonic()

    def wait(self) -> None:
        """Return once there is room, or once a signal has come."""
        waited = False
        while not self._signals.received and (lack := self._lack()):
            if not waited:
                self._say(f"The disk of {self.folder} is nearly full ({lack}). Nothing is lost; Ctrl-C ends it.")
            waited = True
            time.sleep(1)
        if waited and not self._signals.received:
            self._say("There is room again: going on.")

    def _lack(self) -> str:
        """What the disk has too little of; empty where it has room."""
        free, disk = free_bytes(self.folder), os.statvfs(self.folder)
        if free < RESERVE_BYTES:
            return f"{free / 2**20:.0f} MB free: the experiment waits until there are {RESERVE_BYTES / 2**20:.0f} MB"
        if disk.f_files and disk.f_favail < RESERVE_FILES:
            return f"room for {disk.f_favail} files: the experiment waits until there is for {RESERVE_FILES}"
        return ""

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def made(typed: Sequence[str]) -> list[tune.Callback]:
    """The callbacks that ``--callback`` names, such as those of Weights and Biases or MLflow.

    They belong to whoever types them, not to the experiment: no record names them, and a resume needs them typed again.
    """
    return [Guarded(text, _made(text)) for text in typed]


def _made(typed: str) -> tune.Callback:
    make = factory(typed)
    try:
        callback = make()
    except Exception as error:  # A user's function may raise anything.
        raise ConfigError(f"--callback {typed}: the call fails with {reason(error)}") from None
    if not isinstance(callback, tune.Callback):
        raise ConfigError(f"--callback {typed} makes {type(callback).__name__}; accepted is a ray.tune.Callback")
    return callback


class Guarded(tune.Callback):
    """Passes on what Tune says to a user's callback, up to its first error.

    So training does not end with a service that is out of reach.

    The callback hears of the end of each trial that started. Where a signal ends the experiment, or Tune gives up, Tune
    would not say so, and a callback that waits for its trials, as that of Weights and Biases does, would wait for
    longer than a batch system does.
    """

    def __init__(self, typed: str, callback: tune.Callback) -> None:
        self._typed, self._callback = typed, callback
        self._failed = False
        self._started: dict[Trial, None] = {}  # those that have not ended, in the order in which they began

    def __getstate__(self) -> dict[str, Any]:
        """Nothing, since Tune pickles callbacks into a file that nobody reads here."""
        return {}

    def _pass_on(self, hook: Callable[..., None], *args: Any, **info: Any) -> None:
        if self._failed:
            return
        try:
            hook(*args, **info)
        except Exception as error:  # A user's callback may raise anything.
            self._failed = True
            why = f"{hook.__name__} fails with {reason(error)}"
            print(f"--callback {self._typed} is left out from here on: {why}", file=sys.stderr)

    def setup(self, *args: Any, **info: Any) -> None:
        self._pass_on(self._callback.setup, *args, **info)

    def on_step_begin(self, *args: Any, **info: Any) -> None:
        self._pass_on(self._callback.on_step_begin, *args, **info)

    def on_step_end(self, *args: Any, **info: Any) -> None:
        self._pass_on(self._callback.on_step_end, *args, **info)

    def on_trial_start(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        self._started[trial] = None
        self._pass_on(self._callback.on_trial_start, iteration, trials, trial, **info)

    def on_trial_restore(self, *args: Any, **info: Any) -> None:
        self._pass_on(self._callback.on_trial_restore, *args, **info)

    def on_trial_save(self, *args: Any, **info: Any) -> None:
        self._pass_on(self._callback.on_trial_save, *args, **info)

    def on_trial_result(self, *args: Any, **info: Any) -> None:
        self._pass_on(self._callback.on_trial_result, *args, **info)

    def on_trial_complete(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        self._started.pop(trial, None)
        self._pass_on(self._callback.on_trial_complete, iteration, trials, trial, **info)

    def on_trial_recover(self, *args: Any, **info: Any) -> None:
        self._pass_on(self._callback.on_trial_recover, *args, **info)

    def on_trial_error(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        self._started.pop(trial, None)
        self._pass_on(self._callback.on_trial_error, iteration, trials, trial, **info)

    def on_checkpoint(self, *args: Any, **info: Any) -> None:
        self._pass_on(self._callback.on_checkpoint, *args, **info)

    def on_experiment_end(self, trials: list[Trial], **info: Any) -> None:
        for trial in list(self._started):
            self.on_trial_complete(0, trials, trial)
        self._pass_on(self._callback.on_experiment_end, trials, **info)
