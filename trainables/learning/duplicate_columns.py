"""Columns of a sparse matrix that repeat others, so that they need not be computed or sent.

Two columns are duplicates if they are equal, or opposite, in every row. A ball of four pixels lights them all at once,
and a paddle that moves lights whole strips: of the pixels that a game of Pong lights, a third to almost half repeat
others. Whatever is linear in such pixels is computed once for all of them.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from trainables.learning.kernels.products import add_rows

Array = np.ndarray


class DistinctColumns(NamedTuple):
    """A matrix x (n, d) without its duplicate columns.

        x_nd[:, columns[j]] = sign[j] * distinct_nu[:, group[j]],   j = 0 .. m-1

    All other columns of x are zero.
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
