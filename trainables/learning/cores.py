"""Two cores: two jobs of an update at the same time, and a network cut in two for them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

import numpy as np

from trainables.learning.inputs import Inputs
from trainables.learning.mlp import MLP
from trainables.learning.optimisers import Optimiser, State

Array = np.ndarray
FirstT = TypeVar("FirstT")
SecondT = TypeVar("SecondT")


class Cores:
    """A thread beside the caller's that stays from update to update: a new one has its memory mapped anew."""

    def __init__(self, count: int) -> None:
        self._thread = ThreadPoolExecutor(1) if count > 1 else None

    def run_two(self, first: Callable[[], FirstT], second: Callable[[], SecondT]) -> tuple[FirstT, SecondT]:
        """Results of two jobs that do not need each other's, one after the other or at the same time.

        NumPy's error state is part of a thread's context, and the other job gets a copy of the caller's.
        """
        if self._thread is None:
            return first(), second()
        job = self._thread.submit(copy_context().run, second)
        try:
            result = first()
        finally:
            other = job.result()
        return result, other


class NetworkHalf:
    """Some hidden units of a network of one hidden layer without biases, which see the inputs ``columns`` (m,) alone.

        relu(x W1) W2 = relu(x W1[:, :u]) W2[:u] + relu(x W1[:, u:]) W2[u:]

    Each half has copies of its parameters, and of all that an optimiser remembers of them. So two cores can climb an
    objective together and meet for the outputs' sum alone; one core comes to the same bits.
    """

    def __init__(self, mlp: MLP, columns: Array, units: slice, theta_p: Array, state: State) -> None:
        self._whole, self._columns, self._units = mlp, columns, units
        self._mlp = MLP((len(columns), units.stop - units.start, mlp.sizes[-1]), mlp.activation, bias=False)
        self._theta_p, self._began_p = self._cut(theta_p), theta_p
        self.state = {name: self._cut(array) if array.ndim else array for name, array in state.items()}

    def forward(self, x_nm: Inputs) -> Array:
        """Its part of the outputs (n, k), of inputs that have the columns alone; remembered for ``ascend``."""
        out_nk, self._tape = self._mlp.forward(self._theta_p, x_nm)
        return out_nk

    def ascend(self, slope_nk: Array, optimiser: Optimiser) -> None:
        """One step of the optimiser, by the objective's slopes at the whole network's outputs."""
        grad_p = self._mlp.vjp(self._theta_p, self._tape, slope_nk)
        self._theta_p, self.state = optimiser.ascend(self._theta_p, grad_p, self.state, in_place=True)

    @property
    def distance(self) -> float:
        """How far its parameters have moved."""
        return float(np.linalg.norm(self._theta_p - self._cut(self._began_p)))

    def paste(self, name: str, whole_p: Array) -> None:
        """Write its parameters ("theta"), or an array of its optimiser's state, to their place in the network's."""
        part_p = self._theta_p if name == "theta" else self.state[name]
        (w1, _), (w2, _) = self._whole.layers(whole_p)
        (part1, _), (part2, _) = self._mlp.layers(part_p)
        w1[self._columns, self._units], w2[self._units] = part1, part2

    def _cut(self, whole_p: Array) -> Array:
        (w1, _), (w2, _) = self._whole.layers(whole_p)
        return np.concatenate([w1[self._columns, self._units].ravel(), w2[self._units].ravel()])


def rejoined(name: str, whole_p: Array, one: NetworkHalf, other: NetworkHalf) -> Array:
    """An array of the whole network ("theta", or of the optimiser's state) after the halves' steps; a new one."""
    if not whole_p.ndim:  # a number, the same in both
        return one.state[name]
    whole_p = whole_p.copy()
    one.paste(name, whole_p)
    other.paste(name, whole_p)
    return whole_p
