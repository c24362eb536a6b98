"""Results as text, row by row, and as TensorBoard's event files."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from ray.tune import Checkpoint
from ray.tune.experiment import Trial
from ray.tune.logger import LoggerCallback
from tensorboardX import SummaryWriter
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.summary import hparams

from experiments.disk.folders import PARAMS, RESULTS
from experiments.disk.rows import read_rows
from experiments.plan.identity import SPEED_ONLY
from experiments.run.tune_trials import trial_folder
from experiments.show.pictures import Picture, pictures_of
from trainables.files import replace_text
from trainables.metrics import METRIC


class OpenWhilePlaying(LoggerCallback):
    """Closes the file of a trial that waits: a sweep may have more trials than a process may have open files."""

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        for trial in trials:
            if trial.status == Trial.PAUSED:
                self.log_trial_end(trial)


class JsonLogger(OpenWhilePlaying):
    """Writes a trial's rows straight into its folder, each before the checkpoint that follows it.

    Ray's own logger writes elsewhere and copies now and then, so that after a kill checkpoints can lack their rows. A
    row of an iteration that was there before (the trial went back to a checkpoint) replaces that row and all after it.
    """

    def __init__(self, experiment: Path) -> None:
        self._experiment = experiment
        self._files: dict[Trial, TextIO] = {}
        self._latest: dict[Trial, int] = {}

    def log_trial_start(self, trial: Trial) -> None:
        """Open the trial's file of rows, and write its settings, which may have been lost since it last ran."""
        folder = trial_folder(self._experiment, trial)
        folder.mkdir(parents=True, exist_ok=True)
        replace_text(folder / PARAMS, json.dumps(trial.config, indent=2, sort_keys=True, default=_plain))
        self._rewrite(trial, read_rows(folder / RESULTS))

    def log_trial_result(self, iteration: int, trial: Trial, result: dict[str, Any]) -> None:
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
        if trial in self._files:
            self._files.pop(trial).close()

    def _rewrite(self, trial: Trial, rows: Sequence[dict[str, Any]]) -> None:
        """Replace the file by one of whole rows, and go on from its end."""
        self.log_trial_end(trial)
        path = trial_folder(self._experiment, trial) / RESULTS
        replace_text(path, "".join(json.dumps(row) + "\n" for row in rows))
        self._files[trial] = path.open("a", encoding="utf-8")
        self._latest[trial] = rows[-1]["training_iteration"] if rows else 0


def _plain(value: Any) -> Any:
    """A value that JSON has no notation for, as one that it has: NumPy's as plain numbers or lists, others as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


SKIPPED = (
    *("time", "timesteps", "iterations", "episodes", "node", "pid", "hostname", "date", "done"),
    *("training_iteration", "should_checkpoint"),
)
"""Beginnings of the names of a result's entries that are not written: as curves over ``timesteps_total``, which is the
x-axis, they say nothing.

``eval/iteration`` is written, since the table of hyperparameters has the latest value of each tag: there it says of
which iteration the evaluation is that stands beside the score.
"""

BOUNDS = re.compile(r"eval/(.*_ci95_(low|high))")
"""Names of the ends of an evaluation's intervals, which only charts of Custom Scalars show."""

SHOWN_IF_SWEPT = {*SPEED_ONLY, "eval_interval", "eval_games", "seed"}
"""Settings that are left out unless they are swept. They change no policy, but for the seed, which differs in all
trials."""

FIRST = METRIC
"""The one tag without a family: TensorBoard shows it above the others."""


def _interval(kind: str) -> list[Any]:
    """A chart of Custom Scalars: the mean return of evaluations of this kind, within its interval."""
    name = f"eval/return_{kind}"
    return ["Margin", [tag(f"{name}_mean"), tag(f"{name}_ci95_low"), tag(f"{name}_ci95_high")]]


def tag(name: str) -> str:
    """The tag of a metric: its own name. Metrics without a family, but for the score, are of the family ``games/``.

    TensorBoard's table of hyperparameters has a column for each tag, in the order of the alphabet, and shows the first
    five: the score, and of the evaluation the length of games, its iteration and both mean returns. So the bounds of
    intervals are a family of their own, ``intervals/``, which also keeps them out of the cards of evaluations.
    """
    bound = BOUNDS.fullmatch(name)
    if bound:
        return f"intervals/{bound[1]}"
    if name == FIRST or "/" in name:
        return name
    return f"games/{name}"


LAYOUT = {
    "Learning": {
        "Score: mean return of the latest games": ["Multiline", [f"{FIRST}$"]],
        "Evaluation, actions sampled (95% interval)": _interval("sampled"),
        "Evaluation, most probable actions (95% interval)": _interval("greedy"),
        "Entropy of the policy (nats)": ["Multiline", ["policy/entropy$"]],
        "KL divergence of the update (nats; not REINFORCE)": ["Multiline", ["policy/kl$"]],
    },
    "Speed": {"Agent steps per second": ["Multiline", ["perf/steps_per_s$"]]},
}
"""The charts of the tab "Custom scalars", which people look at first. Tags of lines are regular expressions."""

EVENTS = re.compile(r"(events\.out\.tfevents\.)(\d+)(\..*)")
"""An event file's name: a beginning, when it was made in seconds since 1970, and on which machine."""


def next_writer(folder: Path, purge_step: int) -> SummaryWriter:
    """A writer whose event file's name comes after those of all that a trial's folder has, whatever the clock says.

    TensorBoard reads a folder's event files in the order of their names, which begin with the second in which they were
    made, and reads none that comes before one that it has read. tensorboardX replaces a file of the same second.
    """
    before = [match for match in map(EVENTS.fullmatch, os.listdir(folder)) if match]
    suffix = f".{len(before) + 1}"
    writer = SummaryWriter(str(folder), flush_secs=30, purge_step=purge_step, filename_suffix=suffix)
    latest = max((int(match[2]) for match in before), default=0)
    for name in os.listdir(folder):
        match = EVENTS.fullmatch(name)
        # The new file may be of the same second as an older one, or of an earlier one if the clock was set back.
        if match and match[3].endswith(suffix) and int(match[2]) <= latest:
            (folder / name).rename(folder / f"{match[1]}{latest + 1}{match[3]}")
    return writer


class TensorBoard(OpenWhilePlaying):
    """Writes scalars against environment steps, each trial's settings when it starts, and pictures.

    Ray's own logger writes hyperparameters only when a trial ends, and only those that were swept. This one writes all
    but those of ``SHOWN_IF_SWEPT`` that are not swept.
    """

    def __init__(self, experiment: Path, swept: Sequence[str]) -> None:
        self._experiment = experiment
        self._left_out = SHOWN_IF_SWEPT.difference(swept)
        self._writers: dict[Trial, SummaryWriter] = {}

    def log_trial_start(self, trial: Trial) -> None:
        """Open an event file that has TensorBoard forget the points beyond the checkpoint from which the trial goes on.

        These points are written again.
        """
        self.log_trial_end(trial)
        newest = trial.latest_checkpoint_result
        behind = newest.metrics["timesteps_total"] if newest else 0
        writer = self._writers[trial] = next_writer(trial_folder(self._experiment, trial), purge_step=behind + 1)
        config = {}
        for name, value in trial.config.items():
            if name in self._left_out:
                continue
            if isinstance(value, (int, float)):
                value = float(value)  # TensorBoard sorts columns of floats alone.
            config[name] = value
        # The experiment summary is left out: TensorBoard believes one trial's list of columns for all, while without
        # it, it collects the columns of every trial, first those that differ.
        _, session_start, _ = hparams(config, {})
        writer.file_writer.add_summary(session_start)
        writer.add_custom_scalars(LAYOUT)
        writer.flush()

    def log_trial_result(self, iteration: int, trial: Trial, result: dict[str, Any]) -> None:
        if trial not in self._writers:
            self.log_trial_start(trial)
        writer = self._writers[trial]
        skipped: tuple[str, ...] = SKIPPED
        if result.get("eval/iteration") != result["training_iteration"]:
            skipped += ("eval/",)  # Between evaluations a result repeats the last one, whose points are written once.
        for name, value in result.items():
            if isinstance(value, (int, float)) and not name.startswith(skipped):
                writer.add_scalar(tag(name), value, global_step=result["timesteps_total"])
        writer.flush()

    def on_checkpoint(
        self, iteration: int, trials: list[Trial], trial: Trial, checkpoint: Checkpoint, **info: Any
    ) -> None:
        if writer := self._writers.get(trial):
            with checkpoint.as_directory() as folder:
                for picture in pictures_of(folder):
                    writer.file_writer.add_summary(_image_summary(picture), picture.step)
            writer.flush()

    def log_trial_end(self, trial: Trial, failed: bool = False) -> None:
        if writer := self._writers.pop(trial, None):
            writer.close()


def _image_summary(picture: Picture) -> Summary:
    """The picture as it was encoded: TensorBoard hands the bytes to the browser, which plays a GIF."""
    height, width = picture.size
    image = Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=picture.data)
    return Summary(value=[Summary.Value(tag=picture.tag, image=image)])
