"""Event files as TensorBoard's own reader finds them, however a trial is started and whatever its clock says."""

import os
import time

import pytest
from ray.tune.experiment import Trial
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from experiments.run.loggers import JsonLogger, TensorBoard, next_writer
from trainables.metrics import METRIC


@pytest.mark.parametrize("clock", [[1000.0, 1000.4, 1000.9], [5000.0, 1000.0, 7000.0], [1000.0, 2000.0, 3000.0]])
def test_no_point_is_lost_of_starts_within_a_second_or_after_a_clock_was_set_back(tmp_path, monkeypatch, clock):
    reader = EventAccumulator(str(tmp_path))
    for start, now in enumerate(clock):
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda now=now: now)
            writer = next_writer(tmp_path, purge_step=10 * start + 1)
            for step in range(10 * start + 1, 10 * start + 11):
                writer.add_scalar("score", step, global_step=step)
            writer.close()
        reader.Reload()  # as TensorBoard does while a trial runs
    for found in (reader, EventAccumulator(str(tmp_path)).Reload()):
        assert [point.step for point in found.Scalars("score")] == [*range(1, 31)]


class Playing:
    """A trial as loggers see it."""

    latest_checkpoint_result = None

    def __init__(self, folder):
        self.path, self.config = str(folder), {}


def open_files(folder):
    links = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    return [link for link in links if link.startswith(str(folder))]


def test_a_trial_that_waits_has_no_open_file_and_goes_on_in_the_same_rows(tmp_path):
    loggers, trial = [JsonLogger(tmp_path), TensorBoard(tmp_path, [])], Playing(tmp_path / "00000")
    for row in (1, 2):
        trial.status = Trial.RUNNING
        for logger in loggers:
            logger.log_trial_start(trial)
            logger.log_trial_result(row, trial, {"training_iteration": row, "timesteps_total": row, METRIC: 0.0})
        assert len(open_files(tmp_path)) == 2
        trial.status = Trial.PAUSED
        for logger in loggers:
            logger.on_step_end(row, [trial])
        assert not open_files(tmp_path)
    assert (tmp_path / "00000" / "result.json").read_text().count("\n") == 2
