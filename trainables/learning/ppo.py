"""Proximal policy optimisation: many small steps over one batch of games (Schulman et al. 2017).

Playing a step costs forty times what learning from it does, so a game is worth more than the one look that REINFORCE
takes at it. What keeps later looks honest is the clip: where the policy has moved away from the one that played, a step
further is worth nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from trainables.learning.distributions import Bernoulli
from trainables.learning.mlp import MLP, Inputs
from trainables.learning.optimisers import Optimiser, State

Array = np.ndarray

VALUE_WEIGHT = 0.5
"""Of the value's squared error in the objective, as in the paper's Atari experiments."""


@dataclass(frozen=True)
class ActorCritic:
    """``BernoulliPolicy``'s network with a second output: the value of what is seen."""

    num_inputs: int
    num_hidden: int

    @cached_property
    def mlp(self) -> MLP:
        """The network; outputs are the logit of action 1 and the value."""
        return MLP((self.num_inputs, self.num_hidden, 2), activation="relu", bias=False)

    def join(self, actor_p: Array, critic_h: Array) -> Array:
        """Parameters of the whole network from the policy's and the value's output weights."""
        w2_h2 = np.stack([actor_p[-self.num_hidden :], critic_h], axis=1)
        return np.concatenate([actor_p[: -self.num_hidden], w2_h2.ravel()])

    def split(self, theta_p: Array) -> tuple[Array, Array]:
        """The inverse of ``join``."""
        (w1, _), (w2_h2, _) = self.mlp.layers(theta_p)
        return np.concatenate([w1.ravel(), w2_h2[:, 0]]), w2_h2[:, 1].copy()

    def evaluate(self, theta_p: Array, x_nd: Inputs) -> tuple[Array, Array]:
        """Logits (n,) and values (n,) of n observations."""
        logit_n, value_n = self.mlp.forward(theta_p, x_nd)[0].T
        return logit_n, value_n


class Experience(NamedTuple):
    """n steps as they were played and judged."""

    x_nd: Any  # observations, a sparse matrix
    action_n: Array  # int8
    log_prob_n: Array  # of the action, under the policy that played
    adv_n: Array  # standardised advantage
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
    """How a batch becomes steps."""

    network: ActorCritic
    optimiser: Optimiser
    epochs: int
    minibatch_size: int
    clip: float
    entropy_bonus: float

    def update(
        self, theta_p: Array, state: State, batch: Experience, rng: np.random.Generator
    ) -> tuple[Array, State, dict[str, float]]:
        """Steps up the objective, one for each minibatch: ``(theta, the optimiser's state, info)``.

        ``info`` are means over the last epoch.
        """
        infos: list[dict[str, float]] = []
        minibatches = max(1, round(len(batch.action_n) / self.minibatch_size))
        for rows in self._shuffles(len(batch.action_n), minibatches, rng):
            gradient_p, info = self.gradient(theta_p, batch.take(rows))
            theta_p, state = self.optimiser.ascend(theta_p, gradient_p, state)
            infos.append(info)
        last = infos[-minibatches:]
        return theta_p, state, {name: float(np.mean([info[name] for info in last])) for name in last[0]}

    def _shuffles(self, n: int, minibatches: int, rng: np.random.Generator) -> Iterator[Array]:
        for _ in range(self.epochs):
            yield from np.array_split(rng.permutation(n), minibatches)

    def gradient(self, theta_p: Array, batch: Experience) -> tuple[Array, dict[str, float]]:
        """Gradient of the clipped objective, with the entropy bonus and the value's error (equations 7 and 9):

            mean_n [ min(ratio A, clip(ratio, 1 - c, 1 + c) A)  +  bonus * H  -  0.5 * 0.5 (R - V)^2 ]

        where ratio = p(action | theta) / p(action | the policy that played). ``info`` has the KL divergence between
        the two, as (ratio - 1) - log ratio estimates it, and the share of steps at which the clip holds.
        """
        out_n2, tape = self.network.mlp.forward(theta_p, batch.x_nd)
        logit_n, value_n = out_n2.T
        log_ratio_n = Bernoulli.log_prob(logit_n, batch.action_n) - batch.log_prob_n
        ratio_n = np.exp(log_ratio_n)
        free_n = np.where(batch.adv_n > 0, ratio_n < 1 + self.clip, ratio_n > 1 - self.clip)
        score_n = free_n * ratio_n * batch.adv_n * Bernoulli.score(logit_n, batch.action_n)
        slope_n = score_n + self.entropy_bonus * Bernoulli.entropy_slope(logit_n)
        cotangent_n2 = np.column_stack([slope_n, VALUE_WEIGHT * (batch.return_n - value_n)]) / len(logit_n)
        info = {"kl": np.mean(ratio_n - 1 - log_ratio_n), "clip_fraction": np.mean(~free_n)}
        return self.network.mlp.vjp(theta_p, tape, cotangent_n2.astype(theta_p.dtype)), info
