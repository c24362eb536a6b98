"""The network's products against finite differences and each other, on dense and sparse rows, whole and in parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from trainables.learning.cores import NetworkHalf, rejoined
from trainables.learning.inputs import SparseRows, active_columns, distinct_columns
from trainables.learning.mlp import MLP
from trainables.learning.optimisers import Adam, RMSProp

SHAPES = [MLP((4, 3), "tanh"), MLP((4, 5, 2), "tanh"), MLP((4, 5, 6, 3), "tanh"), MLP((4, 5, 1), "relu", bias=False)]


def draw(mlp, seed=0, n=7):
    """Parameters and inputs in float64, so that differences are exact to about 1e-9."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(mlp.num_params), rng.standard_normal((n, mlp.sizes[0])), rng


@pytest.mark.parametrize("mlp", SHAPES, ids=str)
def test_jvp_is_the_central_difference(mlp):
    theta_p, x_nd, rng = draw(mlp)
    tangent_p, eps = rng.standard_normal(mlp.num_params), 1e-6
    ahead, behind = (mlp.forward(theta_p + sign * eps * tangent_p, x_nd)[0] for sign in (1, -1))
    _, tape = mlp.forward(theta_p, x_nd)
    np.testing.assert_allclose(mlp.jvp(theta_p, tape, tangent_p), (ahead - behind) / (2 * eps), rtol=1e-5, atol=1e-7)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    activation=st.sampled_from(["tanh", "relu"]),
    bias=st.booleans(),
    seed=st.integers(0, 99),
)
def test_vjp_is_the_adjoint_of_jvp(sizes, activation, bias, seed):
    mlp = MLP(tuple(sizes), activation, bias)
    theta_p, x_nd, rng = draw(mlp, seed)
    tangent_p, cotangent_nk = rng.standard_normal(mlp.num_params), rng.standard_normal((len(x_nd), sizes[-1]))
    _, tape = mlp.forward(theta_p, x_nd)
    pushed = np.sum(mlp.jvp(theta_p, tape, tangent_p) * cotangent_nk)
    assert pushed == pytest.approx(tangent_p @ mlp.vjp(theta_p, tape, cotangent_nk), rel=1e-9, abs=1e-9)


def test_sparse_rows_give_what_dense_rows_give():
    mlp = MLP((30, 5, 1), "relu", bias=False)
    theta_p, x_nd, rng = draw(mlp)
    x_nd *= rng.random(x_nd.shape) < 0.2
    tangent_p, cotangent_nk = rng.standard_normal(mlp.num_params), rng.standard_normal((len(x_nd), 1))
    results = []
    for x in (x_nd, sparse.csr_matrix(x_nd)):
        out_nk, tape = mlp.forward(theta_p, x)
        results.append((out_nk, mlp.vjp(theta_p, tape, cotangent_nk), mlp.jvp(theta_p, tape, tangent_p)))
    for dense, rows in zip(*results, strict=True):
        np.testing.assert_allclose(rows, dense, atol=1e-12)


@pytest.mark.parametrize("mlp", SHAPES[:3], ids=str)
def test_a_restricted_network_computes_the_same_where_other_inputs_are_zero(mlp):
    theta_p, x_nd, rng = draw(mlp)
    columns = np.array([1, 3])
    x_nd[:, [0, 2]] = 0
    small, small_p = mlp.restrict(columns), mlp.restrict_params(theta_p, columns)
    out_nk, tape = mlp.forward(theta_p, x_nd)
    small_nk, small_tape = small.forward(small_p, x_nd[:, columns])
    np.testing.assert_allclose(small_nk, out_nk)
    cotangent_nk = rng.standard_normal(out_nk.shape)
    expanded_p = mlp.expand_params(small.vjp(small_p, small_tape, cotangent_nk), columns, np.zeros_like(theta_p))
    np.testing.assert_allclose(expanded_p, mlp.vjp(theta_p, tape, cotangent_nk), atol=1e-12)
    np.testing.assert_array_equal(mlp.expand_params(small_p, columns, theta_p), theta_p)


def test_init_is_xavier_with_a_scaled_last_layer():
    mlp = MLP((100, 400, 300))
    (w1, b1), (w2, b2) = mlp.layers(mlp.init(np.random.default_rng(0), output_scale=0.1))
    assert w1.dtype == np.float32
    assert w1.std() == pytest.approx(1 / np.sqrt(100), rel=0.02)
    assert w2.std() == pytest.approx(0.1 / np.sqrt(400), rel=0.02)
    assert not np.concatenate([b1, b2]).any()


def test_a_theta_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match=r"need \(8,\)"):
        MLP((3, 2)).layers(np.zeros(7))


@pytest.mark.parametrize("optimiser", [Adam(1e-2), RMSProp(1e-2)], ids=["adam", "rmsprop"])
@pytest.mark.parametrize("hidden", [1, 2, 7])
def test_the_steps_of_its_halves_are_the_networks(hidden, optimiser):
    rng, mlp = np.random.default_rng(0), MLP((30, hidden, 4), "relu", bias=False)
    theta_p = mlp.init(rng)
    state = {n: array + np.array(1, array.dtype) for n, array in optimiser.init(len(theta_p)).items()}
    whole_p, whole_state = theta_p, state
    x_nd = sparse.random(50, 30, 0.05, "csr", np.float32, rng)
    columns, x_nm = active_columns(SparseRows.of(x_nd), 30)
    assert 0 < len(columns) < 30
    units = slice(0, hidden // 2), slice(hidden // 2, hidden)
    one, other = (NetworkHalf(mlp, columns, some, theta_p, state) for some in units)
    for _ in range(3):
        out_nk, tape = mlp.forward(whole_p, x_nd)
        np.testing.assert_allclose(one.forward(x_nm) + other.forward(x_nm), out_nk, rtol=1e-5, atol=1e-6)
        slope_nk = rng.standard_normal(out_nk.shape, np.float32)
        whole_p, whole_state = optimiser.ascend(whole_p, mlp.vjp(whole_p, tape, slope_nk), whole_state)
        for half in (one, other):
            half.ascend(slope_nk, optimiser)
    active_p = mlp.expand_params(np.ones(mlp.restrict(columns).num_params), columns, np.zeros(len(theta_p))) == 1
    for name, before, array in (("theta", theta_p, whole_p), *((n, state[n], a) for n, a in whole_state.items())):
        found = rejoined(name, before, one, other)
        expected = np.where(active_p, array, before) if found.ndim else array
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    moved = np.linalg.norm(rejoined("theta", theta_p, one, other) - theta_p)
    assert np.hypot(one.distance, other.distance) == pytest.approx(moved)


def test_a_matrix_is_its_distinct_columns_with_their_signs():
    rng = np.random.default_rng(0)
    basis = rng.choice([-1, 0, 0, 0, 1], (40, 6)).astype(np.float32)
    columns, signs = rng.integers(0, 6, 30), rng.choice([-1, 0, 1], 30)
    dense, weight_dh = (basis[:, columns] * signs).astype(np.float32), rng.standard_normal((30, 5), np.float32)
    distinct = distinct_columns(sparse.csr_matrix(dense))
    rebuilt = np.zeros_like(dense)
    rebuilt[:, distinct.columns] = distinct.distinct_nu.toarray()[:, distinct.group] * distinct.sign
    np.testing.assert_array_equal(rebuilt, dense)
    assert distinct.distinct_nu.shape == (40, 6)
    merged = distinct.distinct_nu @ distinct.merged(weight_dh)
    np.testing.assert_allclose(merged, dense @ weight_dh, rtol=1e-5, atol=1e-5)
    assert len(distinct_columns(sparse.csr_matrix((7, 3), dtype=np.float32)).columns) == 0
