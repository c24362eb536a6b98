"""A policy: a network whose outputs are the logits of an action distribution."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from trainables.learning.distributions import Bernoulli, Categorical
from trainables.learning.duplicate_columns import alike_columns
from trainables.learning.logistic import logistic_layers, noisy_argmax
from trainables.learning.mlp import MLP
from trainables.learning.products import Inputs, add_rows
from trainables.learning.sparse_logits import SparseRow, sparse_argmax, sparse_logit

Array = np.ndarray


class RowGradient(NamedTuple):
    """A gradient of a ``BernoulliPolicy`` without the first weight matrix's rows that are zero, or said twice.

    Row j of that matrix multiplies input j. A game that never lights a pixel never touches its row, and pixels that
    light together have the same row, or the opposite one (``learning/alike.py``).
    """

    columns: Array  # (m,) the inputs that were ever non-zero, ascending
    group: Array  # (m,) the row of the gradient that is theirs
    sign: Array  # (m,) and 1, or -1 for its opposite
    grad: Array  # (u*h + h,) gradient of the network that sees one input of each group

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return sum(array.nbytes for array in self)


@dataclass(frozen=True)
class BernoulliPolicy:
    """Karpathy's Pong policy: d inputs, h ReLU units, one logit, no biases (seed document 002, ``Model``)."""

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
        threshold = _logistic(rng)

        def sample(row: SparseRow) -> int:
            columns, values, start, stop = row
            return int(threshold() < sparse_logit(w1, w2, columns, values, start, stop, hidden))

        return sample

    def probabilities(self, theta_p: Array, x_nd: Inputs) -> Array:
        """Probabilities (n, 2) of both actions at n observations."""
        up_n1 = expit(self.mlp.forward(theta_p, x_nd)[0])
        return np.hstack([1 - up_n1, up_n1])

    def score_gradient(self, theta_p: Array, x_nd: Inputs, action_n: Array, weight_n: Array) -> tuple[Array, Array]:
        """The REINFORCE gradient of n steps, and the policy's entropy at each, in nats.

            g = sum_t  weight[t] * grad_theta log p(action[t] | x[t])        (Williams 1992)

        Returns ((p,), (n,)).
        """
        logit_nk, tape = self.mlp.forward(theta_p, x_nd)
        logit_n = logit_nk[:, 0]
        score_n = Bernoulli.score(logit_n, action_n) * weight_n.astype(logit_n.dtype)
        return self.mlp.vjp(theta_p, tape, score_n[:, None]), Bernoulli.entropy(logit_n)

    def sparse_score_gradient(
        self, theta_p: Array, x_nd: sparse.csr_matrix, action_n: Array, weight_n: Array
    ) -> tuple[RowGradient, Array]:
        """``score_gradient`` as the rows that it touches: the same maths in a network that sees each of them once."""
        alike = alike_columns(x_nd)
        (w1, _), (w2, _) = self.mlp.layers(theta_p)
        small_theta = np.concatenate([alike.merged(w1).ravel(), w2.ravel()])
        small = BernoulliPolicy(alike.one_of_each.shape[1], self.num_hidden)
        grad, entropy_n = small.score_gradient(small_theta, alike.one_of_each, action_n, weight_n)
        return RowGradient(alike.columns, alike.group, alike.sign, grad), entropy_n

    def add_row_gradient(self, total_p: Array, gradient: RowGradient) -> None:
        """Add a game's, or a block's, gradient to the batch's, in place."""
        (w1_total, _), (w2_total, _) = self.mlp.layers(total_p)
        w2 = gradient.grad[-self.num_hidden :]
        w1 = gradient.grad[: -self.num_hidden].reshape(-1, self.num_hidden)
        add_rows(w1_total, gradient.columns, w1, gradient.group, gradient.sign)
        w2_total += w2[:, None]


@dataclass(frozen=True)
class PixelCategoricalPolicy:
    """PPO's policy: Karpathy's network with a logit for each of k actions."""

    num_inputs: int
    num_hidden: int
    num_actions: int

    @cached_property
    def mlp(self) -> MLP:
        """The network; its ``theta`` is the policy's."""
        return MLP((self.num_inputs, self.num_hidden, self.num_actions), activation="relu", bias=False)

    def sampler(self, theta_p: Array, rng: np.random.Generator) -> Callable[[SparseRow], int]:
        """A function that draws an action for one sparse observation, as ``CategoricalPolicy``'s does."""
        (w1, _), (w2, _) = self.mlp.layers(theta_p)
        hidden, logits = np.empty(self.num_hidden, theta_p.dtype), np.empty(self.num_actions, theta_p.dtype)
        noise = _gumbel(rng, self.num_actions)

        def sample(row: SparseRow) -> int:
            columns, values, start, stop = row
            return sparse_argmax(w1, w2, columns, values, start, stop, hidden, logits, noise())

        return sample

    def probabilities(self, theta_p: Array, x_nd: Inputs) -> Array:
        """Probabilities (n, k) of all actions at n observations."""
        return Categorical.probabilities(self.mlp.forward(theta_p, x_nd)[0])


@dataclass(frozen=True)
class CategoricalPolicy:
    """TRPO's policy: d inputs, tanh layers with biases, a logit for each of k actions (modular_rl)."""

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

    def sampler(self, theta_p: Array, rng: np.random.Generator) -> Callable[[Array], int]:
        """A function that maps one observation (d,) to an action drawn from the policy.

        The Gumbel-max trick: argmax_a (logit_a + G_a) has the softmax distribution if the G_a are standard Gumbel
        draws. So there is nothing to normalise in the loop, and nothing that can overflow.
        """
        weights, biases = logistic_layers(self.mlp.layers(theta_p))
        outputs = tuple(np.empty_like(bias) for bias in biases)
        noise = _gumbel(rng, self.num_actions)

        def sample(obs_d: Array) -> int:
            return noisy_argmax(obs_d, weights, biases, outputs, noise())

        return sample


def _gumbel(rng: np.random.Generator, num_actions: int) -> Callable[[], Array]:
    """Rows (k,) of standard Gumbel draws, made a block at a time."""

    def draws() -> Iterator[Array]:
        while True:
            yield from rng.gumbel(size=(1024, num_actions)).astype(np.float32)

    return draws().__next__


def _logistic(rng: np.random.Generator) -> Callable[[], float]:
    """Logistic draws, a block at a time: one cheap call a step is what remains in the loop."""

    def draws() -> Iterator[float]:
        while True:
            yield from rng.logistic(size=1024).tolist()

    return draws().__next__
