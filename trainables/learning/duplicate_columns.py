"""Columns of a sparse matrix that need no second look: those that are zero, and those that are alike.

Two are alike if they are equal, or opposite, in every row. A ball of four pixels lights them all at once, and a paddle
that moves lights whole strips. Whatever is linear in such pixels need be computed, and sent, once for all of them: of
the pixels that a game of Pong lights, a third to almost half are repetitions.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from trainables.learning.products import add_rows

Array = np.ndarray


class Alike(NamedTuple):
    """A matrix (n, d) without its repetitions.

        x_nd[:, columns[j]] = sign[j] * one_of_each[:, group[j]]

    All other columns are zero.
    """

    columns: Array  # (m,) int32, those that are not zero, ascending
    group: Array  # (m,) int32, the group that each of them belongs to
    sign: Array  # (m,) float32, 1 or -1
    one_of_each: sparse.csr_matrix  # (n, u), a column of each group

    def merged(self, weight_dh: Array) -> Array:
        """The weights (u, h) with which ``one_of_each`` makes what the whole matrix makes of ``weight_dh`` (d, h)."""
        merged_uh = np.zeros((self.one_of_each.shape[1], weight_dh.shape[1]), weight_dh.dtype)
        add_rows(merged_uh, self.group, weight_dh, self.columns, self.sign)
        return merged_uh


def lit_columns(x_nd: sparse.csr_matrix) -> tuple[Array, sparse.csr_matrix]:
    """The columns (m,) that are not zero everywhere, ascending, and the matrix of these alone (n, m)."""
    lit_d = np.zeros(x_nd.shape[1], np.bool_)
    lit_d[x_nd.indices] = True
    columns, number_d = lit_d.nonzero()[0], np.cumsum(lit_d, dtype=np.int32) - 1
    return columns, sparse.csr_matrix((x_nd.data, number_d[x_nd.indices], x_nd.indptr), (x_nd.shape[0], len(columns)))


def alike_columns(x_nd: sparse.csr_matrix) -> Alike:
    """Find the columns that are alike, and keep one of each.

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
    one_of_each = sparse.csr_matrix((x_nd.data[kept], number[kept], starts), (x_nd.shape[0], len(first)))
    return Alike(columns.astype(np.int32), group.astype(np.int32), sign, one_of_each)
