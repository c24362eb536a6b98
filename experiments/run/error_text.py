"""Errors of trials as text alone."""

from typing import Any

from ray import tune
from ray.tune.experiment import Trial


class ErrorText(tune.Callback):
    """Keeps Tune from unpickling the ``error.pkl`` of failed trials.

    Tune opens it at its end to make a ResultGrid, also where it is not the file that it wrote: somebody else may have
    put it into the experiment's folder, and to open a pickle is to run it. ``error.txt`` says the same.
    """

    def on_experiment_end(self, trials: list[Trial], **info: Any) -> None:
        """Let each trial forget the pickle's name."""
        for trial in trials:
            trial.run_metadata.pickled_error_filename = None
