"""The network's products against finite differences, each other, and the same lines on sparse rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from trainables.learning.mlp import MLP

SHAPES = [MLP((4, 3), "tanh"), MLP((4, 5, 2), "tanh"), MLP((4, 5, 6, 3), "tanh"), MLP((4, 5, 1), "relu", bias=False)]


def draw(mlp: MLP, seed: int = 0, n: int = 7) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
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


@pytest.mark.parametrize("mlp", SHAPES, ids=str)
def test_vjp_is_the_gradient(mlp):
    theta_p, x_nd, rng = draw(mlp)
    cotangent_nk, eps = rng.standard_normal((len(x_nd), mlp.sizes[-1])), 1e-6

    def weighted_output(parameters: np.ndarray) -> float:
        return float(np.sum(mlp.forward(parameters, x_nd)[0] * cotangent_nk))

    numeric_p = [
        (weighted_output(theta_p + eps * unit) - weighted_output(theta_p - eps * unit)) / (2 * eps)
        for unit in np.eye(mlp.num_params)
    ]
    _, tape = mlp.forward(theta_p, x_nd)
    np.testing.assert_allclose(mlp.vjp(theta_p, tape, cotangent_nk), numeric_p, rtol=1e-5, atol=1e-7)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    activation=st.sampled_from(["tanh", "relu"]),
    bias=st.booleans(),
    seed=st.integers(0, 99),
)
def test_jvp_and_vjp_are_adjoint(sizes, activation, bias, seed):
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
    (dense, dense_tape), (rows, rows_tape) = (mlp.forward(theta_p, x) for x in (x_nd, sparse.csr_matrix(x_nd)))
    np.testing.assert_allclose(rows, dense)
    np.testing.assert_allclose(
        mlp.vjp(theta_p, rows_tape, cotangent_nk), mlp.vjp(theta_p, dense_tape, cotangent_nk), atol=1e-12
    )
    np.testing.assert_allclose(
        mlp.jvp(theta_p, rows_tape, tangent_p), mlp.jvp(theta_p, dense_tape, tangent_p), atol=1e-12
    )


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
    assert not b1.any()
    assert not b2.any()


def test_layers_are_views_of_theta():
    mlp = MLP((3, 2))
    theta_p = np.zeros(mlp.num_params, np.float32)
    mlp.layers(theta_p)[0].weight[:] = 1
    assert theta_p.sum() == 6


def test_a_theta_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match=r"need \(8,\)"):
        MLP((3, 2)).layers(np.zeros(7))
