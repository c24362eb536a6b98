"""Presets learn: a mean return within so many agent steps, never within so many seconds."""

import pytest

from search_spaces import pong_pg, pong_trpo
from tests.helpers.trials import serial
from trainables.metrics import METRIC
from trainables.trainable import PongPG, PongTRPO

POLE = pong_trpo.PRESETS["cartpole"] | {"gamma": 0.99}
KARPATHY = pong_pg.PRESETS["karpathy"] | {"learning_rate": 2e-3, "gamma": 0.98}
"""As docs/algorithms.md proposes: with the preset's own learning rate of 1e-4 two million steps are half a point."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("trainable", "preset", "expected", "steps"),
    [
        (PongTRPO, POLE | {"hidden_sizes": (32, 32), "timesteps_per_batch": 1000}, 120, 16_000),
        pytest.param(PongTRPO, POLE | {"timesteps_per_batch": 2000}, 475, 240_000, marks=pytest.mark.slow),
        pytest.param(PongPG, pong_pg.PRESETS["default"], -10, 1_000_000, marks=pytest.mark.slow),
        pytest.param(PongPG, KARPATHY, -17, 500_000, marks=pytest.mark.slow),
        pytest.param(PongTRPO, pong_trpo.PRESETS["default"], -10, 1_000_000, marks=pytest.mark.slow),
        pytest.param(PongTRPO, pong_trpo.PRESETS["modular_rl"], -17, 800_000, marks=pytest.mark.slow),
    ],
    ids=["pole", "pole solved", "pg", "pg karpathy", "trpo", "trpo modular_rl"],
)
def test_a_preset_climbs(request, trainable, preset, expected, steps):
    """Untrained, both learners of Pong are at -20.4, and the pole falls after 20 steps."""
    settings = preset | {"num_workers": 2, "eval_interval": 0, "seed": 0}
    if steps < 20_000:
        trial = serial(trainable)(config=settings)
    else:
        trial = request.getfixturevalue("make_trial")(trainable, settings)
    result = trial.train()
    while result[METRIC] < expected and result["timesteps_total"] < steps:
        result = trial.train()
    assert result[METRIC] >= expected
