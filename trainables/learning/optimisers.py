"""Gradient ascent with moments of past gradients, as pure functions of (theta, gradient, state).

State is a dict of arrays, so that a checkpoint can store it without knowing the optimiser.
"""

from dataclasses import dataclass

import numpy as np

from trainables.learning.kernels import adam_step, rmsprop_step

Array = np.ndarray
State = dict[str, Array]


@dataclass(frozen=True)
class RMSProp:
    """RMSProp ascent (Hinton 2012, lecture 6e; the same constants as Karpathy 2016).

    m     <- decay * m + (1 - decay) * g^2
    theta <- theta + learning_rate * g / (sqrt(m) + 1e-5)
    """

    learning_rate: float
    decay: float = 0.99

    def init(self, num_params: int) -> State:
        """The state before the first update."""
        return {"mean_square": np.zeros(num_params, np.float32)}

    def ascend(self, theta_p: Array, grad_p: Array, state: State, in_place: bool = False) -> tuple[Array, State]:
        """One step uphill: ``(new_theta, new_state)``.

        The inputs stay as they are. ``in_place`` the new arrays are the old ones, written over.
        """
        theta_p, mean_square_p = _own((theta_p, state["mean_square"]), in_place)
        rmsprop_step(theta_p, grad_p, mean_square_p, self.decay, self.learning_rate)
        return theta_p, {"mean_square": mean_square_p}


@dataclass(frozen=True)
class Adam:
    """Adam ascent (Kingma and Ba 2015), betas 0.9 and 0.999, in the order that section 2 gives at its end.

        theta <- theta + learning_rate * sqrt(1 - 0.999^t) / (1 - 0.9^t) * m / (sqrt(v) + 1e-8)

    There v is not corrected yet, so algorithm 1's epsilon is 1e-8 / sqrt(1 - 0.999^t): 3.2e-7 at step t = 1, and 1e-8
    in the end.
    """

    learning_rate: float

    def init(self, num_params: int) -> State:
        return {
            "mean": np.zeros(num_params, np.float32),
            "mean_square": np.zeros(num_params, np.float32),
            "count": np.zeros((), np.int64),
        }

    def ascend(self, theta_p: Array, grad_p: Array, state: State, in_place: bool = False) -> tuple[Array, State]:
        count = int(state["count"]) + 1
        rate = self.learning_rate * (1 - 0.999**count) ** 0.5 / (1 - 0.9**count)
        theta_p, mean_p, mean_square_p = _own((theta_p, state["mean"], state["mean_square"]), in_place)
        adam_step(theta_p, grad_p, mean_p, mean_square_p, rate)
        return theta_p, {"mean": mean_p, "mean_square": mean_square_p, "count": np.array(count)}


Optimiser = RMSProp | Adam


def _own(arrays: tuple[Array, ...], in_place: bool) -> tuple[Array, ...]:
    """Arrays to write over: these, or copies."""
    return arrays if in_place else tuple(map(np.copy, arrays))
