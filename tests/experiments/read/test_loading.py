"""Checkpoints that nobody vouches for."""

import hashlib
import json

import pytest

from experiments.read.loading import sound_state
from tests.helpers.trials import CARTPOLE
from trainables.checkpoints import STATE, CheckpointError
from trainables.config import TRPOConfig
from trainables.trainable import PongTRPO


@pytest.mark.parametrize("counter", ["games", "steps", "recent_returns"])
def test_a_checkpoint_without_a_counter_was_a_key_error(counter, tmp_path):
    PongTRPO.untrained(TRPOConfig(**CARTPOLE)).save_checkpoint(str(tmp_path))
    assert counter in sound_state(tmp_path)["episodes"]
    state = json.loads((tmp_path / STATE).read_text())
    del state["episodes"][counter], state["state_sha256"]
    state["state_sha256"] = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
    (tmp_path / STATE).write_text(json.dumps(state))
    with pytest.raises(CheckpointError, match="it lacks counters"):
        sound_state(tmp_path)
