"""Presets learn: a mean return within so many agent steps, never within so many seconds."""

import pytest

from search_spaces import pong_pg, pong_trpo
from trainables.metrics import METRIC
from trainables.trainable import PongPG, PongTRPO

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.mark.parametrize(
    ("trainable", "preset", "expected", "steps"),
    [
        (PongPG, pong_pg.PRESETS["default"], -10, 1_000_000),
        (PongPG, pong_pg.PRESETS["karpathy"], -19.8, 3_000_000),  # its author let it train for three nights
        (PongTRPO, pong_trpo.PRESETS["default"], -10, 1_000_000),
        (PongTRPO, pong_trpo.PRESETS["modular_rl"], -17, 800_000),
    ],
    ids=["pg", "pg karpathy", "trpo", "trpo modular_rl"],
)
def test_a_preset_climbs(make_trial, trainable, preset, expected, steps):
    """Untrained, both learners are at -20.4."""
    trial = make_trial(trainable, preset, num_workers=2, eval_interval=0, seed=0)
    result = trial.train()
    while result[METRIC] < expected and result["timesteps_total"] < steps:
        result = trial.train()
    assert result[METRIC] >= expected
