"""The halves of a network are the network: outputs, gradients, optimisers' steps, and where all of it is put back."""

import numpy as np
import pytest
from scipy import sparse

from trainables.learning.cores import NetworkHalf, rejoined
from trainables.learning.inputs import SparseRows, active_columns
from trainables.learning.mlp import MLP
from trainables.learning.optimisers import Adam, RMSProp


@pytest.mark.parametrize("optimiser", [Adam(1e-2), RMSProp(1e-2)], ids=["adam", "rmsprop"])
@pytest.mark.parametrize("hidden", [1, 2, 7])
def test_their_steps_are_the_networks(hidden, optimiser):
    rng, mlp = np.random.default_rng(0), MLP((30, hidden, 4), "relu", bias=False)
    theta_p = mlp.init(rng)
    state = {n: array + np.array(1, array.dtype) for n, array in optimiser.init(len(theta_p)).items()}
    whole_p, whole_state = theta_p, state
    x_nd = sparse.random(50, 30, 0.05, "csr", np.float32, rng)
    columns, x_nm = active_columns(SparseRows.of(x_nd), 30)
    assert 0 < len(columns) < 30
    middle = hidden // 2
    one, other = (
        NetworkHalf(mlp, columns, units, theta_p, state) for units in (slice(0, middle), slice(middle, hidden))
    )
    for _ in range(3):
        out_nk, tape = mlp.forward(whole_p, x_nd)
        np.testing.assert_allclose(one.forward(x_nm) + other.forward(x_nm), out_nk, rtol=1e-5, atol=1e-6)
        slope_nk = rng.standard_normal(out_nk.shape, np.float32)
        grad_p = mlp.vjp(whole_p, tape, slope_nk)
        whole_p, whole_state = optimiser.ascend(whole_p, grad_p, whole_state)
        for half in (one, other):
            half.ascend(slope_nk, optimiser)
    active_p = mlp.expand_params(np.ones(mlp.restrict(columns).num_params), columns, np.zeros(len(theta_p))) == 1
    for name, before, array in (("theta", theta_p, whole_p), *((n, state[n], a) for n, a in whole_state.items())):
        found = rejoined(name, before, one, other)
        if found.ndim:
            np.testing.assert_allclose(found, np.where(active_p, array, before), rtol=1e-4, atol=1e-6)
        else:
            assert found == array
    assert np.hypot(one.distance, other.distance) == pytest.approx(
        np.linalg.norm(rejoined("theta", theta_p, one, other) - theta_p)
    )
