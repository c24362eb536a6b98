"""A value function as baseline: how much better than expected an action turned out."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy  # whose parts are loaded as they are first named: rollout workers fit no baseline

from trainables.learning.inputs import active_inputs, row_blocks
from trainables.learning.mlp import MLP

Array = np.ndarray


class Value(NamedTuple):
    """The state of a ``ValueBaseline``: V(x) = centre + scale * network(x)."""

    theta_p: Array  # float32
    centre: Array  # () float64, mean of the targets that it was last fitted to
    scale: Array  # () float64, their standard deviation


@dataclass(frozen=True)
class ValueBaseline:
    """A tanh network fitted to the returns of each batch by L-BFGS (modular_rl, ``NnVf`` and ``NnRegression``).

        minimise  mean_n (network(x_n) - y_n)^2 + l2 * |theta|^2,   ``max_iterations`` from the old theta on
        y = standardised (mix * return + (1 - mix) * old prediction)

    modular_rl leaves targets as they are; standardised, the same L2 means the same for rewards of any size. And it
    takes 25 iterations with mix 0.1, here 10 with mix 0.3. A batch of Pong holds some 50 points and so 50 outcomes to
    learn from: 25 iterations with mix 0.9 explain half its variance and less than nothing of the next batch's (-0.4),
    10 with mix 0.3 average over batches and explain 0.1 to 0.3 of the next, in less than half the time.
    """

    num_inputs: int
    hidden_sizes: tuple[int, ...] = (64, 64)
    l2: float = 1e-3
    mix: float = 0.3
    max_iterations: int = 10
    every: int = 1  # steps of a batch to one that it is fitted to

    @cached_property
    def mlp(self) -> MLP:
        """The network."""
        return MLP((self.num_inputs, *self.hidden_sizes, 1), activation="tanh")

    def init(self, rng: np.random.Generator) -> Value:
        """The state before the first fit, which values every state at 0."""
        return Value(self.mlp.init(rng), np.zeros(()), np.zeros(()))

    def predict(self, value: Value, x_nd: Array) -> Array:
        """Values (n,) of n states."""
        out_n = [self.mlp.forward(value.theta_p, x_nd[rows])[0][:, 0] for rows in row_blocks(len(x_nd))]
        return value.centre + value.scale * np.concatenate(out_n)

    def fit(self, value: Value, x_nd: Array, return_n: Array) -> tuple[Value, dict[str, float]]:
        """Fit to the returns of every ``every``-th step. A fit that is not finite is dropped: the old one stays.

        Weights of inputs that are zero in all of these stay as they are (of Pong's 128 bytes most never change).
        ``info`` has the explained variance before and after, and how often L-BFGS evaluated the loss.
        """
        old_n = self.predict(value, x_nd)
        mix = self.mix if value.scale > 0 else 1.0  # before the first fit there is no old prediction worth keeping
        target_m = (mix * return_n + (1 - mix) * old_n)[:: self.every]
        centre, scale = target_m.mean(), target_m.std()
        columns, x_mc = active_inputs(x_nd[:: self.every])
        standard_m = ((target_m - centre) / (scale or 1.0)).astype(np.float32)
        loss = _loss(self.mlp.restrict(columns), x_mc, standard_m, self.l2)
        options = {"maxiter": self.max_iterations}
        start_p = self.mlp.restrict_params(value.theta_p, columns)
        solution = scipy.optimize.minimize(loss, start_p, jac=True, method="L-BFGS-B", options=options)
        theta_p = self.mlp.expand_params(solution.x, columns, value.theta_p)
        fitted = Value(theta_p, np.asarray(centre), np.asarray(scale))
        new_n = self.predict(fitted, x_nd)
        finite = bool(np.isfinite(new_n).all())
        info = {
            "explained_variance_before": explained_variance(old_n, return_n),
            "explained_variance_after": explained_variance(new_n if finite else old_n, return_n),
            "loss": float(np.mean((return_n - old_n) ** 2)),
            "evaluations": float(solution.nfev),
        }
        return (fitted if finite else value), info


def _loss(mlp: MLP, x_nd: Array, target_n: Array, l2: float) -> Callable[[Array], tuple[float, Array]]:
    """The loss and its gradient (p,) as a function of theta; the gradient is of theta's type, the network float32."""
    blocks = [(x_nd[rows], target_n[rows, None]) for rows in row_blocks(len(x_nd))]
    to_mean = np.float32(2 / len(x_nd))

    def loss(theta_p: Array) -> tuple[float, Array]:
        theta32_p = theta_p.astype(np.float32)
        square, gradient_p = l2 * float(theta_p @ theta_p), 2 * l2 * theta_p
        for x_bd, target_bk in blocks:
            out_bk, tape = mlp.forward(theta32_p, x_bd)
            error_bk = out_bk - target_bk
            square += float(np.sum(error_bk * error_bk, dtype=np.float64)) / len(x_nd)
            gradient_p += mlp.vjp(theta32_p, tape, error_bk * to_mean)
        return square, gradient_p

    return loss


def explained_variance(prediction_n: Array, target_n: Array) -> float:
    """1 - Var(target - prediction) / Var(target); 1 is perfect, 0 a constant's worth, and 0 if targets are constant."""
    variance = np.var(target_n)
    return float(1 - np.var(target_n - prediction_n) / variance) if variance > 0 else 0.0
