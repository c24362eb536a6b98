"""A policy: a network whose outputs are the logits of an action distribution.

``weights`` are what a policy needs to play: its parameters, with those of what it sees through.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from trainables.learning.baseline import Value
from trainables.learning.distributions import Categorical
from trainables.learning.inputs import Inputs
from trainables.learning.kernels import SparseRow, filtered_row, sparse_argmax, sparse_logit, tanh_argmax
from trainables.learning.mlp import MLP
from trainables.learning.running_stats import Filter

Array = np.ndarray


@dataclass(frozen=True)
class BernoulliPolicy:
    """Karpathy's Pong policy: d inputs, h ReLU units, one logit, no biases (Karpathy 2016, ``policy_forward``)."""

    num_inputs: int
    num_hidden: int

    @cached_property
    def mlp(self) -> MLP:
        """The network; its ``theta`` is the policy's."""
        return MLP((self.num_inputs, self.num_hidden, 1), activation="relu", bias=False)

    def sampler(self, theta_p: Array, rng: np.random.Generator) -> Callable[[SparseRow], int]:
        """A function that maps one sparse observation to an action drawn from the policy.

        A logistic draw is below a logit with probability sigmoid(logit), and nothing can overflow.
        """
        (w1, _), (w2, _) = self.mlp.layers(theta_p)
        w2 = w2.ravel()
        hidden = np.empty_like(w2)
        threshold = _one_by_one(lambda: rng.logistic(size=1024).tolist())
        return lambda row: int(threshold() < sparse_logit(w1, w2, row, hidden))

    def probabilities(self, theta_p: Array, x_nd: Inputs) -> Array:
        """Probabilities (n, 2) of both actions at n observations."""
        up_n1 = expit(self.mlp.forward(theta_p, x_nd)[0])
        return np.hstack([1 - up_n1, up_n1])


@dataclass(frozen=True)
class ActorCritic:
    """PPO's policy and its value function as one network: Karpathy's, with a logit for each of k actions and a value.

    The value is the last output. A checkpoint keeps the policy's parameters and the value's apart.
    """

    num_inputs: int
    num_hidden: int
    num_actions: int

    @cached_property
    def mlp(self) -> MLP:
        """The whole network; its ``theta`` is what the methods take."""
        return MLP((self.num_inputs, self.num_hidden, self.num_actions + 1), activation="relu", bias=False)

    @cached_property
    def actor(self) -> MLP:
        """The policy's part of it."""
        return MLP((self.num_inputs, self.num_hidden, self.num_actions), activation="relu", bias=False)

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

    def sampler(self, theta_p: Array, rng: np.random.Generator) -> Callable[[SparseRow], int]:
        """A function that draws an action for one sparse observation, as ``FilteredPolicy``'s does."""
        (w1, _), (w2, _) = self.mlp.layers(theta_p)
        w2_hk = np.ascontiguousarray(w2[:, :-1])
        hidden, logits = np.empty(self.num_hidden, theta_p.dtype), np.empty(self.num_actions, theta_p.dtype)
        noise = _gumbel(rng, self.num_actions)
        return lambda row: sparse_argmax(w1, w2_hk, row, hidden, logits, noise())

    def probabilities(self, theta_p: Array, x_nd: Inputs) -> Array:
        """Probabilities (n, k) of all actions at n observations."""
        return Categorical.probabilities(self.forward(theta_p, x_nd)[0])


class FilteredWeights(NamedTuple):
    """Weights of a ``FilteredPolicy``: its parameters, and the frozen filter that it sees through."""

    theta_p: Array
    filter: Filter
    value: Value | None = None  # of the baseline; a policy that was exported has none


@dataclass(frozen=True)
class FilteredPolicy:
    """TRPO's policy: filtered observations, tanh layers with biases, a logit for each of k actions (modular_rl)."""

    num_inputs: int
    hidden_sizes: tuple[int, ...]
    num_actions: int

    @cached_property
    def mlp(self) -> MLP:
        """The network; its ``theta`` is the policy's."""
        return MLP((self.num_inputs, *self.hidden_sizes, self.num_actions), activation="tanh")

    def init(self, rng: np.random.Generator) -> Array:
        """Parameters of a policy that starts close to uniform: its last layer is scaled by 0.1."""
        return self.mlp.init(rng, output_scale=0.1)

    def sampler(self, weights: FilteredWeights, rng: np.random.Generator) -> Callable[[Array], int]:
        """A function that maps one observation (d,) to an action drawn from the policy.

        The Gumbel-max trick: argmax_a (logit_a + G_a) has the softmax distribution if the G_a are standard Gumbel
        draws. So there is nothing to normalise in the loop, and nothing that can overflow.
        """
        layers, (mean_d, scale_d) = self.mlp.layers(weights.theta_p), weights.filter
        matrices = tuple(layer.weight for layer in layers)
        biases = tuple(layer.bias for layer in layers if layer.bias is not None)
        outputs = tuple(np.empty_like(bias) for bias in biases)
        noise = _gumbel(rng, self.num_actions)

        def choose(obs_d: Array) -> int:
            return tanh_argmax(filtered_row(obs_d, mean_d, scale_d), matrices, biases, outputs, noise())

        return choose

    def probabilities(self, weights: FilteredWeights, obs_nd: Array) -> Array:
        """Probabilities (n, k) of all actions at n observations, as the environment shows them."""
        return Categorical.probabilities(self.mlp.forward(weights.theta_p, weights.filter(obs_nd))[0])


Policy = BernoulliPolicy | ActorCritic | FilteredPolicy


def _one_by_one(draw: Callable[[], Iterable]) -> Callable[[], Any]:
    """What is drawn a block at a time: one cheap call a step is what remains in the loop."""

    def draws() -> Iterator[Any]:
        while True:
            yield from draw()

    return draws().__next__


def _gumbel(rng: np.random.Generator, num_actions: int) -> Callable[[], Array]:
    """Rows (k,) of standard Gumbel draws."""
    return _one_by_one(lambda: rng.gumbel(size=(1024, num_actions)).astype(np.float32))
