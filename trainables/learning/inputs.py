"""Inputs of a network: dense arrays and sparse rows alike, without what is zero, in blocks, and without duplicates."""

from collections.abc import Sequence
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from scipy import sparse

from trainables.learning.kernels import add_rows, sparse_product, sparse_transposed_product

Array = np.ndarray

BLOCK = 4096
"""Rows that an update takes at once: what it computes of them, some 1 MB a layer, then stays in a core's cache."""


class SparseRows(NamedTuple):
    """Some rows of a sparse matrix, in any order; to take rows copies none of their entries.

    Row n has ``values[k]`` in the columns ``columns[k]``, k = starts[n] .. stops[n] - 1, and 0 in all others.
    """

    starts: Array  # (n,)
    stops: Array  # (n,)
    columns: Array
    values: Array

    @classmethod
    def of(cls, x_nd: sparse.csr_matrix) -> Self:
        """All rows of a matrix."""
        return cls(x_nd.indptr[:-1], x_nd.indptr[1:], x_nd.indices, x_nd.data)

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """All rows of several parts, one part after the other, as int32 and float32."""
        begins = np.cumsum([0, *(len(part.columns) for part in parts)])[:-1]
        return cls(
            np.concatenate([part.starts + begin for part, begin in zip(parts, begins, strict=True)]),
            np.concatenate([part.stops + begin for part, begin in zip(parts, begins, strict=True)]),
            np.concatenate([part.columns for part in parts], dtype=np.int32),
            np.concatenate([part.values for part in parts], dtype=np.float32),
        )

    def take(self, rows: Array) -> Self:
        """The rows with these numbers."""
        return self._replace(starts=self.starts[rows], stops=self.stops[rows])


Inputs: TypeAlias = np.ndarray | sparse.csr_matrix | SparseRows
"""n observations of d numbers each, (n, d)."""


def product(x_nd: Inputs, weight_dh: Array) -> Array:
    """``x_nd @ weight_dh``, dense (n, h)."""
    if isinstance(x_nd, np.ndarray):
        return x_nd @ weight_dh
    rows = _as_rows(x_nd)
    out_nh = np.empty((len(rows.starts), weight_dh.shape[1]), weight_dh.dtype)
    sparse_product(*rows, weight_dh, out_nh)
    return out_nh


def transposed_product(x_nd: Inputs, y_nh: Array, out_dh: Array) -> None:
    """Write ``x_nd.T @ y_nh`` into ``out_dh``."""
    if isinstance(x_nd, np.ndarray):
        out_dh[:] = x_nd.T @ y_nh
    else:
        sparse_transposed_product(*_as_rows(x_nd), np.ascontiguousarray(y_nh), out_dh)


def _as_rows(x_nd: sparse.csr_matrix | SparseRows) -> SparseRows:
    return x_nd if isinstance(x_nd, SparseRows) else SparseRows.of(x_nd)


def active_inputs(x_nd: Array) -> tuple[Array, Array]:
    """The inputs (m,) that are not zero in every row, ascending, and the matrix of these columns alone (n, m).

    The weights of all others have no gradient, so an update can do without them: of Pong's 128 bytes of memory most
    never change.
    """
    columns = np.flatnonzero(x_nd.any(axis=0))
    return columns, x_nd[:, columns]


def active_columns(x_nd: SparseRows, num_inputs: int) -> tuple[Array, SparseRows]:
    """``active_inputs`` of sparse rows: a batch of games lights a few thousand of 12,800 pixels."""
    active_d = np.zeros(num_inputs, np.bool_)
    active_d[x_nd.columns] = True
    number_d = np.cumsum(active_d, dtype=np.int32) - 1
    return active_d.nonzero()[0], x_nd._replace(columns=number_d[x_nd.columns])


def row_blocks(rows: int) -> list[slice]:
    """Slices that cover ``rows`` rows, the same for every caller and machine, so that sums over them are, too."""
    return [slice(start, start + BLOCK) for start in range(0, rows, BLOCK)]


class DistinctColumns(NamedTuple):
    """A matrix x (n, d) without its duplicate columns, which are equal, or opposite, in every row.

        x_nd[:, columns[j]] = sign[j] * distinct_nu[:, group[j]],   j = 0 .. m-1

    All other columns of x are zero. A ball of four pixels lights them all at once, and a paddle that moves lights whole
    strips: of the pixels that a game of Pong lights, a third to almost half repeat others. Whatever is linear in such
    pixels is computed, and sent, once for all of them.
    """

    columns: Array  # (m,) int32, the columns that are not zero, ascending
    group: Array  # (m,) int32, the distinct column that each of them repeats
    sign: Array  # (m,) float32, 1 or -1
    distinct_nu: sparse.csr_matrix  # (n, u)

    def merged(self, weight_dh: Array) -> Array:
        """The weights (u, h) with which ``distinct_nu`` makes what the whole matrix makes of ``weight_dh`` (d, h)."""
        merged_uh = np.zeros((self.distinct_nu.shape[1], weight_dh.shape[1]), weight_dh.dtype)
        add_rows(merged_uh, self.group, weight_dh, self.columns, self.sign)
        return merged_uh


def distinct_columns(x_nd: sparse.csr_matrix) -> DistinctColumns:
    """Find duplicate columns, and keep one of each.

    Columns are compared by their products with one random vector: two that differ have the same product, in float64,
    with a probability of about 2^-50.
    """
    row_key_n = np.random.default_rng(0).standard_normal(x_nd.shape[0])
    weights = np.repeat(row_key_n, np.diff(x_nd.indptr)) * x_nd.data
    key_d = np.bincount(x_nd.indices, weights, minlength=x_nd.shape[1])
    columns = key_d.nonzero()[0]
    key_m = key_d[columns]
    _, first, group = np.unique(np.abs(key_m), return_index=True, return_inverse=True)
    sign = np.where(key_m == key_m[first][group], np.float32(1), np.float32(-1))
    number_d = np.full(x_nd.shape[1], -1, np.int32)
    number_d[columns[first]] = np.arange(len(first))
    number = number_d[x_nd.indices]
    kept = (number >= 0).nonzero()[0]
    starts = np.searchsorted(kept, x_nd.indptr).astype(np.int32)
    distinct_nu = sparse.csr_matrix((x_nd.data[kept], number[kept], starts), (x_nd.shape[0], len(first)))
    return DistinctColumns(columns.astype(np.int32), group.astype(np.int32), sign, distinct_nu)
