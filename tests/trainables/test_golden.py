"""Speed changes no results: short runs play the very games, and learn what they learned, when they were recorded.

Returns and lengths are compared exactly, and every game depends on all parameters before it. Of the parameters
themselves only figures are kept, within a tolerance: BLAS adds in another order on another kind of CPU.
"""

import numpy as np
import pytest

from search_spaces import pong_pg
from trainables.trainable import PongPG, PongTRPO

COMMON = {"num_workers": 1, "seed": 7, "eval_interval": 0}
GAMES = {"slots": 0, "batch_size": 3}
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


def test_reinforce_repeats_the_run_that_was_recorded(make_trial):
    trial = make_trial(PongPG, REINFORCE_RUN)
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
            [-20, -21, -20, -21, -21, -19, -20, -19, -20],
            [(2847, 981), (3029, 1196), (3523, 1319)],
            [1.069562316, 0.1450537941, 6.488398075, 0.08742968989, 0.1150332615, 0.03047377254],
        ),
        (
            SEGMENTS,
            [-21, -21, -20, -20, -21, -21, -21],
            [(3000, 0), (3000, 1282), (3000, 1189)],
            [0.9572012822, -0.3625830305, 6.101498127, -1.925066898, 0.1310912967, 0.03765228721],
        ),
    ],
    ids=["games", "segments"],
)
def test_ppo_repeats_the_run_that_was_recorded(
    make_trial, collected, expected_returns, expected_lengths, expected_figures
):
    trial = make_trial(PongPG, PPO_RUN | collected)
    start = trial.arrays
    returns, lengths, last = played(trial)
    assert returns == expected_returns
    assert lengths == expected_lengths
    moved = [f for name in ("theta", "value") for f in figures(trial.arrays[name] - start[name])]
    assert [last["policy/entropy"], last["baseline/explained_variance"], *moved] == close(expected_figures)


@pytest.mark.parametrize(
    ("settings", "expected_returns", "expected_lengths", "expected_figures"),
    [
        (
            TRPO_GAMES | {"coarse_coding": False, "half_life": 2_000_000},
            [-20, -21, -21, -18, -21, -20, -21, -21, -21, -19],
            [(4165, 1174), (1804, 979), (3973, 1135)],
            [0.0167904347, 0.3301239044, 0.7428337300, -0.2988030511, 1.7453631000, 0.2626569630],
        ),
        (
            TRPO_GAMES,
            [-19, -20, -21, -18, -21, -21, -21, -21, -18, -21],
            [(4113, 1234), (1889, 1125), (4678, 1412)],
            [0.0132033591, 0.2510662433, 1.0376250000, 1.4677750749, 1.3728710000, -1.2721840262],
        ),
        (
            SEGMENTS,
            [-21, -20, -21, -20, -21, -20, -21],
            [(3000, 0), (3000, 1226), (3000, 1126)],
            [0.01520912997, 0.5015669141, 1.726333141, 1.944169271, 2.449750423, -0.3738495476],
        ),
    ],
    ids=["memory", "coarse coding", "segments"],
)
def test_trpo_repeats_the_run_that_was_recorded(
    make_trial, settings, expected_returns, expected_lengths, expected_figures
):
    trial = make_trial(PongTRPO, TRPO_RUN | settings)
    start = trial.arrays
    returns, lengths, last = played(trial)
    assert returns == expected_returns
    assert lengths == expected_lengths
    moved = [f for name in ("theta", "baseline.theta_p") for f in figures(trial.arrays[name] - start[name])]
    assert [last["policy/kl"], last["baseline/explained_variance_after"], *moved] == close(expected_figures)
