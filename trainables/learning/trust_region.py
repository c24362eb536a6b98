"""TRPO's trust region: the surrogate objective around an old policy, and solvers that know nothing of policies.

    L(theta)  = -mean_n r_n A_n,   r_n = pi(a_n | x_n; theta) / pi(a_n | x_n; old)   (Schulman et al. 2015, equation 14)
    KL(theta) =  mean_n KL(pi(. | x_n; old) || pi(. | x_n; theta)) <= delta

Each quantity is a sum over blocks of the batch's rows.
"""

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import numpy as np

from trainables.learning.distributions import Categorical
from trainables.learning.inputs import row_blocks
from trainables.learning.mlp import MLP, Tape

Array = np.ndarray

MAX_HALVINGS, ACCEPT_RATIO = 10, 0.1
"""Of the line search: how often a step is halved (in modular_rl nine times), and the share of the promised fall that a
step must bring (as there)."""


class LossAndKL(NamedTuple):
    """What a line search needs to know of a place: it minimises ``loss`` subject to ``kl`` <= a bound."""

    loss: float
    kl: float


class _Block(NamedTuple):
    """b steps, and what the old policy's forward pass made of them."""

    action_b: Array
    share_b: Array  # advantage over the number of steps in the whole batch
    tape: Tape
    logit_bk: Array
    p_bk: Array
    log_prob_b: Array  # of the action


class Surrogate:
    """Loss, KL, gradient and Fisher products of n steps; ``start`` is the loss and KL of the old policy itself."""

    def __init__(self, mlp: MLP, old_p: Array, obs_nd: Array, action_n: Array, adv_n: Array) -> None:
        self.mlp, self.old_p, self.steps = mlp, old_p, len(adv_n)
        self.start = LossAndKL(-float(adv_n.mean()), 0.0)  # where all ratios are 1
        share_n = adv_n / len(adv_n)
        self.blocks = [self._block(obs_nd[b], action_n[b], share_n[b]) for b in row_blocks(len(adv_n))]

    def _block(self, obs_bd: Array, action_b: Array, share_b: Array) -> _Block:
        logit_bk, tape = self.mlp.forward(self.old_p, obs_bd)
        log_prob_b = Categorical.log_prob(logit_bk, action_b)
        return _Block(action_b, share_b, tape, logit_bk, Categorical.probabilities(logit_bk), log_prob_b)

    def _sum(self, function: Callable[[_Block], Array | float]) -> Array:
        """The sum of a function of each block, in order and in float64."""
        return reduce(np.add, (np.asarray(function(block), np.float64) for block in self.blocks))

    def _logits(self, block: _Block, theta_p: Array) -> Array:
        return block.logit_bk if theta_p is self.old_p else self.mlp.forward(theta_p, block.tape[0])[0]

    def loss_and_kl(self, theta_p: Array) -> LossAndKL:
        """L and KL of a new policy (p,)."""

        def of_block(block: _Block) -> Array:
            logit_bk = self._logits(block, theta_p)
            ratio_b = np.exp(Categorical.log_prob(logit_bk, block.action_b) - block.log_prob_b)
            kl_b = Categorical.kl(block.logit_bk, logit_bk)
            return np.array([-float(np.sum(ratio_b * block.share_b)), float(kl_b.sum())])

        loss, kl = self._sum(of_block)
        return LossAndKL(float(loss), float(kl) / self.steps)

    def gradient(self) -> Array:
        """The gradient (p,) of L at the old policy:  -mean_n A_n * grad log pi(a_n | x_n).

        Float64, for the solvers' sake; the network itself works in theta's type.
        """

        def of_block(block: _Block) -> Array:
            score_bk = Categorical.score(block.logit_bk, block.action_b)
            return self.mlp.vjp(self.old_p, block.tape, score_bk * -block.share_b[:, None])

        return self._sum(of_block)

    def fisher_product(self, v_p: Array) -> Array:
        """F v (p,), float64: push v forward to the logits, apply the logits' own Fisher information, pull back."""
        v_p = v_p.astype(self.old_p.dtype)

        def of_block(block: _Block) -> Array:
            tangent_bk = self.mlp.jvp(self.old_p, block.tape, v_p)
            return self.mlp.vjp(self.old_p, block.tape, Categorical.fisher_product(block.p_bk, tangent_bk))

        return self._sum(of_block) / self.steps

    def entropy(self, theta_p: Array) -> float:
        """Mean entropy of a policy (p,), in nats."""
        total = self._sum(lambda block: Categorical.entropy(self._logits(block, theta_p)).sum())
        return float(total) / self.steps


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

        accept  x + f * step  if  loss falls by more than ACCEPT_RATIO * f * -slope  and  kl <= max_kl,
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
        if gain > 0 and gain > -ACCEPT_RATIO * fraction * slope and at_candidate.kl <= max_kl:
            return LineSearchResult(candidate, at_candidate, halvings, True)
    return LineSearchResult(x, at_x, MAX_HALVINGS, False)
