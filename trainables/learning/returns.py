"""Returns, advantages, and their standardisation."""

import numpy as np

from trainables.learning.kernels import discounted_sum

Array = np.ndarray


def discounted_returns(reward_n: Array, gamma: float) -> Array:
    """Return of each step: its discounted future reward.

        R[t] = r[t] + gamma * R[t+1]

    The sum restarts at each non-zero reward: a point in Pong is a game boundary, and no action causes what happens in
    the next point (Karpathy 2016, ``discount_rewards``).
    """
    return discounted_sum(reward_n, gamma, reward_n != 0)


def bootstrapped_returns(reward_n: Array, gamma: float, last_value: float, reset_n: Array) -> Array:
    """Discounted returns of a game that may have been cut off in a state worth ``last_value``.

        R[t] = r[t] + gamma * R[t+1] * (1 - reset[t]),   R[n] = last_value,   t = 0 .. n-1

    A game that ended by its rules has ``last_value`` 0.
    """
    x_n = np.asarray(reward_n, np.float64).copy()
    if not reset_n[-1]:
        x_n[-1] += gamma * last_value
    return discounted_sum(x_n, gamma, reset_n)


def generalised_advantages(
    reward_n: Array, value_n: Array, last_value: float, gamma: float, gae_lambda: float, reset_n: Array
) -> Array:
    """Generalised advantage estimation, GAE(gamma, lambda) (Schulman et al. 2016, equations 11, 12 and 16).

        delta[t] = r[t] + gamma * V[t+1] * (1 - reset[t]) - V[t],   V[n] = last_value,   t = 0 .. n-1
        A[t] = delta[t] + gamma * lambda * A[t+1] * (1 - reset[t]),   A[n] = 0

    ``value_n`` are the values of the states before each step; ``last_value`` is that of the state after the last one,
    0 for a game that ended by its rules. With lambda = 1, A + V is the discounted return. Unlike modular_rl, which
    takes V[n] = V[n-1] where a game was cut off, the value is that of the state in which it was.
    """
    next_value_n = np.append(value_n[1:], last_value)
    next_value_n[reset_n] = 0
    delta_n = reward_n + gamma * next_value_n - value_n
    return discounted_sum(delta_n, gamma * gae_lambda, reset_n)


def steps_since_reset(reset_n: Array, before: int = 0) -> Array:
    """How many steps before each step its stretch began: 0, 1, 2, ... again from 0 after each reset.

    The first stretch began ``before`` steps before the first step.
    """
    step_n = np.arange(len(reset_n))
    start_n = np.full(len(reset_n), -before, np.intp)
    start_n[1:] = np.where(reset_n[:-1], step_n[1:], -before)
    return step_n - np.maximum.accumulate(start_n)


def standardise(x_n: Array) -> Array:
    """Shift and scale to mean 0 and standard deviation 1 (n,).

    Unlike in Karpathy's program, a constant sequence becomes zeros instead of NaN: it carries no preference.
    """
    centred_n = x_n - x_n.mean()
    deviation = centred_n.std()
    return centred_n / deviation if deviation > 1e-8 else np.zeros_like(centred_n)
