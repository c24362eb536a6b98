"""Policies: samples against probabilities, derivatives of distributions, and what a filter makes of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_expit, softmax

from trainables.learning.distributions import Bernoulli, Categorical
from trainables.learning.kernels import filtered_row
from trainables.learning.policies import ActorCritic, BernoulliPolicy, FilteredPolicy, FilteredWeights
from trainables.learning.running_stats import CLIP, Moments

DRAWS = 20_000
RNG = np.random.default_rng(0)
LOGIT_N = RNG.normal(scale=3, size=20)
LOGIT_NK = RNG.normal(scale=2, size=(20, 3))
ACTION_N = RNG.integers(0, 3, 20)


def assert_drawn_with(p_k, sample, observation):
    counts = np.bincount([sample(observation) for _ in range(DRAWS)], minlength=len(p_k))
    assert (np.abs(counts - DRAWS * p_k) < 3 * np.sqrt(DRAWS * p_k * (1 - p_k))).all()


@pytest.mark.parametrize("policy", [BernoulliPolicy(50, 8), ActorCritic(50, 8, 3)], ids=lambda policy: type(policy))
def test_a_pixel_policys_sampler_draws_with_its_probabilities(policy):
    theta_p = 2 * policy.mlp.init(np.random.default_rng(0))
    others = np.arange(3)  # rows before and behind it in the arrays that rows share
    for columns, values in [((3, 7, 9), (1, -0.5, 0.5)), ((4,), (-1,)), ((), ())]:
        row = (
            np.concatenate([others, np.array(columns, np.int32), others]),
            np.concatenate([others, values, others]).astype(np.float32),
            *(3, 3 + len(columns)),
        )
        x_1d = np.zeros((1, 50), np.float32)
        x_1d[0, [*columns]] = values
        (p_k,) = policy.probabilities(theta_p, x_1d)
        logits = policy.mlp.forward(theta_p, x_1d)[0][0]
        expected = [1 - expit(logits[0]), expit(logits[0])] if len(p_k) == 2 else softmax(logits[:3])
        np.testing.assert_allclose(p_k, expected, rtol=1e-6)
        assert_drawn_with(p_k, policy.sampler(theta_p, np.random.default_rng(2)), row)


@pytest.mark.parametrize("hidden_sizes", [(8,), (8, 7, 6)])
def test_the_filtered_policys_sampler_draws_with_its_probabilities(hidden_sizes):
    policy, rng = FilteredPolicy(num_inputs=5, hidden_sizes=hidden_sizes, num_actions=4), np.random.default_rng(3)
    theta_p = 0.7 * rng.standard_normal(policy.mlp.num_params).astype(np.float32)
    weights = FilteredWeights(theta_p, Moments.of(3 + 2 * rng.standard_normal((50, 5))).filter())
    for obs_d in rng.standard_normal((2, 5)).astype(np.float32):
        p_k = softmax(policy.mlp.forward(theta_p, weights.filter(obs_d[None]))[0][0])
        np.testing.assert_allclose(policy.probabilities(weights, obs_d[None])[0], p_k, rtol=1e-6)
        assert_drawn_with(p_k, policy.sampler(weights, np.random.default_rng(2)), obs_d)


def central_difference(function, x):
    """d sum(function(x)) / dx, entry by entry."""
    slope, eps = np.empty_like(x), 1e-6
    for index in np.ndindex(x.shape):
        shift = np.zeros_like(x)
        shift[index] = eps
        slope[index] = (function(x + shift).sum() - function(x - shift).sum()) / (2 * eps)
    return slope


@pytest.mark.parametrize("action", [0, 1])
def test_bernoullis_score_is_the_slope_of_the_log_probability(action):
    action_n = np.full(len(LOGIT_N), action)
    numeric_n = central_difference(lambda logit_n: log_expit(logit_n if action else -logit_n), LOGIT_N)
    np.testing.assert_allclose(Bernoulli.score(LOGIT_N, action_n), numeric_n, rtol=1e-5, atol=1e-8)


def test_the_categorical_slopes_are_those_of_log_probability_and_entropy():
    numeric_nk = central_difference(lambda logit_nk: Categorical.log_prob(logit_nk, ACTION_N), LOGIT_NK)
    np.testing.assert_allclose(Categorical.score(LOGIT_NK, ACTION_N), numeric_nk, rtol=1e-5, atol=1e-8)
    numeric_nk = central_difference(Categorical.entropy, LOGIT_NK)
    np.testing.assert_allclose(Categorical.entropy_slope(LOGIT_NK), numeric_nk, rtol=1e-5, atol=1e-8)


def test_probabilities_entropy_and_kl_are_their_definitions():
    p_nk, q_nk = softmax(LOGIT_NK, axis=1), softmax(LOGIT_NK[::-1], axis=1)
    np.testing.assert_allclose(np.exp(Categorical.log_prob(LOGIT_NK, ACTION_N)), p_nk[np.arange(20), ACTION_N])
    np.testing.assert_allclose(Categorical.entropy(LOGIT_NK), -(p_nk * np.log(p_nk)).sum(axis=1))
    np.testing.assert_allclose(Categorical.kl(LOGIT_NK, LOGIT_NK[::-1]), (p_nk * np.log(p_nk / q_nk)).sum(axis=1))
    up_n = expit(LOGIT_N)
    np.testing.assert_allclose(Bernoulli.entropy(LOGIT_N), -up_n * np.log(up_n) - (1 - up_n) * np.log(1 - up_n))


@pytest.mark.parametrize("logit", [1e4, -1e4])
def test_extreme_logits_stay_finite(logit):
    logit_nk = np.array([[logit, 0.0]])
    assert np.isfinite([Categorical.log_prob(logit_nk, np.array([action])) for action in (0, 1)]).all()
    assert Bernoulli.entropy(np.array([logit]))[0] == Categorical.entropy(logit_nk)[0] == 0


def test_the_fisher_product_is_the_covariance_of_the_scores():
    tangent_nk, p_nk = RNG.normal(size=LOGIT_NK.shape), softmax(LOGIT_NK, axis=1)
    scores = np.stack([Categorical.score(LOGIT_NK, np.full(20, action)) for action in range(3)])
    expected_nk = np.einsum("na,ank,anj,nj->nk", p_nk, scores, scores, tangent_nk)
    np.testing.assert_allclose(Categorical.fisher_product(p_nk, tangent_nk), expected_nk, atol=1e-12)


@given(sizes=st.lists(st.integers(1, 20), min_size=1, max_size=6), shift=st.sampled_from([0.0, 1e3]))
@settings(deadline=None, derandomize=True)
def test_merged_moments_are_the_moments_of_the_whole(sizes, shift):
    rng = np.random.default_rng(sum(sizes))
    parts, merged = [rng.normal(shift, 2, (size, 3)) for size in sizes], Moments.empty(3)
    for part in parts:
        merged = merged.merge(Moments.of(part))
    whole_nd = np.concatenate(parts)
    assert merged.rows == sum(sizes)
    np.testing.assert_allclose(merged.mean_d, whole_nd.mean(axis=0))
    np.testing.assert_allclose(merged.squares_d, len(whole_nd) * whole_nd.var(axis=0), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_a_filter_makes_z_scores_of_rows_alone_or_together(dtype):
    x_nd = np.random.default_rng(0).normal([90, 100], [2, 30], (2000, 2)).astype(dtype)
    see, before_nd = Moments.of(x_nd).filter(), x_nd.copy()
    y_nd = see(x_nd)
    assert y_nd.dtype == np.float32
    np.testing.assert_allclose([y_nd.mean(axis=0), y_nd.std(axis=0)], [[0, 0], [1, 1]], atol=1e-2)
    np.testing.assert_array_equal(np.stack([filtered_row(x_d, *see) for x_d in x_nd]), y_nd)
    np.testing.assert_array_equal(x_nd, before_nd)


def test_outliers_are_clipped_inputs_that_stand_still_are_zero_and_one_row_is_no_statistics():
    x_nd = np.column_stack([[0.0] * 999 + [1000.0], np.full(1000, 62.0)])
    y_nd = Moments.of(x_nd).filter()(x_nd)
    assert y_nd[-1, 0] == CLIP
    assert not y_nd[:, 1].any()
    for moments in (Moments.empty(2), Moments.of(np.full((1, 2), 7.0))):
        np.testing.assert_array_equal(moments.filter()(np.array([[1, 200]], np.uint8)), [[1, CLIP]])
