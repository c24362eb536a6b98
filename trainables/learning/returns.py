"""Returns and their standardisation."""

import numpy as np
from scipy.signal import lfilter

Array = np.ndarray


def discounted_sum(x_n: Array, gamma: float, reset_n: Array | None = None) -> Array:
    """Discounted sums of a sequence from each step to its end, or to the next reset.

        y[t] = x[t] + gamma * y[t+1] * (1 - reset[t]),   y[n] = 0,   t = 0 .. n-1

    ``reset_n`` (bool) marks the last step of a stretch: nothing behind it reaches the steps before it.
    The recursion is a first-order linear filter run backwards through each stretch (float64 inside).
    """
    y_n = np.empty(len(x_n), np.float64)
    last = np.flatnonzero(reset_n) + 1 if reset_n is not None else np.empty(0, np.intp)
    for start, stop in zip([0, *last], [*last, len(x_n)], strict=True):
        y_n[start:stop] = lfilter([1.0], [1.0, -gamma], x_n[start:stop][::-1])[::-1]
    return y_n


def discounted_returns(reward_n: Array, gamma: float, reset_on_reward: bool = True) -> Array:
    """Return of each step: its discounted future reward.

        R[t] = r[t] + gamma * R[t+1]

    With ``reset_on_reward`` the sum restarts at each non-zero reward: a point in Pong is a game boundary, and no
    action causes what happens in the next point (Karpathy 2016; seed document 002, ``process_rewards``).
    """
    return discounted_sum(reward_n, gamma, reward_n != 0 if reset_on_reward else None)


def standardise(x_n: Array) -> Array:
    """Shift and scale to mean 0 and standard deviation 1 (seed document 002).

    Unlike the seed, a constant sequence becomes zeros instead of NaN: it carries no preference.
    """
    centred_n = x_n - x_n.mean()
    deviation = centred_n.std()
    return centred_n / deviation if deviation > 1e-8 else np.zeros_like(centred_n)
