"""Results as text: ``result.json`` and ``params.json`` of every trial, written where they are kept, row by row."""

import json
from pathlib import Path
from typing import Any, TextIO

from ray.tune.experiment import Trial
from ray.tune.logger import LoggerCallback

from experiments.read.rows import read_rows
from experiments.record.folders import PARAMS, RESULTS
from experiments.run.tune_trials import trial_folder
from trainables.files import replace_text


class JsonLogger(LoggerCallback):
    """Writes a trial's rows straight into its folder, each before the checkpoint that follows it.

    Ray's own logger, which this one replaces, writes elsewhere and copies now and then: rows arrived up to 10 s late,
    and after a kill checkpoints were there whose rows were not. A row of an iteration that was there before (the trial
    went back to a checkpoint) takes the place of that row and of all after it, so no iteration is there twice.
    """

    def __init__(self, experiment: Path) -> None:
        self._experiment = experiment
        self._files: dict[Trial, TextIO] = {}
        self._latest: dict[Trial, int] = {}

    def log_trial_start(self, trial: Trial) -> None:
        """Open the trial's file, and write its settings: pbt changes them on the way."""
        folder = trial_folder(self._experiment, trial)
        folder.mkdir(parents=True, exist_ok=True)
        replace_text(folder / PARAMS, json.dumps(trial.config, indent=2, sort_keys=True, default=_plain))
        self._rewrite(trial, read_rows(folder / RESULTS))

    def log_trial_result(self, iteration: int, trial: Trial, result: dict[str, Any]) -> None:
        """Write an iteration's row."""
        if trial not in self._files:
            self.log_trial_start(trial)
        row = result["training_iteration"]
        if row <= self._latest[trial]:
            rows = read_rows(trial_folder(self._experiment, trial) / RESULTS)
            self._rewrite(trial, [earlier for earlier in rows if earlier["training_iteration"] < row])
        self._files[trial].write(json.dumps(result, default=_plain) + "\n")
        self._files[trial].flush()
        self._latest[trial] = row

    def log_trial_end(self, trial: Trial, failed: bool = False) -> None:
        """Close the trial's file."""
        if trial in self._files:
            self._files.pop(trial).close()

    def _rewrite(self, trial: Trial, rows: list[dict[str, Any]]) -> None:
        """Replace the file by one of whole rows, and go on from its end."""
        self.log_trial_end(trial)
        path = trial_folder(self._experiment, trial) / RESULTS
        replace_text(path, "".join(json.dumps(row) + "\n" for row in rows))
        self._files[trial] = path.open("a", encoding="utf-8")
        self._latest[trial] = rows[-1]["training_iteration"] if rows else 0


def _plain(value: Any) -> Any:
    """What JSON has no notation for: NumPy's numbers and arrays as plain ones, all else as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
