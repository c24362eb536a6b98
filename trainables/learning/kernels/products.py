"""Products of sparse and dense matrices, and sums of rows.

Compiled because they are most of an update's arithmetic: SciPy's own products take half as long again, and the
transposed one fills an array of its own, which is then copied. Both add in the same order: results are the same bits.
"""

import numpy as np

from trainables.learning.kernels import compiled

Array = np.ndarray


@compiled(nogil=True)
def sparse_product(starts: Array, stops: Array, columns: Array, values: Array, weight_dh: Array, out_nh: Array) -> None:
    """Row n of ``out_nh`` becomes the sum of ``values[k] * weight_dh[columns[k]]``, k = starts[n] .. stops[n] - 1."""
    for n in range(len(out_nh)):
        out_h = out_nh[n]
        out_h[:] = 0
        for k in range(starts[n], stops[n]):
            value, weight_h = values[k], weight_dh[columns[k]]
            for h in range(len(out_h)):
                out_h[h] += value * weight_h[h]


@compiled(nogil=True)
def sparse_transposed_product(
    starts: Array, stops: Array, columns: Array, values: Array, y_nh: Array, out_dh: Array
) -> None:
    """Row d of ``out_dh`` becomes the sum of ``values[k] * y_nh[n]`` over all k in row n with ``columns[k]`` = d."""
    out_dh[:] = 0
    for n in range(len(y_nh)):
        y_h = y_nh[n]
        for k in range(starts[n], stops[n]):
            value, out_h = values[k], out_dh[columns[k]]
            for h in range(len(y_h)):
                out_h[h] += value * y_h[h]


@compiled()
def add_rows(total: Array, rows: Array, grad: Array, group: Array, sign: Array) -> None:
    """Add, in place, ``sign[j] * grad[group[j]]`` to row ``rows[j]`` of ``total``, for all j in turn."""
    for j in range(len(rows)):
        total_row, grad_row, factor = total[rows[j]], grad[group[j]], sign[j]
        for h in range(len(total_row)):
            total_row[h] += factor * grad_row[h]
