"""Policies: gradients against finite differences, and samples against probabilities."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, softmax

from trainables.learning.distributions import Bernoulli
from trainables.learning.policies import BernoulliPolicy, CategoricalPolicy, PixelCategoricalPolicy

DRAWS = 20_000


def sparse_game(policy: BernoulliPolicy, n: int = 25) -> tuple[sparse.csr_matrix, np.ndarray, np.ndarray]:
    """Observations that light few inputs, actions, and weights."""
    rng = np.random.default_rng(1)
    shape = (n, policy.num_inputs)
    x_nd = sparse.csr_matrix(rng.choice([-1.0, 1.0], shape) * (rng.random(shape) < 0.03))
    return x_nd, rng.integers(0, 2, n), rng.standard_normal(n)


def test_score_gradient_is_the_gradient_of_the_weighted_log_likelihood():
    policy = BernoulliPolicy(num_inputs=20, num_hidden=4)
    theta_p = np.random.default_rng(0).standard_normal(policy.mlp.num_params)
    x_nd, action_n, weight_n = sparse_game(policy)

    def objective(parameters: np.ndarray) -> float:
        logit_n = policy.mlp.forward(parameters, x_nd)[0][:, 0]
        return float(Bernoulli.log_prob(logit_n, action_n) @ weight_n)

    shifts = 1e-6 * np.eye(policy.mlp.num_params)
    numeric_p = [(objective(theta_p + shift) - objective(theta_p - shift)) / 2e-6 for shift in shifts]
    grad_p, entropy_n = policy.score_gradient(theta_p, x_nd, action_n, weight_n)
    np.testing.assert_allclose(grad_p, numeric_p, rtol=1e-5, atol=1e-7)
    assert np.all((entropy_n > 0) & (entropy_n < np.log(2) + 1e-9))


def test_the_rows_that_a_game_touches_are_its_whole_gradient():
    policy = BernoulliPolicy(num_inputs=300, num_hidden=5)
    theta_p = policy.mlp.init(np.random.default_rng(0))
    x_nd, action_n, weight_n = sparse_game(policy)
    dense_p, dense_entropy_n = policy.score_gradient(theta_p, x_nd.toarray().astype(np.float32), action_n, weight_n)
    rows, entropy_n = policy.sparse_score_gradient(theta_p, x_nd.astype(np.float32), action_n, weight_n)
    assert len(rows.columns) < 200
    assert rows.nbytes < dense_p.nbytes
    np.testing.assert_allclose(entropy_n, dense_entropy_n, rtol=1e-5)
    total_p = np.ones_like(theta_p)
    policy.add_row_gradient(total_p, rows)
    np.testing.assert_allclose(total_p, 1 + dense_p, atol=1e-5)


def sparse_row(columns, values):
    """A row between others."""
    others = np.arange(3)
    return (
        np.concatenate([others, np.array(columns, np.int32), others]),
        np.concatenate([others, values, others]).astype(np.float32),
        3,
        3 + len(columns),
    )


def test_bernoulli_sampler_draws_with_the_policys_probability():
    policy = BernoulliPolicy(num_inputs=50, num_hidden=8)
    theta_p = policy.mlp.init(np.random.default_rng(0))
    for columns, values in [((3, 7, 9), (1, -1, 1)), ((4,), (-1,)), ((), ()), ((5, 6, 8), (1, 0, -1))]:
        row = sparse_row(columns, values)
        sample = policy.sampler(theta_p, np.random.default_rng(2))
        ups = sum(sample(row) for _ in range(DRAWS))
        x_1d = np.zeros((1, 50), np.float32)
        x_1d[0, [*columns]] = values
        p = expit(float(policy.mlp.forward(theta_p, x_1d)[0][0, 0]))
        assert abs(ups - DRAWS * p) < 3 * np.sqrt(DRAWS * p * (1 - p))


def test_the_sparse_policys_sampler_draws_with_its_probabilities():
    policy, rng = PixelCategoricalPolicy(num_inputs=50, num_hidden=8, num_actions=3), np.random.default_rng(0)
    theta_p = 2 * policy.mlp.init(rng)
    for columns, values in [((3, 7, 9), (1, -0.5, 0.5)), ((4,), (-1,)), ((), ())]:
        row = sparse_row(columns, values)
        sample = policy.sampler(theta_p, np.random.default_rng(2))
        counts = np.bincount([sample(row) for _ in range(DRAWS)], minlength=3)
        x_1d = np.zeros((1, 50), np.float32)
        x_1d[0, [*columns]] = values
        (p_k,) = policy.probabilities(theta_p, x_1d)
        np.testing.assert_allclose(p_k, softmax(policy.mlp.forward(theta_p, x_1d)[0][0]))
        assert (np.abs(counts - DRAWS * p_k) < 3 * np.sqrt(DRAWS * p_k * (1 - p_k))).all()


@pytest.mark.parametrize("hidden_sizes", [(8,), (8, 6), (8, 7, 6)])
def test_categorical_sampler_draws_with_the_policys_probabilities(hidden_sizes):
    policy = CategoricalPolicy(num_inputs=5, hidden_sizes=hidden_sizes, num_actions=4)
    rng = np.random.default_rng(3)
    theta_p = 0.7 * rng.standard_normal(policy.mlp.num_params).astype(np.float32)
    for obs_d in rng.standard_normal((2, 5)).astype(np.float32):
        sample = policy.sampler(theta_p, np.random.default_rng(2))
        counts = np.bincount([sample(obs_d) for _ in range(DRAWS)], minlength=4)
        p_k = softmax(policy.mlp.forward(theta_p, obs_d[None])[0][0])
        assert (np.abs(counts - DRAWS * p_k) < 3 * np.sqrt(DRAWS * p_k * (1 - p_k))).all()


def test_samplers_repeat_with_their_generator():
    policy = CategoricalPolicy(num_inputs=3, hidden_sizes=(4,), num_actions=3)
    theta_p = policy.init(np.random.default_rng(0))
    first, again, other = (policy.sampler(theta_p, np.random.default_rng(seed)) for seed in (0, 0, 1))
    draws = [[sample(np.ones(3, np.float32)) for _ in range(50)] for sample in (first, again, other)]
    assert draws[0] == draws[1] != draws[2]


def test_a_fresh_categorical_policy_is_close_to_uniform():
    policy = CategoricalPolicy(num_inputs=128, hidden_sizes=(64, 64), num_actions=3)
    rng = np.random.default_rng(0)
    logit_nk, _ = policy.mlp.forward(policy.init(rng), rng.standard_normal((100, 128)).astype(np.float32))
    np.testing.assert_allclose(softmax(logit_nk, axis=1), 1 / 3, atol=0.1)
