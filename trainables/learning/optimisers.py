"""Gradient ascent with a memory, as pure functions of (theta, gradient, state).

State is a dict of arrays, so that a checkpoint can store it without knowing the optimiser.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

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
        mean_square_p = self.decay * state["mean_square"] + (1 - self.decay) * grad_p * grad_p
        step_p = grad_p / (np.sqrt(mean_square_p) + np.float32(1e-5))
        return theta_p + self.learning_rate * step_p, {"mean_square": mean_square_p}


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
        # In place where an array is ours: PPO takes dozens of steps an update, each as long as memory takes.
        mean_p, mean_square_p = 0.9 * state["mean"], 0.999 * state["mean_square"]
        part_p = (1 - 0.9) * grad_p
        mean_p += part_p
        np.multiply(1 - 0.999, grad_p, out=part_p)
        part_p *= grad_p
        mean_square_p += part_p
        np.sqrt(mean_square_p, out=part_p)
        part_p += np.float32(1e-8)
        np.divide(mean_p, part_p, out=part_p)
        part_p *= rate
        part_p += theta_p
        return part_p, {"mean": mean_p, "mean_square": mean_square_p, "count": np.array(count)}
