"""Running mean and deviation of observations, and the filter that they make (modular_rl, ``ZFilter``).

modular_rl's filter changes with every observation that it sees. Here it stands still while games are played: frozen
copies go out with theta, each game brings back the moments of its own observations, and one writer merges them in
game order. So a filter depends on the games alone, never on who played them.
"""

from typing import NamedTuple, Self

import numpy as np

from trainables.learning.kernels import CLIP

Array = np.ndarray


class Moments(NamedTuple):
    """Number, mean and sum of squared deviations of d-dimensional rows; float64."""

    rows: Array  # ()
    mean_d: Array
    squares_d: Array  # sum_n (x_n - mean)^2

    @classmethod
    def empty(cls, num_inputs: int) -> Self:
        """Moments of no rows at all."""
        return cls(np.zeros(()), np.zeros(num_inputs), np.zeros(num_inputs))

    @classmethod
    def of(cls, x_nd: Array) -> Self:
        """Moments of the rows of a matrix."""
        mean_d = x_nd.mean(axis=0, dtype=np.float64)
        centred_nd = x_nd - mean_d
        return cls(np.array(float(len(x_nd))), mean_d, np.einsum("nd,nd->d", centred_nd, centred_nd))

    def merge(self, other: "Moments") -> "Moments":
        """Moments of both sets of rows together (Chan, Golub and LeVeque 1983, equation 2.1)."""
        rows = self.rows + other.rows
        share = other.rows / max(float(rows), 1.0)
        shift_d = other.mean_d - self.mean_d
        return Moments(
            np.asarray(rows),
            self.mean_d + share * shift_d,
            self.squares_d + other.squares_d + self.rows * share * shift_d**2,
        )

    def filter(self) -> "Filter":
        """The frozen filter of these moments; of fewer than two rows, one that only clips."""
        if self.rows < 2:
            return Filter(np.zeros_like(self.mean_d, np.float32), np.ones_like(self.mean_d, np.float32))
        deviation_d = np.sqrt(self.squares_d / (self.rows - 1))
        return Filter(self.mean_d.astype(np.float32), (1 / (deviation_d + 1e-8)).astype(np.float32))


class Filter(NamedTuple):
    """y = clip((x - mean) / (deviation + 1e-8), -5, 5), frozen; float32. ``filtered_row`` is the same for one row."""

    mean_d: Array
    scale_d: Array  # 1 / (deviation + 1e-8)

    def __call__(self, x_nd: Array) -> Array:
        """Filter the rows of a matrix (n, d); returns float32."""
        y_nd = x_nd - self.mean_d
        y_nd *= self.scale_d
        return np.clip(y_nd, -CLIP, CLIP, out=y_nd)
