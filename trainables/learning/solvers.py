"""Solvers that know nothing of reinforcement learning: conjugate gradient, and a line search with a constraint."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Array = np.ndarray
MAX_HALVINGS = 10


def conjugate_gradient(
    apply_a: Callable[[Array], Array], b: Array, iterations: int = 10, tolerance: float = 1e-10
) -> tuple[Array, Array]:
    """Solve A x = b for a symmetric positive definite A that is known by its products (Hestenes and Stiefel 1952).

        x <- x + alpha p,   r <- r - alpha A p,   p <- r + beta p

    Starts at zero and stops after ``iterations``, or once |r|^2 < ``tolerance``. Returns x and r = b - A x, both (p,).
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


class LossAndKL(NamedTuple):
    """What a line search needs to know of a place: it minimises ``loss`` subject to ``kl`` <= a bound."""

    loss: float
    kl: float


class LineSearchResult(NamedTuple):
    """Where a line search ended, after how many halvings, and whether it accepted a step at all."""

    x: Array
    at_x: LossAndKL
    halvings: int
    accepted: bool


def backtracking_line_search(
    loss_and_kl: Callable[[Array], LossAndKL],
    x: Array,
    at_x: LossAndKL,
    step: Array,
    slope: float,
    max_kl: float,
) -> LineSearchResult:
    """Halve a step until the loss falls by enough of what its ``slope`` along the step promised.

        accept  x + f * step  if  loss falls by more than 0.1 * f * -slope  and  kl <= max_kl,
        f = 1, 1/2, 1/4, ..., 1/2^MAX_HALVINGS

    ``at_x`` is ``loss_and_kl(x)``. Values that are not finite are refused. If nothing is accepted, x stays.
    modular_rl's ``linesearch`` checks the loss alone; here a step beyond the bound is refused, too.
    """
    for halvings in range(MAX_HALVINGS + 1):
        fraction = 0.5**halvings
        candidate = x + fraction * step
        at_candidate = loss_and_kl(candidate)
        gain = at_x.loss - at_candidate.loss
        # A comparison with NaN is false, so values that are not finite fail here.
        if gain > 0 and gain > -0.1 * fraction * slope and at_candidate.kl <= max_kl:
            return LineSearchResult(candidate, at_candidate, halvings, True)
    return LineSearchResult(x, at_x, MAX_HALVINGS, False)
