"""Trust-region policy optimisation (Schulman et al. 2015; modular_rl, ``TrpoUpdater``), and the solvers it needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trainables.learning.distributions import Categorical
from trainables.learning.mlp import MLP
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

    def update(self, theta_p: Array, obs_nd: Array, action_n: Array, adv_n: Array) -> tuple[Array, dict[str, float]]:
        """One step down L(theta) = -mean_n ratio_n * adv_n within mean KL(old || theta) <= max_kl.

            s = (F + damping I)^-1 (-g),   step = s * sqrt(2 * AIM * max_kl / s^T (F + damping I) s)

        with ratio_n = p(action_n | theta) / p(action_n | old), g the gradient of L, and F the Fisher information of
        the policy: the Hessian of the mean KL at old. A gradient that is zero or not finite, or a refused line
        search, leaves theta as it was, and ``info`` says so.
        """
        # Of Pong's 128 bytes most never change. Where an input is zero in the whole batch, so is the gradient.
        lit = np.flatnonzero(obs_nd.any(axis=0))
        narrow, index = self.policy.mlp.narrow(lit)
        surrogate = Surrogate(narrow, theta_p[index], obs_nd[:, lit], action_n, adv_n)
        search, info = self.descend(surrogate)
        new_theta_p = theta_p.copy()
        new_theta_p[index] = search.x
        return new_theta_p, info

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
    """TRPO's objective around an old theta, on one batch of n steps."""

    def __init__(self, mlp: MLP, theta_p: Array, obs_nd: Array, action_n: Array, adv_n: Array) -> None:
        self.mlp = mlp
        self.theta_p, self.obs_nd, self.action_n, self.adv_n = theta_p, obs_nd, action_n, adv_n
        self.logit_nk, self.tape = mlp.forward(theta_p, obs_nd)
        self.log_prob_n = Categorical.log_prob(self.logit_nk, action_n)

    def start(self) -> Point:
        """Loss and KL at the old theta, where all ratios are 1."""
        return Point(-float(self.adv_n.mean()), 0.0)

    def evaluate(self, theta_p: Array) -> Point:
        """Loss and mean KL(old || theta)."""
        logit_nk, _ = self.mlp.forward(theta_p, self.obs_nd)
        ratio_n = np.exp(Categorical.log_prob(logit_nk, self.action_n) - self.log_prob_n)
        kl_n = Categorical.kl(self.logit_nk, logit_nk)
        return Point(-float(np.mean(ratio_n * self.adv_n)), float(kl_n.mean()))

    def gradient(self) -> Array:
        """Gradient (p,) of the loss at the old theta:  -mean_n adv_n * score_n.

        Float64, for the solvers' sake; the network itself works in theta's type.
        """
        score_nk = Categorical.score(self.logit_nk, self.action_n)
        cotangent_nk = score_nk * (self.adv_n[:, None] / -len(self.adv_n))
        return self.mlp.vjp(self.theta_p, self.tape, cotangent_nk).astype(np.float64)

    def fisher_product(self, v_p: Array) -> Array:
        """F v: push v forward to the logits, apply the logits' own Fisher information, pull back. Exact."""
        tangent_nk = self.mlp.jvp(self.theta_p, self.tape, v_p.astype(self.theta_p.dtype))
        cotangent_nk = Categorical.fisher_product(self.logit_nk, tangent_nk) / len(tangent_nk)
        return self.mlp.vjp(self.theta_p, self.tape, cotangent_nk).astype(np.float64)

    def entropy(self, theta_p: Array) -> float:
        """Mean entropy in nats."""
        return float(Categorical.entropy(self.mlp.forward(theta_p, self.obs_nd)[0]).mean())
