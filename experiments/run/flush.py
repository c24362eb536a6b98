"""A power cut costs no more than a kill: a checkpoint is on disk itself before Tune deletes an older one."""

from pathlib import Path
from typing import Any

from pyarrow.fs import LocalFileSystem
from ray import tune
from ray.tune import Checkpoint
from ray.tune.experiment import Trial

from experiments.record.folders import RESULTS
from experiments.run.tune_trials import trial_folder
from trainables.files import flush


class Flush(tune.Callback):
    """Flushes each checkpoint, and the rows up to it.

    A trial saves into a temporary folder, and Tune copies that into the experiment's, where the copy may stay in the
    system's memory for half a minute. A store behind a URI has what was sent to it.
    """

    def __init__(self, experiment: Path) -> None:
        self._experiment = experiment

    def on_checkpoint(
        self, iteration: int, trials: list[Trial], trial: Trial, checkpoint: Checkpoint, **info: Any
    ) -> None:
        """Return once all is on disk; Tune takes the checkpoint in, and deletes older ones, after that.

        Raises OSError if the disk fails; Tune then keeps the older ones.
        """
        flush(trial_folder(self._experiment, trial) / RESULTS)
        if not isinstance(checkpoint.filesystem, LocalFileSystem):
            return
        folder = Path(checkpoint.path)
        for path in (*folder.iterdir(), folder, folder.parent):
            flush(path)
