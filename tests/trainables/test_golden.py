"""Speed changes no results: short runs play the very games, and learn what they learned, when they were recorded.

Returns and lengths are compared exactly, and every game depends on all parameters before it. Of the parameters
themselves only figures are kept.
"""

import os

import numpy as np
import pytest

from search_spaces import pong_pg
from trainables.processor import AVX2_KERNELS, KERNELS
from trainables.trainable import PongPG, PongTRPO

pytestmark = pytest.mark.skipif(
    os.environ.get(KERNELS) != AVX2_KERNELS, reason="recorded with BLAS's kernels for AVX2, which are not used here"
)

COMMON = {"num_workers": 1, "seed": 7, "eval_interval": 0}
GAMES = {"slots": 0, "games_per_update": 3}
PPO_RUN = COMMON | {"gae_lambda": 0.95, "entropy_bonus": 0.03, "learning_rate": 1e-3, "half_life": 3_000_000}
TRPO_RUN = COMMON | {"max_kl": 0.03, "half_life": 4_000_000}
TRPO_GAMES = {"slots": 0, "timesteps_per_batch": 3000}
REINFORCE_RUN = pong_pg.PRESETS["karpathy"] | COMMON | GAMES | {"learning_rate": 2e-3, "gamma": 0.98}
SEGMENTS = {"slots": 4, "segment_length": 250, "updates_per_iteration": 3}


def played(trial, iterations=3):
    """Returns of all games, each iteration's steps and longest game, and what the last iteration reported."""
    results = [trial.train() for _ in range(iterations)]
    lengths = [(result["timesteps_this_iter"], result["episode_len_max"]) for result in results]
    return trial.episodes.recent_returns, lengths, results[-1]


def figures(array):
    """Two numbers that tell an array from its neighbours: its norm, and how far it goes in an arbitrary direction."""
    direction = np.random.default_rng(0).standard_normal(array.shape)
    return [np.linalg.norm(array), array @ direction]


def close(values):
    return pytest.approx(values, rel=1e-4)


def test_reinforce_repeats_the_run_that_was_recorded(reused):
    trial = reused(PongPG, REINFORCE_RUN)
    start = trial.arrays["theta"]
    returns, lengths, last = played(trial)
    assert returns == [-21, -21, -21, -21, -20, -20, -21, -21, -20]
    assert lengths == [(2717, 1009), (3029, 1161), (3115, 1128)]
    assert last["policy/entropy"] == close(0.5767233769)
    assert figures(trial.arrays["theta"] - start) == close([13.981724, 0.7487451718])


@pytest.mark.parametrize(
    ("collected", "expected_returns", "expected_lengths", "expected_figures"),
    [
        (
            GAMES,
            [-20, -21, -20, -21, -21, -19, -21, -21, -21],
            [(2847, 981), (3331, 1258), (2902, 1070)],
            [1.072160244, -0.1383525225, 6.05573082, 5.368509161, 0.1027007103, 0.01819902662],
        ),
        (
            SEGMENTS,
            [-21, -21, -21, -20, -21, -21, -21, -20],
            [(3000, 0), (3000, 1163), (3000, 1128)],
            [0.9801949859, -1.118305767, 5.303212166, 0.3402814785, 0.09602440894, 0.1224573243],
        ),
    ],
    ids=["games", "segments"],
)
def test_ppo_repeats_the_run_that_was_recorded(reused, collected, expected_returns, expected_lengths, expected_figures):
    trial = reused(PongPG, PPO_RUN | collected)
    start = trial.arrays
    returns, lengths, last = played(trial)
    assert returns == expected_returns
    assert lengths == expected_lengths
    moved = [f for name in ("theta", "value") for f in figures(trial.arrays[name] - start[name])]
    assert [last["policy/entropy"], last["value/explained_variance"], *moved] == close(expected_figures)


@pytest.mark.parametrize(
    ("settings", "expected_returns", "expected_lengths", "expected_figures"),
    [
        (
            TRPO_GAMES | {"coarse_coding": False, "half_life": 2_000_000},
            [-20, -21, -21, -18, -21, -20, -21, -21, -21, -19],
            [(4165, 1174), (1804, 979), (3973, 1135)],
            [0.01679044234, 0.3301239215, 0.7428360581, -0.2987952381, 1.745361805, 0.2626532801],
        ),
        (
            TRPO_GAMES,
            [-19, -20, -21, -18, -21, -21, -21, -21, -18, -21],
            [(4113, 1234), (1889, 1125), (4678, 1412)],
            [0.01320335905, 0.2510661277, 1.037623167, 1.467791864, 1.372873545, -1.272175303],
        ),
        (
            SEGMENTS,
            [-21, -20, -21, -20, -21, -20, -21],
            [(3000, 0), (3000, 1226), (3000, 1126)],
            [0.01520443694, 0.5015661714, 1.726189017, 1.948785662, 2.4497962, -0.3739724495],
        ),
    ],
    ids=["memory", "coarse coding", "segments"],
)
def test_trpo_repeats_the_run_that_was_recorded(reused, settings, expected_returns, expected_lengths, expected_figures):
    trial = reused(PongTRPO, TRPO_RUN | settings)
    start = trial.arrays
    returns, lengths, last = played(trial)
    assert returns == expected_returns
    assert lengths == expected_lengths
    moved = [f for name in ("theta", "baseline.theta_p") for f in figures(trial.arrays[name] - start[name])]
    assert [last["policy/kl"], last["value/explained_variance_after"], *moved] == close(expected_figures)
