"""Gradient ascent with a memory, as pure functions of (theta, gradient, state).

State is a dict of arrays, so that a checkpoint can store it without knowing the optimiser.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trainables.learning.compiled import compiled

Array = np.ndarray
State = dict[str, Array]


class Optimiser(Protocol):
    """What a trainable needs of an optimiser."""

    def init(self, num_params: int) -> State:
        """The state before the first update."""
        ...

    def ascend(self, theta_p: Array, grad_p: Array, state: State) -> tuple[Array, State]:
        """One step uphill: ``(new_theta, new_state)``. The inputs stay as they are."""
        ...


def rmsprop_numpy(theta_p: Array, grad_p: Array, mean_square_p: Array, decay: float, rate: float) -> tuple[Array, ...]:
    """``rmsprop`` in NumPy."""
    new_mean_square_p = decay * mean_square_p + (1 - decay) * grad_p * grad_p
    step_p = grad_p / (np.sqrt(new_mean_square_p) + np.float32(1e-5))
    return theta_p + rate * step_p, new_mean_square_p


@compiled(otherwise=rmsprop_numpy)
def rmsprop(theta_p: Array, grad_p: Array, mean_square_p: Array, decay: float, rate: float) -> tuple[Array, ...]:
    """``RMSProp``'s new theta and mean square in one go: entry by entry it takes half the time, most of it memory's."""
    new_theta_p, new_mean_square_p = np.empty_like(theta_p), np.empty_like(theta_p)
    old, new, epsilon, rate32 = np.float32(decay), np.float32(1 - decay), np.float32(1e-5), np.float32(rate)
    for p in range(len(theta_p)):
        new_mean_square_p[p] = old * mean_square_p[p] + new * grad_p[p] * grad_p[p]
        new_theta_p[p] = theta_p[p] + rate32 * (grad_p[p] / (np.sqrt(new_mean_square_p[p]) + epsilon))
    return new_theta_p, new_mean_square_p


def adam_numpy(theta_p: Array, grad_p: Array, mean_p: Array, mean_square_p: Array, rate: float) -> tuple[Array, ...]:
    """``adam`` in NumPy."""
    new_mean_p = 0.9 * mean_p + (1 - 0.9) * grad_p
    new_mean_square_p = 0.999 * mean_square_p + (1 - 0.999) * grad_p * grad_p
    step_p = new_mean_p / (np.sqrt(new_mean_square_p) + np.float32(1e-8))
    return theta_p + rate * step_p, new_mean_p, new_mean_square_p


@compiled(otherwise=adam_numpy)
def adam(theta_p: Array, grad_p: Array, mean_p: Array, mean_square_p: Array, rate: float) -> tuple[Array, ...]:
    """``Adam``'s new theta, mean and mean square in one go; ``rate`` is the learning rate without the moments' bias.

    PPO takes dozens of these steps an update, and each is as long as memory takes.
    """
    new_theta_p, new_mean_p, new_mean_square_p = np.empty_like(theta_p), np.empty_like(theta_p), np.empty_like(theta_p)
    old, new, old_square, new_square = np.float32(0.9), np.float32(1 - 0.9), np.float32(0.999), np.float32(1 - 0.999)
    epsilon, rate32 = np.float32(1e-8), np.float32(rate)
    for p in range(len(theta_p)):
        new_mean_p[p] = old * mean_p[p] + new * grad_p[p]
        new_mean_square_p[p] = old_square * mean_square_p[p] + new_square * grad_p[p] * grad_p[p]
        new_theta_p[p] = theta_p[p] + rate32 * (new_mean_p[p] / (np.sqrt(new_mean_square_p[p]) + epsilon))
    return new_theta_p, new_mean_p, new_mean_square_p


@dataclass(frozen=True)
class RMSProp:
    """RMSProp ascent as in the seeds (document 002, ``Model.update``).

    m <- decay * m + (1 - decay) * g^2
    theta <- theta + learning_rate * g / (sqrt(m) + 1e-5)
    """

    learning_rate: float
    decay: float = 0.99

    def init(self, num_params: int) -> State:
        return {"mean_square": np.zeros(num_params, np.float32)}

    def ascend(self, theta_p: Array, grad_p: Array, state: State) -> tuple[Array, State]:
        new_theta_p, mean_square_p = rmsprop(theta_p, grad_p, state["mean_square"], self.decay, self.learning_rate)
        return new_theta_p, {"mean_square": mean_square_p}


@dataclass(frozen=True)
class Adam:
    """Adam ascent (Kingma and Ba 2015, algorithm 1), betas 0.9 and 0.999, epsilon 1e-8."""

    learning_rate: float

    def init(self, num_params: int) -> State:
        return {
            "mean": np.zeros(num_params, np.float32),
            "mean_square": np.zeros(num_params, np.float32),
            "count": np.zeros((), np.int64),
        }

    def ascend(self, theta_p: Array, grad_p: Array, state: State) -> tuple[Array, State]:
        count = int(state["count"]) + 1
        rate = self.learning_rate * (1 - 0.999**count) ** 0.5 / (1 - 0.9**count)
        new_theta_p, mean_p, mean_square_p = adam(theta_p, grad_p, state["mean"], state["mean_square"], rate)
        return new_theta_p, {"mean": mean_p, "mean_square": mean_square_p, "count": np.array(count)}
