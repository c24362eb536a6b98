"""Tune's results as TensorBoard event files: short tags by family, and the hyperparameters from the first minute."""

from typing import Any

from ray.tune.experiment import Trial
from ray.tune.logger import TBXLoggerCallback
from tensorboardX.summary import hparams

SKIPPED = (
    "time",
    "timesteps",
    "iterations",
    "episodes",
    "node",
    "pid",
    "hostname",
    "date",
    "done",
    "training_iteration",
)
"""Beginnings of Tune's own entries, which say nothing as a curve; the x-axis is ``timesteps_total``."""


class TensorBoard(TBXLoggerCallback):
    """Writes scalars against environment steps, and each trial's whole configuration when it starts.

    Ray's own logger writes hyperparameters only when a trial ends, and only those that were swept.
    """

    def log_trial_start(self, trial: Trial) -> None:
        """Open the trial's event file and write its hyperparameters."""
        super().log_trial_start(trial)
        # A number must be a float for TensorBoard to sort by it.
        config = {
            name: float(value) if isinstance(value, (int, float)) else value for name, value in trial.config.items()
        }
        numbers = {key: float(value) for key, value in config.items() if isinstance(value, (int, float))}
        # The experiment summary is left out: TensorBoard believes one trial's list of columns for all, while without
        # it, it collects the columns of every trial.
        _, session_start, _ = hparams(config | numbers, {})
        writer = self._trial_writer[trial]
        writer.file_writer.add_summary(session_start)
        writer.flush()

    def log_trial_result(self, iteration: int, trial: Trial, result: dict[str, Any]) -> None:
        """Write an iteration's scalars."""
        if trial not in self._trial_writer:
            self.log_trial_start(trial)
        writer = self._trial_writer[trial]
        for tag, value in result.items():
            if isinstance(value, (int, float)) and not tag.startswith(SKIPPED):
                writer.add_scalar(tag, value, global_step=result["timesteps_total"])
        writer.flush()

    def log_trial_end(self, trial: Trial, failed: bool = False) -> None:
        """Close the trial's event file."""
        if writer := self._trial_writer.pop(trial, None):
            writer.close()
