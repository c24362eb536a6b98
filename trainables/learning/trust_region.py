"""Trust-region policy optimisation (Schulman et al. 2015; modular_rl, ``TrpoUpdater``), and the solvers it needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trainables.learning.distributions import Categorical
from trainables.learning.mlp import MLP, row_blocks
from trainables.learning.policies import CategoricalPolicy

Array = np.ndarray

AIM = 0.9
"""Share of ``max_kl`` that a full step aims at. The quadratic model of the KL misses by some percent; a step that aims
at the bound itself oversteps it every other time, and the line search then halves it to a quarter of the KL."""


def conjugate_gradient(
    apply_a: Callable[[Array], Array], b: Array, iterations: int = 10, tolerance: float = 1e-10
) -> tuple[Array, Array]:
    """Solve A x = b for a symmetric positive definite A that is known by its products (Hestenes and Stiefel 1952).

        x <- x + alpha p,   r <- r - alpha A p,   p <- r + beta p

    Starts at zero and stops after ``iterations``, or once |r|^2 < ``tolerance``. Returns x and r = b - A x.
    """
    x, residual, direction = np.zeros_like(b), b.copy(), b.copy()
    square = float(residual @ residual)
    for _ in range(iterations):
        if square < tolerance:
            break
        pushed = apply_a(direction)
        alpha = square / (direction @ pushed)
        x += alpha * direction
        residual -= alpha * pushed
        previous, square = square, float(residual @ residual)
        direction = residual + (square / previous) * direction
    return x, residual


class Point(NamedTuple):
    """What a line search needs to know of a place: minimise ``objective`` subject to ``constraint`` <= bound."""

    objective: float
    constraint: float


class Search(NamedTuple):
    """Where a line search ended, after how many halvings, and whether it accepted a step at all."""

    x: Array
    point: Point
    halvings: int
    accepted: bool


def backtrack(
    evaluate: Callable[[Array], Point],
    x: Array,
    start: Point,
    step: Array,
    slope: float,
    bound: float,
    *,
    max_halvings: int = 10,
    accept_ratio: float = 0.1,
) -> Search:
    """Halve a step until the objective falls by enough of what its ``slope`` along the step promised.

        accept  x + f * step  if  objective falls by more than accept_ratio * f * -slope  and  constraint <= bound,
        f = 1, 1/2, 1/4, ..., 1/2^max_halvings

    ``start`` is what ``evaluate`` says of x. Values that are not finite are refused. If nothing is accepted, x stays.
    Unlike modular_rl, which checks the objective alone, a step beyond the bound is refused.
    """
    for halvings in range(max_halvings + 1):
        fraction = 0.5**halvings
        candidate = x + fraction * step
        point = evaluate(candidate)
        gain = start.objective - point.objective
        # A comparison with NaN is false, so values that are not finite fail here.
        if gain > 0 and gain > -accept_ratio * fraction * slope and point.constraint <= bound:
            return Search(candidate, point, halvings, True)
    return Search(x, start, max_halvings, False)


@dataclass(frozen=True)
class TrustRegion:
    """TRPO's policy update: the natural gradient, as far as the trust region reaches, then a line search."""

    policy: CategoricalPolicy
    max_kl: float = 0.03  # nats, mean over the states of the batch
    cg_damping: float = 0.1
    cg_iterations: int = 10
    fisher_every: int = 5  # steps of the batch to one that the Fisher information looks at

    def update(self, theta_p: Array, obs_nd: Array, action_n: Array, adv_n: Array) -> tuple[Array, dict[str, float]]:
        """One step down L(theta) = -mean_n ratio_n * adv_n within mean KL(old || theta) <= max_kl.

            s = (F + damping I)^-1 (-g),   step = s * sqrt(2 * AIM * max_kl / s^T (F + damping I) s)

        with ratio_n = p(action_n | theta) / p(action_n | old), g the gradient of L, and F the Fisher information of
        the policy: the Hessian of the mean KL at old, here over every ``fisher_every``-th step. A gradient that is
        zero or not finite, or a refused line search, leaves theta as it was, and ``info`` says so.
        """
        # Of Pong's 128 bytes most never change. Where an input is zero in the whole batch, so is the gradient.
        lit = np.flatnonzero(obs_nd.any(axis=0))
        mlp = self.policy.mlp
        start_p = mlp.narrowed(theta_p, lit)
        surrogate = Surrogate(mlp.narrow(lit), start_p, obs_nd[:, lit], action_n, adv_n, self.fisher_every)
        search, info = self.descend(surrogate)
        return mlp.widened(search.x, lit, theta_p), info

    def descend(self, surrogate: "Surrogate") -> tuple[Search, dict[str, float]]:
        """The step, its line search, and what is worth knowing of both."""
        theta_p, gradient_p = surrogate.theta_p, surrogate.gradient()
        norm, before = float(np.linalg.norm(gradient_p)), surrogate.start()
        search, residual_p = Search(theta_p, before, 0, False), np.zeros_like(gradient_p)
        if np.isfinite(norm):

            def apply_fisher(v_p: Array) -> Array:
                return surrogate.fisher_product(v_p) + self.cg_damping * v_p

            direction_p, residual_p = conjugate_gradient(apply_fisher, -gradient_p, self.cg_iterations)
            curvature = float(direction_p @ (-gradient_p - residual_p))  # s^T A s, since r = b - A s
            if curvature > 0:
                step_p = (direction_p * np.sqrt(2 * AIM * self.max_kl / curvature)).astype(theta_p.dtype)
                slope = float(gradient_p @ step_p)
                search = backtrack(surrogate.evaluate, theta_p, before, step_p, slope, self.max_kl)
        return search, {
            "loss_before": before.objective,
            "loss_after": search.point.objective,
            "kl": search.point.constraint,
            "entropy": surrogate.entropy(theta_p),
            "entropy_after": surrogate.entropy(search.x),
            "gradient_norm": norm,
            "cg_residual": float(residual_p @ residual_p),
            "halvings": float(search.halvings),
            "update_accepted": float(search.accepted),
        }


class Surrogate:
    """TRPO's objective around an old theta, on one batch of n steps: sums over blocks of its rows."""

    def __init__(
        self, mlp: MLP, theta_p: Array, obs_nd: Array, action_n: Array, adv_n: Array, fisher_every: int = 1
    ) -> None:
        self.theta_p, self.adv_n = theta_p, adv_n
        batch = (obs_nd, action_n, adv_n / len(adv_n))

        def blocks(*arrays: Array) -> list[_Block]:
            return [_Block(mlp, theta_p, *(array[rows] for array in arrays)) for rows in row_blocks(len(arrays[0]))]

        self.blocks = blocks(*batch)
        self.fisher_blocks = blocks(*(array[::fisher_every] for array in batch))

    def start(self) -> Point:
        """Loss and KL at the old theta, where all ratios are 1."""
        return Point(-float(self.adv_n.mean()), 0.0)

    def evaluate(self, theta_p: Array) -> Point:
        """Loss and mean KL(old || theta)."""
        points = [block.evaluate(theta_p) for block in self.blocks]
        return Point(sum(point.objective for point in points), sum(point.constraint for point in points) / self._rows)

    def gradient(self) -> Array:
        """Gradient (p,) of the loss at the old theta:  -mean_n adv_n * score_n.

        Float64, for the solvers' sake; the network itself works in theta's type.
        """
        return np.stack([block.gradient() for block in self.blocks]).sum(axis=0, dtype=np.float64)

    def fisher_product(self, v_p: Array) -> Array:
        """F v: push v forward to the logits, apply the logits' own Fisher information, pull back.

        Exact for the steps that it looks at, every ``fisher_every``-th of the batch.
        """
        v_p = v_p.astype(self.theta_p.dtype)
        products = np.stack([block.fisher_product(v_p) for block in self.fisher_blocks])
        return products.sum(axis=0, dtype=np.float64) / sum(len(block.action_n) for block in self.fisher_blocks)

    def entropy(self, theta_p: Array) -> float:
        """Mean entropy in nats."""
        return sum(block.entropy(theta_p) for block in self.blocks) / self._rows

    @property
    def _rows(self) -> int:
        return len(self.adv_n)


class _Block:
    """Some of a batch's steps; ``share_n`` is their advantage over the number of steps in the whole batch.

    Loss and gradient are therefore shares of the batch's mean, everything else is a sum over the block's steps.
    """

    def __init__(self, mlp: MLP, theta_p: Array, obs_nd: Array, action_n: Array, share_n: Array) -> None:
        self.mlp, self.theta_p, self.action_n, self.share_n = mlp, theta_p, action_n, share_n
        self.logit_nk, self.tape = mlp.forward(theta_p, obs_nd)
        self.p_nk = Categorical.probabilities(self.logit_nk)
        self.log_prob_n = Categorical.log_prob(self.logit_nk, action_n)

    def logits(self, theta_p: Array) -> Array:
        return self.mlp.forward(theta_p, self.tape[0])[0]

    def evaluate(self, theta_p: Array) -> Point:
        logit_nk = self.logits(theta_p)
        ratio_n = np.exp(Categorical.log_prob(logit_nk, self.action_n) - self.log_prob_n)
        kl_n = Categorical.kl(self.logit_nk, logit_nk)
        return Point(-float(np.sum(ratio_n * self.share_n)), float(kl_n.sum()))

    def gradient(self) -> Array:
        score_nk = Categorical.score(self.logit_nk, self.action_n)
        return self.mlp.vjp(self.theta_p, self.tape, score_nk * -self.share_n[:, None])

    def fisher_product(self, v_p: Array) -> Array:
        tangent_nk = self.mlp.jvp(self.theta_p, self.tape, v_p)
        return self.mlp.vjp(self.theta_p, self.tape, Categorical.fisher_product(self.p_nk, tangent_nk))

    def entropy(self, theta_p: Array) -> float:
        logit_nk = self.logit_nk if theta_p is self.theta_p else self.logits(theta_p)
        return float(Categorical.entropy(logit_nk).sum())
