"""Proximal policy optimisation: many small steps over one batch of games (Schulman et al. 2017).

Playing a step costs forty times what learning from it does, so a game is worth more than the one look that REINFORCE
takes at it. What keeps later looks honest is the clip: where the policy has moved away from the one that played, a step
further is worth nothing.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from trainables.learning.distributions import Categorical
from trainables.learning.duplicate_columns import lit_columns
from trainables.learning.mlp import MLP
from trainables.learning.optimisers import Optimiser, State
from trainables.learning.policies import PixelCategoricalPolicy
from trainables.learning.products import Inputs

Array = np.ndarray

VALUE_WEIGHT = 0.5
"""Of the value's squared error in the objective, as in the paper's Atari experiments."""

PARTS = 2
"""Of a minibatch, for as many cores. Another number would change sums in their last bits."""


@dataclass(frozen=True)
class ActorCritic:
    """``PixelCategoricalPolicy``'s network with one output more: the value of what is seen."""

    policy: PixelCategoricalPolicy

    @cached_property
    def mlp(self) -> MLP:
        """The network; outputs are the k logits and the value."""
        *shape, num_actions = self.policy.mlp.sizes
        return replace(self.policy.mlp, sizes=(*shape, num_actions + 1))

    def join(self, actor_p: Array, critic_h: Array) -> Array:
        """Parameters of the whole network from the policy's and the value's output weights."""
        (w1, _), (w2_hk, _) = self.policy.mlp.layers(actor_p)
        return np.concatenate([w1.ravel(), np.column_stack([w2_hk, critic_h]).ravel()])

    def split(self, theta_p: Array) -> tuple[Array, Array]:
        """The inverse of ``join``."""
        (w1, _), (w2, _) = self.mlp.layers(theta_p)
        return np.concatenate([w1.ravel(), w2[:, :-1].ravel()]), w2[:, -1].copy()

    def evaluate(self, theta_p: Array, x_nd: Inputs) -> tuple[Array, Array]:
        """Logits (n, k) and values (n,) of n observations."""
        out = self.mlp.forward(theta_p, x_nd)[0]
        return out[:, :-1], out[:, -1]


class Info(NamedTuple):
    """How far the policy has moved from the one that played."""

    kl: float  # as (ratio - 1) - log ratio estimates it, mean over steps, nats
    clip_fraction: float  # of the steps


class Experience(NamedTuple):
    """n steps as they were played and judged."""

    x_nd: Any  # observations, a sparse matrix
    action_n: Array  # int8
    log_prob_n: Array  # of the action, under the policy that played
    adv_n: Array  # advantage, in the end standardised over the batch
    return_n: Array  # what the value should have been

    @classmethod
    def join(cls, parts: Sequence["Experience"]) -> "Experience":
        """All steps of several games, one game after the other."""
        x_nd, *rest = zip(*parts, strict=True)
        return cls(sparse.vstack(x_nd, format="csr"), *map(np.concatenate, rest))

    def take(self, rows: Array) -> "Experience":
        """Some of the steps."""
        return Experience(*(part[rows] for part in self))


@dataclass(frozen=True)
class PPO:
    """How a batch becomes steps. ``threads`` is a question of speed only."""

    network: ActorCritic
    optimiser: Optimiser
    epochs: int
    minibatch_size: int
    clip: float
    entropy_bonus: float
    threads: int = 1

    def update(
        self, theta_p: Array, state: State, batch: Experience, rng: np.random.Generator
    ) -> tuple[Array, State, dict[str, float]]:
        """Steps up the objective, one for each minibatch: ``(theta, the optimiser's state, info)``.

        Inputs that are zero in the whole batch keep their weights, and the optimiser's memory of them. ``info`` are
        means over the last epoch.
        """
        n, infos = len(batch.action_n), []
        lit, x_nd = lit_columns(batch.x_nd)
        mlp = self.network.mlp
        narrow = replace(self, network=ActorCritic(replace(self.network.policy, num_inputs=len(lit))))
        narrow_theta_p = mlp.narrowed(theta_p, lit)
        narrow_state = {name: mlp.narrowed(array, lit) if array.ndim else array for name, array in state.items()}
        batch, minibatches = batch._replace(x_nd=x_nd), max(1, round(n / self.minibatch_size))
        with ThreadPoolExecutor(min(self.threads, PARTS)) as cores:
            for rows in self._shuffles(n, minibatches, rng):
                gradient_p, info = narrow.minibatch_gradient(narrow_theta_p, batch, rows, cores)
                narrow_theta_p, narrow_state = self.optimiser.ascend(narrow_theta_p, gradient_p, narrow_state)
                infos.append(info)
        state = {
            name: mlp.widened(narrow_state[name], lit, array) if array.ndim else narrow_state[name]
            for name, array in state.items()
        }
        means = np.mean(infos[-minibatches:], axis=0)
        return mlp.widened(narrow_theta_p, lit, theta_p), state, dict(zip(Info._fields, means.tolist(), strict=True))

    def _shuffles(self, n: int, minibatches: int, rng: np.random.Generator) -> Iterator[Array]:
        for _ in range(self.epochs):
            yield from np.array_split(rng.permutation(n), minibatches)

    def minibatch_gradient(
        self, theta_p: Array, batch: Experience, rows: Array, cores: ThreadPoolExecutor
    ) -> tuple[Array, Info]:
        """The gradient of some rows, computed in ``PARTS`` parts, always the same, whatever number of cores there are.

        NumPy's error state is part of a thread's context, and each part gets a copy of the caller's.
        """
        parts = [
            cores.submit(copy_context().run, self.gradient, theta_p, batch.take(part), len(rows))
            for part in np.array_split(rows, PARTS)
        ]
        (gradient_p, info), *others = (part.result() for part in parts)
        for other_p, other in others:
            gradient_p += other_p
            info = Info(*(a + b for a, b in zip(info, other, strict=True)))
        return gradient_p, info

    def gradient(self, theta_p: Array, batch: Experience, total: int) -> tuple[Array, Info]:
        """Gradient of the clipped objective, with the entropy bonus and the value's error (equations 7 and 9):

            sum_n [ min(ratio A, clip(ratio, 1 - c, 1 + c) A)  +  bonus * H  -  0.5 * 0.5 (R - V)^2 ] / total

        where ratio = p(action | theta) / p(action | the policy that played).
        """
        out_n, tape = self.network.mlp.forward(theta_p, batch.x_nd)
        logit_nk, value_n = out_n[:, :-1], out_n[:, -1]
        log_ratio_n = Categorical.log_prob(logit_nk, batch.action_n) - batch.log_prob_n
        ratio_n = np.exp(log_ratio_n)
        free_n = np.where(batch.adv_n > 0, ratio_n < 1 + self.clip, ratio_n > 1 - self.clip)
        weight_n = free_n * ratio_n * batch.adv_n
        slope_nk = weight_n[:, None] * Categorical.score(logit_nk, batch.action_n)
        slope_nk += self.entropy_bonus * Categorical.entropy_slope(logit_nk)
        cotangent_n = np.column_stack([slope_nk, VALUE_WEIGHT * (batch.return_n - value_n)]) / total
        info = Info(float(np.sum(ratio_n - 1 - log_ratio_n)) / total, float(np.sum(~free_n)) / total)
        return self.network.mlp.vjp(theta_p, tape, cotangent_n.astype(theta_p.dtype)), info
