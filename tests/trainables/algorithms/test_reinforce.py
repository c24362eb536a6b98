"""REINFORCE's gradient against finite differences, and against the notebook's dense arithmetic on real games."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_expit

from experiments.benchmarks.one_core import NotebookModel
from trainables.algorithms.algorithm import Progress, pixel_optimiser
from trainables.algorithms.reinforce import Reinforce, add_gradient, score_gradient
from trainables.config import PGConfig
from trainables.learning.policies import BernoulliPolicy
from trainables.learning.returns import discounted_returns, standardise
from trainables.sampling.environments import PongPixels
from trainables.sampling.pool import array_bytes
from trainables.sampling.rollout import GameNumber, rollout

CONFIG = PGConfig(method="reinforce", slots=0, games_per_update=2, hidden_size=20, gamma=0.99)
POLICY = Reinforce(CONFIG).policy


@pytest.fixture(scope="module")
def worker():
    return Reinforce(CONFIG).worker_factory()()


@pytest.fixture(scope="module")
def theta():
    return POLICY.mlp.init(np.random.default_rng(0))


def summed(theta, *blocks):
    total = np.zeros_like(theta)
    for block in blocks:
        add_gradient(POLICY, total, block)
    return total


def test_score_gradient_is_the_gradient_of_the_weighted_log_likelihood():
    policy, rng, shape = BernoulliPolicy(num_inputs=20, num_hidden=4), np.random.default_rng(1), (25, 20)
    theta_p = rng.standard_normal(policy.mlp.num_params)
    x_nd = sparse.csr_matrix(rng.choice([-1.0, 1.0], shape) * (rng.random(shape) < 0.03))
    action_n, weight_n = rng.integers(0, 2, 25), rng.standard_normal(25)

    def objective(parameters: np.ndarray) -> float:
        logit_n = policy.mlp.forward(parameters, x_nd)[0][:, 0]
        return float(log_expit(np.where(action_n == 1, logit_n, -logit_n)) @ weight_n)

    shifts = 1e-6 * np.eye(policy.mlp.num_params)
    numeric_p = [(objective(theta_p + shift) - objective(theta_p - shift)) / 2e-6 for shift in shifts]
    grad_p, entropy_n = score_gradient(policy, theta_p, x_nd, action_n, weight_n)
    np.testing.assert_allclose(grad_p, numeric_p, rtol=1e-5, atol=1e-7)
    assert np.all((entropy_n > 0) & (entropy_n < np.log(2) + 1e-9))


def test_the_sparse_gradient_of_a_real_game_equals_the_notebooks_dense_one(worker, theta):
    number = GameNumber(3, 1, 0)
    env_rng, action_rng = number.generators()
    played = rollout(PongPixels(), POLICY.sampler(theta, action_rng), env_rng)

    (w1, _), (w2, _) = POLICY.mlp.layers(theta.astype(np.float64))
    notebook = NotebookModel(w1.T.copy(), w2.ravel())
    frames = played.obs_nd.toarray().astype(np.float64)
    outputs = [notebook.forward(frame) for frame in frames]
    advantage = standardise(discounted_returns(played.reward_n, CONFIG.gamma))
    score = (played.action_n - np.array([p for p, _ in outputs])) * advantage
    g1, g2 = notebook.gradient(frames, np.vstack([hidden for _, hidden in outputs]), score)

    block = worker.play_block(theta, [number])
    (t1, _), (t2, _) = POLICY.mlp.layers(summed(theta, block.experience))
    np.testing.assert_allclose(t1, g1.T, atol=1e-5 * np.abs(g1).max())
    np.testing.assert_allclose(t2.ravel(), g2, atol=1e-5 * np.abs(g2).max())
    assert block.games == [(played.episode_return, len(frames))]
    assert 300 < len(block.experience.columns) < 1200, "a game lights 800 to 1,100 of 6,400 pixels"


def test_a_block_of_games_sends_the_sum_of_their_gradients(worker, theta):
    block = [GameNumber(0, 0, game) for game in range(3)]
    alone, together = [worker.play_block(theta, [number]) for number in block], worker.play_block(theta, block)
    gradients = [each.experience for each in alone]
    total = summed(theta, together.experience)
    np.testing.assert_allclose(total, summed(theta, *gradients), atol=1e-5 * np.abs(total).max())
    assert together.games == [game for each in alone for game in each.games]
    assert together.experience.entropy_g == pytest.approx([gradient.entropy_g[0] for gradient in gradients])
    assert array_bytes(together) < 0.9 * sum(map(array_bytes, gradients)), "games light much the same pixels"


def test_an_update_is_one_step_of_the_optimiser_along_the_sum(worker, theta):
    algorithm = Reinforce(CONFIG)
    arrays = algorithm.init(np.random.default_rng(0))
    blocks = [worker.play_block(theta, [GameNumber(0, 0, game)]) for game in range(2)]
    batch = algorithm.collect(arrays, iter(blocks), partial(pytest.fail, "no more games"))
    np.testing.assert_array_equal(batch.gradient_p, summed(theta, *(block.experience for block in blocks)))
    updated, metrics = algorithm.update(arrays, batch, Progress(0.5, 1.0), np.random.default_rng(0))
    expected, _ = pixel_optimiser(CONFIG, 0.5).ascend(
        arrays["theta"], batch.gradient_p, pixel_optimiser(CONFIG).init(len(theta))
    )
    np.testing.assert_array_equal(updated["theta"], expected)
    assert metrics["policy/learning_rate"] == CONFIG.learning_rate / 2
