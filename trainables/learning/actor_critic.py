"""A policy and its value function as one network: two heads on one hidden layer."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trainables.learning.inputs import Inputs
from trainables.learning.mlp import MLP

Array = np.ndarray


@dataclass(frozen=True)
class ActorCritic:
    """A policy's network (one hidden layer, no biases) with one output more: the value of what is seen."""

    actor: MLP

    @cached_property
    def mlp(self) -> MLP:
        """The whole network; its outputs are the k logits and the value."""
        *shape, num_actions = self.actor.sizes
        return replace(self.actor, sizes=(*shape, num_actions + 1))

    def join(self, actor_p: Array, critic_h: Array) -> Array:
        """Parameters of the whole network from the policy's, and the value's output weights (h,)."""
        (w1, _), (w2_hk, _) = self.actor.layers(actor_p)
        return np.concatenate([w1.ravel(), np.column_stack([w2_hk, critic_h]).ravel()])

    def split(self, theta_p: Array) -> tuple[Array, Array]:
        """The inverse of ``join``."""
        (w1, _), (w2, _) = self.mlp.layers(theta_p)
        return np.concatenate([w1.ravel(), w2[:, :-1].ravel()]), w2[:, -1].copy()

    def forward(self, theta_p: Array, x_nd: Inputs) -> tuple[Array, Array]:
        """Logits (n, k) and values (n,) of n observations."""
        out, _ = self.mlp.forward(theta_p, x_nd)
        return out[:, :-1], out[:, -1]
