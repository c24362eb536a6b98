"""Inputs of a network: dense arrays and sparse rows alike."""

from collections.abc import Sequence
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from scipy import sparse

from trainables.learning.kernels.products import sparse_product, sparse_transposed_product

Array = np.ndarray


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
        """All rows of several parts whose rows stand in order, one part after the other."""
        first = np.cumsum([0, *(len(part.columns) for part in parts)])
        starts, stops = (
            np.concatenate([part[index] + begin for part, begin in zip(parts, first, strict=False)]) for index in (0, 1)
        )
        return cls(starts, stops, *(np.concatenate([part[index] for part in parts]) for index in (2, 3)))

    def take(self, rows: Array) -> Self:
        """The rows with these numbers."""
        return self._replace(starts=self.starts[rows], stops=self.stops[rows])


Inputs: TypeAlias = np.ndarray | sparse.csr_matrix | SparseRows
"""n observations of d numbers each, (n, d)."""


def product(x_nd: Inputs, weight_dh: Array) -> Array:
    """``x_nd @ weight_dh``, dense (n, h)."""
    rows = _as_rows(x_nd, weight_dh)
    if not isinstance(rows, SparseRows):
        return rows @ weight_dh
    out_nh = np.empty((len(rows.starts), weight_dh.shape[1]), weight_dh.dtype)
    sparse_product(*rows, weight_dh, out_nh)
    return out_nh


def transposed_product(x_nd: Inputs, y_nh: Array, out_dh: Array) -> None:
    """Write ``x_nd.T @ y_nh`` into ``out_dh``."""
    rows = _as_rows(x_nd, y_nh)
    if isinstance(rows, SparseRows):
        sparse_transposed_product(*rows, np.ascontiguousarray(y_nh), out_dh)
    else:
        out_dh[:] = rows.T @ y_nh


def _as_rows(x_nd: Inputs, factor: Array) -> Inputs:
    """A sparse matrix as rows, which the compiled loops walk through, if both have numbers of one type."""
    if isinstance(x_nd, sparse.csr_matrix) and x_nd.dtype == factor.dtype:
        return SparseRows.of(x_nd)
    return x_nd


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
