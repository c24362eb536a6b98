"""Duplicate columns: found, grouped, and worth the same as before."""

import numpy as np
from scipy import sparse

from trainables.learning.inputs import distinct_columns


def test_a_matrix_is_its_groups_columns_with_their_signs():
    rng = np.random.default_rng(0)
    basis = rng.choice([-1, 0, 0, 0, 1], (40, 6)).astype(np.float32)
    columns, signs = rng.integers(0, 6, 30), rng.choice([-1, 0, 1], 30)
    dense = (basis[:, columns] * signs).astype(np.float32)
    distinct = distinct_columns(sparse.csr_matrix(dense))
    rebuilt = np.zeros_like(dense)
    rebuilt[:, distinct.columns] = distinct.distinct_nu.toarray()[:, distinct.group] * distinct.sign
    np.testing.assert_array_equal(rebuilt, dense)
    assert distinct.distinct_nu.shape == (40, 6)
    assert [*distinct.columns] == [*np.flatnonzero(signs)]


def test_merged_weights_make_of_one_column_of_each_what_the_whole_matrix_makes():
    rng = np.random.default_rng(1)
    dense = np.repeat(rng.choice([-1, 0, 0, 1], (20, 4)), 3, axis=1).astype(np.float32)
    x_nd, weight_dh = sparse.csr_matrix(dense), rng.standard_normal((12, 5)).astype(np.float32)
    distinct = distinct_columns(x_nd)
    np.testing.assert_allclose(
        distinct.distinct_nu @ distinct.merged(weight_dh), x_nd @ weight_dh, rtol=1e-5, atol=1e-6
    )


def test_a_matrix_of_zeros_has_no_columns():
    distinct = distinct_columns(sparse.csr_matrix((7, 3), dtype=np.float32))
    assert len(distinct.columns) == 0
    assert distinct.merged(np.ones((3, 2), np.float32)).shape == (0, 2)
