"""Columns that are alike: found, grouped, and worth the same as before."""

import numpy as np
from scipy import sparse

from trainables.learning.duplicate_columns import alike_columns


def test_a_matrix_is_its_groups_columns_with_their_signs():
    rng = np.random.default_rng(0)
    basis = rng.choice([-1, 0, 0, 0, 1], (40, 6)).astype(np.float32)
    columns, signs = rng.integers(0, 6, 30), rng.choice([-1, 0, 1], 30)
    dense = (basis[:, columns] * signs).astype(np.float32)
    alike = alike_columns(sparse.csr_matrix(dense))
    rebuilt = np.zeros_like(dense)
    rebuilt[:, alike.columns] = alike.one_of_each.toarray()[:, alike.group] * alike.sign
    np.testing.assert_array_equal(rebuilt, dense)
    assert alike.one_of_each.shape == (40, 6)
    assert [*alike.columns] == [*np.flatnonzero(signs)]


def test_merged_weights_make_of_one_column_of_each_what_the_whole_matrix_makes():
    rng = np.random.default_rng(1)
    dense = np.repeat(rng.choice([-1, 0, 0, 1], (20, 4)), 3, axis=1).astype(np.float32)
    x_nd, weight_dh = sparse.csr_matrix(dense), rng.standard_normal((12, 5)).astype(np.float32)
    alike = alike_columns(x_nd)
    np.testing.assert_allclose(alike.one_of_each @ alike.merged(weight_dh), x_nd @ weight_dh, rtol=1e-5, atol=1e-6)


def test_a_matrix_of_zeros_has_no_columns():
    alike = alike_columns(sparse.csr_matrix((7, 3), dtype=np.float32))
    assert len(alike.columns) == 0
    assert alike.merged(np.ones((3, 2), np.float32)).shape == (0, 2)
