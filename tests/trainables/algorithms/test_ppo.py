"""PPO: its gradient against finite differences, the clip, its update, and what travels of a game."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from trainables.algorithms.ppo import PPO, VALUE_WEIGHT, Steps, clipped_objective, objective_slope
from trainables.config import PGConfig
from trainables.learning.distributions import Categorical
from trainables.learning.inputs import SparseRows
from trainables.learning.optimisers import Adam
from trainables.learning.policies import ActorCritic
from trainables.learning.returns import discounted_returns, generalised_advantages
from trainables.sampling.environments import DoublePixels
from trainables.sampling.pool import array_bytes
from trainables.sampling.rollout import GameNumber

NETWORK = ActorCritic(num_inputs=12, num_hidden=3, num_actions=3)
CLIP, BONUS = 0.2, 0.05


def make_ppo(**settings):
    """PPO on a network of 12 inputs."""
    changes = {"epochs": 2, "minibatch_size": 10, "clip": CLIP, "hidden_size": 3}
    ppo = PPO(PGConfig(**changes | settings))
    ppo.policy = NETWORK
    return ppo


def played(theta_p, n=30, seed=1):
    """Steps that the policy of ``theta_p`` has played, as float64."""
    rng = np.random.default_rng(seed)
    x_nd = SparseRows.of(sparse.csr_matrix(rng.choice([-1.0, 1.0], (n, 12)) * (rng.random((n, 12)) < 0.3)))
    action_n = rng.integers(0, 3, n)
    logit_nk, _ = NETWORK.forward(theta_p, x_nd)
    log_prob_n, entropy_n = Categorical.log_prob(logit_nk, action_n), Categorical.entropy(logit_nk)
    adv_n, value_n, return_n = rng.standard_normal((3, n))
    return Steps(x_nd, action_n, log_prob_n, adv_n, value_n, return_n, entropy_n)


def objective(theta_p, steps):
    """Equations 7 and 9 of the paper, as they stand there."""
    logit_nk, value_n = NETWORK.forward(theta_p, steps.x_nd)
    ratio_n = np.exp(Categorical.log_prob(logit_nk, steps.action_n) - steps.log_prob_n)
    clipped_n = np.minimum(ratio_n * steps.adv_n, np.clip(ratio_n, 1 - CLIP, 1 + CLIP) * steps.adv_n)
    bonus_n = BONUS * Categorical.entropy(logit_nk)
    return np.mean(clipped_n + bonus_n - VALUE_WEIGHT * (steps.return_n - value_n) ** 2)


def gradient(theta_p, steps):
    out_n, tape = NETWORK.mlp.forward(theta_p, steps.x_nd)
    slope_nk, info = objective_slope(out_n, steps, CLIP, BONUS)
    return NETWORK.mlp.vjp(theta_p, tape, slope_nk), info


def test_the_gradient_is_that_of_the_papers_objective():
    rng = np.random.default_rng(0)
    old_p, theta_p = rng.standard_normal((2, NETWORK.mlp.num_params))
    steps = played(old_p)
    shifts = 1e-6 * np.eye(len(theta_p))
    numeric_p = [(objective(theta_p + s, steps) - objective(theta_p - s, steps)) / 2e-6 for s in shifts]
    gradient_p, info = gradient(theta_p, steps)
    np.testing.assert_allclose(gradient_p, numeric_p, atol=1e-7)
    assert 0.2 < info.clip_fraction < 0.8, "a case in which the clip matters"
    assert info.kl > 0
    _, at_old = gradient(old_p, steps)
    assert at_old == (pytest.approx(0, abs=1e-12), 0, pytest.approx(steps.adv_n.mean()))


def test_a_ratio_that_overflows_is_clipped():
    objective_n, slope_n = clipped_objective(np.array([np.inf, 0.0]), np.array([2.0, -1.0]), CLIP)
    assert slope_n.tolist() == [0, 0]
    assert objective_n == pytest.approx([2.4, -0.8])


def test_an_update_improves_the_objective_and_repeats_with_its_generator():
    theta_p = np.random.default_rng(0).standard_normal(NETWORK.mlp.num_params)
    steps, ppo = played(theta_p), make_ppo(epochs=20)
    state = Adam(1e-3).init(len(theta_p))
    runs = [ppo.ascend(theta_p, state, steps, 1.0, BONUS, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert all(objective(new_p, steps) > objective(theta_p, steps) for new_p, *_ in runs)
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert not np.array_equal(runs[0][0], runs[2][0])
    assert runs[0][1]["count"] == 20 * 3, "three minibatches of ten in each epoch"
    assert runs[0][3] == pytest.approx(np.linalg.norm(runs[0][0] - theta_p))


def test_threads_change_no_bit_and_inputs_that_are_never_active_change_nothing():
    theta_p = np.random.default_rng(0).standard_normal(NETWORK.mlp.num_params).astype(np.float32)
    steps = played(theta_p)
    dark = np.isin(steps.x_nd.columns, [2, 7])
    steps = steps._replace(x_nd=steps.x_nd._replace(columns=np.where(dark, 3, steps.x_nd.columns)))
    state = {name: array + 1 for name, array in Adam(1e-3).init(len(theta_p)).items()}
    ones, twos = make_ppo(), make_ppo()
    twos.num_cores = 2
    runs = [ppo.ascend(theta_p, state, steps, 1.0, BONUS, np.random.default_rng(0)) for ppo in (ones, twos)]
    for one, two in zip(runs[0][1].values(), runs[1][1].values(), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    for array, before in ((runs[0][0], theta_p), (runs[0][1]["mean"], state["mean"])):
        (rows, _), _ = NETWORK.mlp.layers(array)
        (rows_before, _), _ = NETWORK.mlp.layers(before)
        changed = (rows != rows_before).any(axis=1)
        assert [*np.flatnonzero(~changed)] == [2, 7]


def test_what_travels_of_a_game_is_what_was_played_judged_and_small():
    algorithm, number = PPO(PGConfig(hidden_size=20, gae_lambda=0.95)), GameNumber(2, 0, 0)
    arrays = algorithm.init(np.random.default_rng(0))
    worker, theta_p = algorithm.worker_factory()(), algorithm.playing_weights(arrays)
    block, game = worker.play_block(theta_p, [number]), worker.play(theta_p, number)
    assert array_bytes(block) < 220 * block.steps
    steps = algorithm.collect(arrays, iter([block]), partial(pytest.fail, "no more games"))
    np.testing.assert_array_equal(dense(steps.x_nd), game.obs_nd.toarray())
    np.testing.assert_array_equal(steps.action_n, game.action_n)
    logit_nk, value_n = algorithm.policy.forward(theta_p, game.obs_nd)
    np.testing.assert_array_equal(steps.log_prob_n, Categorical.log_prob(logit_nk, game.action_n))
    adv_n = generalised_advantages(game.reward_n, value_n, 0.0, 0.99, 0.95, game.reward_n != 0)
    np.testing.assert_array_equal(steps.adv_n, adv_n)
    np.testing.assert_array_equal(steps.value_n, value_n)
    np.testing.assert_array_equal(steps.return_n, discounted_returns(game.reward_n, 0.99))
    assert block.games == [(game.episode_return, len(game.action_n))]
    assert block.points == (game.episode_return + 21, 21), "a lost game"


def test_a_part_of_a_game_is_worth_the_value_of_the_state_behind_it_whatever_lambda_is():
    algorithm = PPO(PGConfig(hidden_size=20, gamma=0.9, gae_lambda=0.5))
    worker = algorithm.worker_factory()()
    theta_p = algorithm.playing_weights(algorithm.init(np.random.default_rng(0)))
    game = worker.play(theta_p, GameNumber(2, 0, 0))
    cut = 20  # before the first point
    part = game._replace(
        obs_nd=game.obs_nd[:cut],
        action_n=game.action_n[:cut],
        reward_n=game.reward_n[:cut],
        truncated=True,
        last_obs=sparse_row(game.obs_nd[cut]),
    )
    assert not part.reward_n.any()
    _, value_n = algorithm.policy.forward(theta_p, game.obs_nd)
    np.testing.assert_allclose(
        worker.pack(theta_p, [part]).return_n, value_n[cut] * 0.9 ** np.arange(cut, 0, -1), rtol=1e-4
    )


def dense(x_nd):
    """Sparse rows, all of them and in order, as an array."""
    starts = np.append(x_nd.starts, len(x_nd.columns))
    return sparse.csr_matrix((x_nd.values, x_nd.columns, starts), (len(x_nd.starts), DoublePixels.num_pixels)).toarray()


def sparse_row(x_1d):
    return x_1d.indices, x_1d.data, 0, x_1d.nnz
