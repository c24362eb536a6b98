"""What TensorBoard's own reader finds in a trial's event files."""

import io
import json

from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def assert_tensorboard_shows(trial):
    """Of a trial that had its first evaluation, running or ended; returns its events."""
    events = EventAccumulator(str(trial)).Reload()
    learner = "pg" if "learning_rate" in json.loads((trial / "params.json").read_text()) else "trpo"
    tags = set(events.Tags()["scalars"])
    families = {"episode_reward_mean", "games", "policy", "value_function", "perf", "eval"}
    assert {tag.split("/")[0] for tag in tags} == families
    assert "policy/entropy" in tags, "of both learners"
    assert "custom_scalars__config__" in events.Tags()["tensors"]
    game = events.Images("eval/game")[0]
    assert game.step == events.Scalars("eval/return_sampled_mean")[0].step > 0
    assert Image.open(io.BytesIO(game.encoded_image_string)).n_frames > 1
    if learner == "pg":
        assert Image.open(io.BytesIO(events.Images("policy/neurons")[0].encoded_image_string)).format == "PNG"
    return events
