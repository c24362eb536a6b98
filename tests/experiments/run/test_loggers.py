"""Event files as TensorBoard's own reader finds them, however a trial is started and whatever its clock says."""

import time

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from experiments.run.loggers import next_writer


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
