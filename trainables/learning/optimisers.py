"""Gradient ascent with moments of past gradients, as pure functions of (theta, gradient, state).

State is a dict of arrays, so that a checkpoint can store it without knowing the optimiser.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainables.learning.kernels.optimisers import adam_step, rmsprop_step

Array = np.ndarray
State = dict[str, Array]
RunTwo = Callable[[Callable[[], Any], Callable[[], Any]], tuple[Any, Any]]
"""Runs two jobs that do not need each other's results."""


def one_after_the_other(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
    """Run two jobs on one core."""
    return first(), second()


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

    def ascend(
        self, theta_p: Array, grad_p: Array, state: State, run_two: RunTwo = one_after_the_other
    ) -> tuple[Array, State]:
        """One step uphill: ``(new_theta, new_state)``. The inputs stay as they are.

        ``run_two`` runs the halves of the arrays' entries, of which none needs another.
        """
        old, new = (theta_p, grad_p, state["mean_square"]), (np.empty_like(theta_p), np.empty_like(theta_p))
        run_two(*_halves(rmsprop_step, old, (self.decay, self.learning_rate), new))
        return new[0], {"mean_square": new[1]}


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

    def ascend(
        self, theta_p: Array, grad_p: Array, state: State, run_two: RunTwo = one_after_the_other
    ) -> tuple[Array, State]:
        count = int(state["count"]) + 1
        rate = self.learning_rate * (1 - 0.999**count) ** 0.5 / (1 - 0.9**count)
        old = theta_p, grad_p, state["mean"], state["mean_square"]
        new = np.empty_like(theta_p), np.empty_like(theta_p), np.empty_like(theta_p)
        run_two(*_halves(adam_step, old, (rate,), new))
        return new[0], {"mean": new[1], "mean_square": new[2], "count": np.array(count)}


Optimiser = RMSProp | Adam


def _halves(
    kernel: Callable[..., None], old: Sequence[Array], numbers: Sequence[float], new: Sequence[Array]
) -> tuple[Callable[[], None], Callable[[], None]]:
    """The kernel's work on each half of the arrays' entries."""
    middle = len(new[0]) // 2

    def half(part: slice) -> Callable[[], None]:
        return lambda: kernel(*(array[part] for array in old), *numbers, *(array[part] for array in new))

    return half(slice(None, middle)), half(slice(middle, None))
