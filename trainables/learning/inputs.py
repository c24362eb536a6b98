"""Inputs of a network: dense arrays and sparse rows alike."""

from typing import TypeAlias

import numpy as np
from scipy import sparse

from trainables.learning.kernels.products import sparse_product, sparse_transposed_product

Array = np.ndarray

Inputs: TypeAlias = np.ndarray | sparse.csr_matrix
"""n observations of d numbers each, (n, d)."""


def product(x_nd: Inputs, weight_dh: Array) -> Array:
    """``x_nd @ weight_dh``, dense (n, h)."""
    if not isinstance(x_nd, sparse.csr_matrix) or x_nd.dtype != weight_dh.dtype:  # the compiled loop is for one type
        return x_nd @ weight_dh
    out_nh = np.empty((x_nd.shape[0], weight_dh.shape[1]), weight_dh.dtype)
    sparse_product(x_nd.indptr, x_nd.indices, x_nd.data, weight_dh, out_nh)
    return out_nh


def transposed_product(x_nd: Inputs, y_nh: Array, out_dh: Array) -> None:
    """Write ``x_nd.T @ y_nh`` into ``out_dh``."""
    if isinstance(x_nd, sparse.csr_matrix) and x_nd.dtype == y_nh.dtype:
        sparse_transposed_product(x_nd.indptr, x_nd.indices, x_nd.data, np.ascontiguousarray(y_nh), out_dh)
    else:
        out_dh[:] = x_nd.T @ y_nh


def active_inputs(x_nd: Inputs) -> tuple[Array, Inputs]:
    """The inputs (m,) that are not zero in every row, ascending, and the matrix of these columns alone (n, m).

    The weights of all others have no gradient, so an update can do without them: of Pong's 128 bytes of memory most
    never change, and a batch of games lights a few thousand of 12,800 pixels.
    """
    if not isinstance(x_nd, sparse.csr_matrix):
        columns = np.flatnonzero(x_nd.any(axis=0))
        return columns, x_nd[:, columns]
    active_d = np.zeros(x_nd.shape[1], np.bool_)
    active_d[x_nd.indices] = True
    columns, number_d = active_d.nonzero()[0], np.cumsum(active_d, dtype=np.int32) - 1
    return columns, sparse.csr_matrix((x_nd.data, number_d[x_nd.indices], x_nd.indptr), (x_nd.shape[0], len(columns)))
