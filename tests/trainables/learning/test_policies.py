"""Policies: samples against probabilities."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from trainables.learning.policies import ActorCritic, BernoulliPolicy, FilteredPolicy, FilteredWeights
from trainables.learning.running_stats import Moments

DRAWS = 20_000


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


def test_the_pixel_policys_sampler_draws_with_its_probabilities():
    policy, rng = ActorCritic(num_inputs=50, num_hidden=8, num_actions=3), np.random.default_rng(0)
    theta_p = 2 * policy.mlp.init(rng)
    for columns, values in [((3, 7, 9), (1, -0.5, 0.5)), ((4,), (-1,)), ((), ())]:
        row = sparse_row(columns, values)
        sample = policy.sampler(theta_p, np.random.default_rng(2))
        counts = np.bincount([sample(row) for _ in range(DRAWS)], minlength=3)
        x_1d = np.zeros((1, 50), np.float32)
        x_1d[0, [*columns]] = values
        (p_k,) = policy.probabilities(theta_p, x_1d)
        np.testing.assert_allclose(p_k, softmax(policy.forward(theta_p, x_1d)[0][0]))
        assert (np.abs(counts - DRAWS * p_k) < 3 * np.sqrt(DRAWS * p_k * (1 - p_k))).all()


@pytest.mark.parametrize("hidden_sizes", [(8,), (8, 6), (8, 7, 6)])
def test_the_filtered_policys_sampler_draws_with_the_policys_probabilities(hidden_sizes):
    policy = FilteredPolicy(num_inputs=5, hidden_sizes=hidden_sizes, num_actions=4)
    rng = np.random.default_rng(3)
    theta_p = 0.7 * rng.standard_normal(policy.mlp.num_params).astype(np.float32)
    weights = FilteredWeights(theta_p, Moments.of(3 + 2 * rng.standard_normal((50, 5))).filter())
    for obs_d in rng.standard_normal((2, 5)).astype(np.float32):
        sample = policy.sampler(weights, np.random.default_rng(2))
        counts = np.bincount([sample(obs_d) for _ in range(DRAWS)], minlength=4)
        p_k = softmax(policy.mlp.forward(theta_p, weights.filter(obs_d[None]))[0][0])
        np.testing.assert_allclose(policy.probabilities(weights, obs_d[None])[0], p_k, rtol=1e-6)
        assert (np.abs(counts - DRAWS * p_k) < 3 * np.sqrt(DRAWS * p_k * (1 - p_k))).all()


def test_samplers_repeat_with_their_generator():
    policy = FilteredPolicy(num_inputs=3, hidden_sizes=(4,), num_actions=3)
    weights = FilteredWeights(policy.init(np.random.default_rng(0)), Moments.empty(3).filter())
    first, again, other = (policy.sampler(weights, np.random.default_rng(seed)) for seed in (0, 0, 1))
    draws = [[sample(np.ones(3, np.float32)) for _ in range(50)] for sample in (first, again, other)]
    assert draws[0] == draws[1] != draws[2]


def test_a_fresh_filtered_policy_is_close_to_uniform():
    policy = FilteredPolicy(num_inputs=128, hidden_sizes=(64, 64), num_actions=3)
    rng = np.random.default_rng(0)
    logit_nk, _ = policy.mlp.forward(policy.init(rng), rng.standard_normal((100, 128)).astype(np.float32))
    np.testing.assert_allclose(softmax(logit_nk, axis=1), 1 / 3, atol=0.1)
