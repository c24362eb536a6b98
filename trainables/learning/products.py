"""Products of inputs and weights, which are most of what an update computes, and sums of rows.

SciPy's own products of sparse and dense matrices take half as long again as numba's, and the transposed one fills an
array of its own, which is then copied. Both add in the same order, so the results are the same bits.
"""

from typing import Any

import numpy as np
from scipy import sparse

from trainables.learning.compiled import compiled

Array = np.ndarray
Inputs = Any
"""A dense array (n, d) or a ``scipy.sparse.csr_matrix``."""


def product(x_nd: Inputs, weight_dh: Array) -> Array:
    """``x_nd @ weight_dh``, dense (n, h)."""
    if not _one_type(x_nd, weight_dh):
        return x_nd @ weight_dh
    out_nh = np.empty((x_nd.shape[0], weight_dh.shape[1]), weight_dh.dtype)
    sparse_product(x_nd.indptr, x_nd.indices, x_nd.data, weight_dh, out_nh)
    return out_nh


def transposed_product(x_nd: Inputs, y_nh: Array, out_dh: Array) -> None:
    """Write ``x_nd.T @ y_nh`` into ``out_dh``."""
    if _one_type(x_nd, y_nh):
        sparse_transposed_product(x_nd.indptr, x_nd.indices, x_nd.data, np.ascontiguousarray(y_nh), out_dh)
    else:
        out_dh[:] = x_nd.T @ y_nh


def _one_type(x_nd: Inputs, other: Array) -> bool:
    """Whether these are what the compiled loops are for: sparse, and of the other's type."""
    return isinstance(x_nd, sparse.csr_matrix) and x_nd.dtype == other.dtype


def sparse_product_numpy(starts: Array, columns: Array, values: Array, weight_dh: Array, out_nh: Array) -> None:
    """``sparse_product`` by SciPy."""
    out_nh[:] = sparse.csr_matrix((values, columns, starts), (len(out_nh), len(weight_dh))) @ weight_dh


@compiled(otherwise=sparse_product_numpy, nogil=True)
def sparse_product(starts: Array, columns: Array, values: Array, weight_dh: Array, out_nh: Array) -> None:
    """Row n of ``out_nh`` becomes the sum of ``values[k] * weight_dh[columns[k]]`` over k from starts[n] on."""
    for n in range(len(out_nh)):
        out_h = out_nh[n]
        out_h[:] = 0
        for k in range(starts[n], starts[n + 1]):
            value, weight_h = values[k], weight_dh[columns[k]]
            for h in range(len(out_h)):
                out_h[h] += value * weight_h[h]


def sparse_transposed_product_numpy(starts: Array, columns: Array, values: Array, y_nh: Array, out_dh: Array) -> None:
    """``sparse_transposed_product`` by SciPy."""
    out_dh[:] = sparse.csr_matrix((values, columns, starts), (len(y_nh), len(out_dh))).T @ y_nh


@compiled(otherwise=sparse_transposed_product_numpy, nogil=True)
def sparse_transposed_product(starts: Array, columns: Array, values: Array, y_nh: Array, out_dh: Array) -> None:
    """Row d of ``out_dh`` becomes the sum of ``values[k] * y_nh[n]`` over all k in row n with ``columns[k]`` = d."""
    out_dh[:] = 0
    for n in range(len(y_nh)):
        y_h = y_nh[n]
        for k in range(starts[n], starts[n + 1]):
            value, out_h = values[k], out_dh[columns[k]]
            for h in range(len(y_h)):
                out_h[h] += value * y_h[h]


def add_rows_numpy(total: Array, rows: Array, grad: Array, group: Array, sign: Array) -> None:
    """``add_rows`` by SciPy."""
    touched, place = np.unique(rows, return_inverse=True)
    sums = sparse.csr_matrix((sign, (place, np.arange(len(rows)))), (len(touched), len(rows)))
    total[touched] += sums @ grad[group]


@compiled(otherwise=add_rows_numpy)
def add_rows(total: Array, rows: Array, grad: Array, group: Array, sign: Array) -> None:
    """Add, in place, ``sign[j] * grad[group[j]]`` to row ``rows[j]`` of ``total``, for all j in turn.

    Where a row comes up more than once, it has to be zero before: only then do both forms come to the same bits.
    """
    for j in range(len(rows)):
        total_row, grad_row, factor = total[rows[j]], grad[group[j]], sign[j]
        for h in range(len(total_row)):
            total_row[h] += factor * grad_row[h]
