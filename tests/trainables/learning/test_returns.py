"""Returns and advantages against their recursions, written out step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.learning.kernels import discounted_sum
from trainables.learning.returns import (
    bootstrapped_returns,
    discounted_returns,
    generalised_advantages,
    standardise,
    steps_since_reset,
)

GAMES = st.lists(st.sampled_from([-1.0, 0.0, 0.0, 0.0, 1.0]), min_size=1, max_size=30).map(np.array)
DISCOUNTS = st.floats(0.01, 1)


@given(x_n=GAMES, gamma=DISCOUNTS, seed=st.integers(0, 99))
@settings(deadline=None, derandomize=True)
def test_discounted_sum_follows_its_recursion(x_n, gamma, seed):
    reset_n = np.random.default_rng(seed).random(len(x_n)) < 0.3
    expected, y = [], 0.0
    for x, reset in zip(x_n[::-1], reset_n[::-1], strict=True):
        y = x + gamma * y * (1 - reset)
        expected.append(y)
    np.testing.assert_allclose(discounted_sum(x_n, gamma, reset_n), expected[::-1], atol=1e-12)


def test_returns_restart_at_each_point():
    reward_n = np.array([0, 0, -1, 0, 1, 0], np.float32)
    np.testing.assert_allclose(discounted_returns(reward_n, 0.5), [-0.25, -0.5, -1, 0.5, 1, 0])


def test_a_game_that_was_cut_off_is_worth_its_last_state():
    reward_n = np.array([0, 1, 0], np.float32)
    np.testing.assert_allclose(bootstrapped_returns(reward_n, 0.5, 8.0, np.zeros(3, bool)), [0.5 + 1, 1 + 2, 4])
    np.testing.assert_allclose(bootstrapped_returns(reward_n, 0.5, 8.0, reward_n != 0), [0.5, 1, 4])
    at_the_point = np.array([False, False, True])
    np.testing.assert_allclose(bootstrapped_returns(reward_n, 0.5, 8.0, at_the_point), [0.5, 1, 0])


@given(reward_n=GAMES, gamma=DISCOUNTS, gae_lambda=st.floats(0, 1), reset=st.booleans(), seed=st.integers(0, 99))
@settings(deadline=None, derandomize=True)
def test_advantages_follow_their_recursion(reward_n, gamma, gae_lambda, reset, seed):
    *value_n, last_value = np.random.default_rng(seed).standard_normal(len(reward_n) + 1)
    reset_n = (reward_n != 0) & reset
    expected, advantage, next_value = [], 0.0, last_value
    for reward, value, end in zip(reward_n[::-1], value_n[::-1], reset_n[::-1], strict=True):
        delta = reward + gamma * next_value * (1 - end) - value
        advantage = delta + gamma * gae_lambda * advantage * (1 - end)
        expected.append(advantage)
        next_value = value
    got = generalised_advantages(reward_n, np.array(value_n), last_value, gamma, gae_lambda, reset_n)
    np.testing.assert_allclose(got, expected[::-1], atol=1e-9)


@given(reward_n=GAMES, gamma=DISCOUNTS, reset=st.booleans(), seed=st.integers(0, 99))
@settings(deadline=None, derandomize=True)
def test_with_lambda_1_advantage_plus_value_is_the_return(reward_n, gamma, reset, seed):
    *value_n, last_value = np.random.default_rng(seed).standard_normal(len(reward_n) + 1)
    value_n, reset_n = np.array(value_n), (reward_n != 0) & reset
    adv_n = generalised_advantages(reward_n, value_n, last_value, gamma, 1.0, reset_n)
    np.testing.assert_allclose(adv_n + value_n, bootstrapped_returns(reward_n, gamma, last_value, reset_n), atol=1e-9)


def test_steps_since_reset():
    reset_n = np.array([0, 0, 1, 0, 1, 1, 0, 0], bool)
    np.testing.assert_array_equal(steps_since_reset(reset_n), [0, 1, 2, 0, 1, 0, 0, 1])


def test_standardise():
    x_n = np.random.default_rng(0).normal(5, 3, 100)
    assert standardise(x_n).mean() == pytest.approx(0, abs=1e-12)
    assert standardise(x_n).std() == pytest.approx(1)
    np.testing.assert_allclose(standardise(3 * x_n + 7), standardise(x_n))
    np.testing.assert_array_equal(standardise(np.full(4, 0.1)), np.zeros(4))
