"""TRPO's surrogate objective around an old policy, on one batch (Schulman et al. 2015, equation 14).

    L(theta)  = -mean_n r_n A_n,   r_n = pi(a_n | x_n; theta) / pi(a_n | x_n; old)
    KL(theta) =  mean_n KL(pi(. | x_n; old) || pi(. | x_n; theta)) <= delta

Each quantity is a sum over blocks of the batch's rows.
"""

from typing import NamedTuple

import numpy as np

from trainables.learning.distributions import Categorical
from trainables.learning.inputs import row_blocks, sum_over_blocks
from trainables.learning.mlp import MLP, Tape
from trainables.learning.solvers import LossAndKL

Array = np.ndarray


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

    def _logits(self, block: _Block, theta_p: Array) -> Array:
        return block.logit_bk if theta_p is self.old_p else self.mlp.forward(theta_p, block.tape[0])[0]

    def loss_and_kl(self, theta_p: Array) -> LossAndKL:
        """L and KL of a new policy (p,)."""

        def of_block(block: _Block) -> Array:
            logit_bk = self._logits(block, theta_p)
            ratio_b = np.exp(Categorical.log_prob(logit_bk, block.action_b) - block.log_prob_b)
            kl_b = Categorical.kl(block.logit_bk, logit_bk)
            return np.array([-float(np.sum(ratio_b * block.share_b)), float(kl_b.sum())])

        loss, kl = sum_over_blocks(of_block, self.blocks)
        return LossAndKL(float(loss), float(kl) / self.steps)

    def gradient(self) -> Array:
        """The gradient (p,) of L at the old policy:  -mean_n A_n * grad log pi(a_n | x_n).

        Float64, for the solvers' sake; the network itself works in theta's type.
        """

        def of_block(block: _Block) -> Array:
            score_bk = Categorical.score(block.logit_bk, block.action_b)
            return self.mlp.vjp(self.old_p, block.tape, score_bk * -block.share_b[:, None])

        return sum_over_blocks(of_block, self.blocks)

    def fisher_product(self, v_p: Array) -> Array:
        """F v (p,), float64: push v forward to the logits, apply the logits' own Fisher information, pull back."""
        v_p = v_p.astype(self.old_p.dtype)

        def of_block(block: _Block) -> Array:
            tangent_bk = self.mlp.jvp(self.old_p, block.tape, v_p)
            return self.mlp.vjp(self.old_p, block.tape, Categorical.fisher_product(block.p_bk, tangent_bk))

        return sum_over_blocks(of_block, self.blocks) / self.steps

    def entropy(self, theta_p: Array) -> float:
        """Mean entropy of a policy (p,), in nats."""
        total = sum_over_blocks(lambda b: Categorical.entropy(self._logits(b, theta_p)).sum(), self.blocks)
        return float(total) / self.steps
