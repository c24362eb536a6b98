"""A policy: a network whose outputs are the logits of an action distribution."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from scipy import sparse

from trainables.learning.compiled import compiled
from trainables.learning.distributions import Bernoulli
from trainables.learning.logistic import logistic_layers, noisy_argmax
from trainables.learning.mlp import MLP, Inputs

Array = np.ndarray
SparseRow = tuple[Array, Array]
"""One observation as (column indices, values); a column may be listed with value 0."""


class RowGradient(NamedTuple):
    """A gradient of a ``BernoulliPolicy`` that is zero outside some rows of the first weight matrix.

    Row j of that matrix multiplies input j, so a game that never lights a pixel never touches its row.
    """

    columns: Array  # (m,) the inputs that were ever non-zero, ascending
    grad: Array  # (m*h + h,) gradient of the network that sees only those inputs

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return self.columns.nbytes + self.grad.nbytes


def sparse_logit_numpy(w1: Array, w2: Array, columns: Array, values: Array, hidden: Array) -> np.float32:
    """``sparse_logit`` in NumPy.

    ``@``, BLAS ``dot`` and ``maximum`` are no slower themselves, but on CPUs with AVX-512 the emulator's next frames
    take up to 6% longer after each of them. Hence einsum, and the ReLU as a mask.
    """
    np.einsum("k,kh->h", values, w1.take(columns, axis=0), out=hidden)
    hidden *= hidden > 0
    hidden *= w2
    return np.add.accumulate(hidden)[-1]


@compiled(otherwise=sparse_logit_numpy)
def sparse_logit(w1: Array, w2: Array, columns: Array, values: Array, hidden: Array) -> np.float32:
    """The logit relu(x W1) w2 of one sparse observation; ``hidden`` (h,) is room to work in."""
    hidden[:] = 0
    for k in range(len(columns)):
        row, value = w1[columns[k]], values[k]
        for h in range(len(hidden)):
            hidden[h] += value * row[h]
    logit = np.float32(0)
    for h in range(len(hidden)):
        if hidden[h] > 0:
            logit += hidden[h] * w2[h]
    return logit


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
            columns, values = row
            return int(threshold() < sparse_logit(w1, w2, columns, values, hidden))

        return sample

    def score_gradient(self, theta_p: Array, x_nd: Inputs, action_n: Array, weight_n: Array) -> tuple[Array, float]:
        """The REINFORCE gradient of a game, and its mean entropy in nats.

            g = sum_t  weight[t] * grad_theta log p(action[t] | x[t])        (Williams 1992)

        Returns ((p,), entropy).
        """
        logit_nk, tape = self.mlp.forward(theta_p, x_nd)
        logit_n = logit_nk[:, 0]
        score_n = Bernoulli.score(logit_n, action_n) * weight_n.astype(logit_n.dtype)
        return self.mlp.vjp(theta_p, tape, score_n[:, None]), float(Bernoulli.entropy(logit_n).mean())

    def sparse_score_gradient(
        self, theta_p: Array, x_nd: sparse.csr_matrix, action_n: Array, weight_n: Array
    ) -> tuple[RowGradient, float]:
        """``score_gradient`` as the rows that it touches: the same maths in the network that sees only lit inputs."""
        columns, compact = np.unique(x_nd.indices, return_inverse=True)
        lit = sparse.csr_matrix((x_nd.data, compact, x_nd.indptr), (x_nd.shape[0], len(columns)))
        (w1, _), (w2, _) = self.mlp.layers(theta_p)
        small = BernoulliPolicy(len(columns), self.num_hidden)
        small_theta = np.concatenate([w1[columns].ravel(), w2.ravel()])
        grad, entropy = small.score_gradient(small_theta, lit, action_n, weight_n)
        return RowGradient(columns.astype(np.int32), grad), entropy

    def add_row_gradient(self, total_p: Array, gradient: RowGradient) -> None:
        """Add a game's, or a block's, gradient to the batch's, in place."""
        small = BernoulliPolicy(len(gradient.columns), self.num_hidden)
        (w1_total, _), (w2_total, _) = self.mlp.layers(total_p)
        (w1, _), (w2, _) = small.mlp.layers(gradient.grad)
        w1_total[gradient.columns] += w1  # columns are unique, so fancy indexing adds each row once
        w2_total += w2

    def sum_row_gradients(self, gradients: Sequence[RowGradient]) -> RowGradient:
        """The sum of several games' gradients, added in their order, as the rows that any of them touches."""
        columns = reduce(np.union1d, (gradient.columns for gradient in gradients))
        small = BernoulliPolicy(len(columns), self.num_hidden)
        total_p = np.zeros(small.mlp.num_params, np.float32)
        for gradient in gradients:
            small.add_row_gradient(total_p, RowGradient(np.searchsorted(columns, gradient.columns), gradient.grad))
        return RowGradient(columns, total_p)


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
