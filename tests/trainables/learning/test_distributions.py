"""Both action distributions: probabilities that sum to one, and scores that are their derivatives."""

import numpy as np
import pytest
from scipy.special import softmax

from trainables.learning.distributions import Bernoulli, Categorical

RNG = np.random.default_rng(0)
LOGIT_N = RNG.normal(scale=3, size=20)
LOGIT_NK = RNG.normal(scale=2, size=(20, 3))
ACTION_N = RNG.integers(0, 3, 20)
EPS = 1e-6


def central_difference(function, x: np.ndarray) -> np.ndarray:
    """d sum(function(x)) / dx, entry by entry."""
    slope = np.empty_like(x)
    for index in np.ndindex(x.shape):
        shift = np.zeros_like(x)
        shift[index] = EPS
        slope[index] = (function(x + shift).sum() - function(x - shift).sum()) / (2 * EPS)
    return slope


@pytest.mark.parametrize("action", [0, 1])
def test_bernoulli_score_is_the_slope_of_log_prob(action):
    action_n = np.full(len(LOGIT_N), action)
    numeric_n = central_difference(lambda logit_n: Bernoulli.log_prob(logit_n, action_n), LOGIT_N)
    np.testing.assert_allclose(Bernoulli.score(LOGIT_N, action_n), numeric_n, rtol=1e-5, atol=1e-8)


def test_bernoulli_probabilities_and_entropy():
    log_p_n2 = np.stack([Bernoulli.log_prob(LOGIT_N, np.full(len(LOGIT_N), action)) for action in (0, 1)], axis=1)
    np.testing.assert_allclose(np.exp(log_p_n2).sum(axis=1), 1)
    np.testing.assert_allclose(Bernoulli.entropy(LOGIT_N), -(np.exp(log_p_n2) * log_p_n2).sum(axis=1))
    assert Bernoulli.entropy(np.zeros(1))[0] == pytest.approx(np.log(2))


@pytest.mark.parametrize("logit", [1e4, -1e4])
def test_extreme_logits_stay_finite(logit):
    for action in (0, 1):
        assert np.isfinite(Bernoulli.log_prob(np.array([logit]), np.array([action]))).all()
        assert np.isfinite(Categorical.log_prob(np.array([[logit, 0.0]]), np.array([action]))).all()
    assert Bernoulli.entropy(np.array([logit]))[0] == 0
    assert Categorical.entropy(np.array([[logit, 0.0]]))[0] == 0


def test_categorical_score_is_the_slope_of_log_prob():
    numeric_nk = central_difference(lambda logit_nk: Categorical.log_prob(logit_nk, ACTION_N), LOGIT_NK)
    np.testing.assert_allclose(Categorical.score(LOGIT_NK, ACTION_N), numeric_nk, rtol=1e-5, atol=1e-8)


def test_categorical_probabilities_and_entropy():
    p_nk = softmax(LOGIT_NK, axis=1)
    np.testing.assert_allclose(np.exp(Categorical.log_prob(LOGIT_NK, ACTION_N)), p_nk[np.arange(20), ACTION_N])
    np.testing.assert_allclose(Categorical.entropy(LOGIT_NK), -(p_nk * np.log(p_nk)).sum(axis=1))
    assert Categorical.entropy(np.ones((1, 4)))[0] == pytest.approx(np.log(4))


def test_two_categories_are_a_bernoulli():
    logit_n2 = np.stack([np.zeros_like(LOGIT_N), LOGIT_N], axis=1)
    action_n = ACTION_N % 2
    np.testing.assert_allclose(Categorical.log_prob(logit_n2, action_n), Bernoulli.log_prob(LOGIT_N, action_n))
    np.testing.assert_allclose(Categorical.entropy(logit_n2), Bernoulli.entropy(LOGIT_N))


def test_kl_is_zero_at_the_same_logits_and_positive_elsewhere():
    other_nk = LOGIT_NK + RNG.normal(size=LOGIT_NK.shape)
    np.testing.assert_allclose(Categorical.kl(LOGIT_NK, LOGIT_NK + 5.0), 0, atol=1e-12)
    assert (Categorical.kl(LOGIT_NK, other_nk) > 0).all()
    p_nk, q_nk = softmax(LOGIT_NK, axis=1), softmax(other_nk, axis=1)
    np.testing.assert_allclose(Categorical.kl(LOGIT_NK, other_nk), (p_nk * np.log(p_nk / q_nk)).sum(axis=1))


def test_fisher_product_is_the_covariance_of_the_scores():
    tangent_nk = RNG.normal(size=LOGIT_NK.shape)
    p_nk = softmax(LOGIT_NK, axis=1)
    scores = np.stack([Categorical.score(LOGIT_NK, np.full(20, action)) for action in range(3)])
    expected_nk = np.einsum("na,ank,anj,nj->nk", p_nk, scores, scores, tangent_nk)
    np.testing.assert_allclose(Categorical.fisher_product(p_nk, tangent_nk), expected_nk, atol=1e-12)
