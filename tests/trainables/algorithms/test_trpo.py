"""TRPO's update on small random batches, what a worker makes of a game, and how many games are asked for."""

import dataclasses

import numpy as np
import pytest

from tests.helpers.trials import CARTPOLE, SEGMENTS
from trainables.algorithms.algorithm import Progress
from trainables.algorithms.trpo import TRPO, advantages
from trainables.config import TRPOConfig
from trainables.learning.distributions import Categorical
from trainables.learning.running_stats import Moments
from trainables.learning.trust_region import Surrogate
from trainables.sampling.rollout import GameNumber, Trajectory

CONFIG = TRPOConfig.from_dict(CARTPOLE | {"hidden_sizes": (5, 5)})
POLICY = TRPO(CONFIG).policy
PONG = {"hidden_sizes": (8,), "gamma": 0.5, "coarse_coding": False} | SEGMENTS


def improve(theta_p, obs_nd, action_n, adv_n, max_kl=0.03, **settings):
    return TRPO(dataclasses.replace(CONFIG, **settings)).improve_policy(theta_p, obs_nd, action_n, adv_n, max_kl)


def batch(n=400):
    """A policy's parameters, and a batch on which action 0 pays where the first input is positive."""
    rng = np.random.default_rng(0)
    obs_nd = rng.standard_normal((n, 4)).astype(np.float32)
    action_n = rng.integers(0, 2, n)
    adv_n = np.where(action_n == 0, np.sign(obs_nd[:, 0]), 0).astype(np.float32)
    return POLICY.init(rng), obs_nd, action_n, adv_n


def test_an_update_improves_the_loss_within_the_trust_region():
    theta_p, obs_nd, action_n, adv_n = batch()
    new_theta_p, info = improve(theta_p, obs_nd, action_n, adv_n, max_kl=0.01)
    assert new_theta_p.dtype == np.float32
    assert info["update_accepted"] == 1
    assert info["loss_after"] < info["loss_before"]
    assert 0.002 < info["kl"] <= 0.01
    old_nk, new_nk = (POLICY.mlp.forward(theta, obs_nd)[0] for theta in (theta_p, new_theta_p))
    assert info["kl"] == pytest.approx(Categorical.kl(old_nk, new_nk).mean(), rel=1e-4)
    assert info["entropy_after"] == pytest.approx(Categorical.entropy(new_nk).mean(), rel=1e-6)


@pytest.mark.parametrize("advantage", [0.0, np.nan, np.inf])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_an_update_without_a_usable_gradient_leaves_theta_and_says_so(advantage):
    theta_p, obs_nd, action_n, _ = batch()
    new_theta_p, info = improve(theta_p, obs_nd, action_n, np.full(len(action_n), advantage, np.float32))
    np.testing.assert_array_equal(new_theta_p, theta_p)
    assert (info["update_accepted"], info["kl"]) == (0, 0)


def test_the_fisher_information_looks_at_every_third_step(monkeypatch):
    seen = []
    fisher_product = Surrogate.fisher_product
    monkeypatch.setattr(Surrogate, "fisher_product", lambda s, v_p: seen.append(s.steps) or fisher_product(s, v_p))
    improve(*batch(), fisher_every=3)
    assert set(seen) == {134}, "of 400 steps"


def test_an_input_that_is_never_active_keeps_its_weights():
    theta_p, obs_nd, action_n, adv_n = batch()
    obs_nd[:, 2] = 0
    new_p, _ = improve(theta_p, obs_nd, action_n, adv_n)
    (before, _), *_ = POLICY.mlp.layers(theta_p)
    (after, _), *_ = POLICY.mlp.layers(new_p)
    assert [*np.flatnonzero((before == after).all(axis=1))] == [2]


def test_games_come_in_pairs_that_hold_about_the_steps_asked_for_and_never_too_few():
    trpo = TRPO(dataclasses.replace(CONFIG, timesteps_per_batch=1500, min_games=3))
    assert trpo.games_for([], 25.0) == 60
    assert trpo.games_for([30, 30, 40, 20], 30.0) == 46
    assert trpo.games_for([], 10_000.0) == 3
    assert trpo.games_for([800, 800], 800.0) == 1
    assert trpo.games_for([800, 800, 800], 800.0) == 0


def test_the_filter_stands_still_while_games_are_played_and_has_seen_every_step_afterwards():
    trpo = TRPO(CONFIG)
    arrays = trpo.init(np.random.default_rng(0))
    weights, worker = trpo.playing_weights(arrays), trpo.worker_factory()()
    before = [array.copy() for array in weights.filter]
    block = worker.play_block(weights, [GameNumber(4, 1, game) for game in range(3)])
    for array, copy in zip(weights.filter, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    batch = trpo.collect(arrays, iter([block]), lambda first, count: iter(()))
    arrays, _ = trpo.update(arrays, batch, Progress(1.0, 1.0), np.random.default_rng(0))
    assert arrays["filter.rows"] == block.steps
    np.testing.assert_allclose(arrays["filter.squares_d"], Moments.of(block.experience.obs_nd).squares_d)


def test_a_game_that_was_cut_off_is_worth_its_last_state():
    rng, trpo = np.random.default_rng(0), TRPO(dataclasses.replace(CONFIG, gae_lambda=1.0, gamma=0.99))
    weights = trpo.playing_weights(trpo.init(rng))
    value = weights.value._replace(scale=np.array(2.0))
    weights = weights._replace(value=value)
    ended = Trajectory(rng.standard_normal((5, 4)), np.zeros(5, np.int8), np.ones(5), False, rng.standard_normal(4))
    games = ended, ended._replace(truncated=True)
    (*_, return_n, _), (*_, cut_return_n, _) = (
        advantages(trpo.settings, trpo.baseline, weights, game) for game in games
    )
    last_state_1d = np.append(weights.filter(ended.last_obs[None]), [[np.float32(5 * (1 - 0.99))]], axis=1)
    worth = trpo.baseline.predict(value, last_state_1d)[0]
    assert worth != 0
    np.testing.assert_allclose(cut_return_n - return_n, worth * 0.99 ** np.arange(5, 0, -1), rtol=1e-5)


@pytest.mark.parametrize(
    ("resets", "before", "expected_returns", "expected_times"),
    [
        (True, 0, [-0.5, -1, 0.25, 0.5, 1], [0, 0.5, 0, 0.5, 1]),
        (True, 7, [-0.5, -1, 0.25, 0.5, 1], [3.5, 4, 0, 0.5, 1]),
        (False, 7, [-0.5 + 1 / 16, -1 + 1 / 8, 0.25, 0.5, 1], [50, 50.5, 51, 51.5, 52]),
    ],
)
def test_returns_and_time_restart_at_each_point_of_pong_or_count_from_the_games_beginning(
    resets, before, expected_returns, expected_times
):
    trpo = TRPO(TRPOConfig(**PONG, reset_on_reward=resets))
    weights = trpo.playing_weights(trpo.init(np.random.default_rng(0)))
    reward_n = np.array([0, -1, 0, 0, 1], np.float32)
    obs_nd = np.zeros((5, 128), np.uint8)
    part = Trajectory(obs_nd, np.zeros(5, np.int8), reward_n, False, obs_nd[0], before, 100)
    _, time_n, _, return_n, _ = advantages(trpo.settings, trpo.baseline, weights, part)
    np.testing.assert_allclose(return_n, expected_returns)
    np.testing.assert_allclose(time_n, expected_times)
