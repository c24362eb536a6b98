"""RMSProp and Adam against their recursions, written out entry by entry."""

import numpy as np
import pytest

from trainables.learning.optimisers import Adam, RMSProp

RNG = np.random.default_rng(0)
GRADIENTS = RNG.standard_normal((6, 5)).astype(np.float32)
THETA = RNG.standard_normal(5).astype(np.float32)


def run(optimiser) -> np.ndarray:
    """Theta after all gradients."""
    theta_p, state = THETA, optimiser.init(len(THETA))
    for grad_p in GRADIENTS:
        theta_p, state = optimiser.ascend(theta_p, grad_p, state)
    return theta_p


def test_rmsprop_follows_the_seeds_recursion():
    expected = []
    for theta, gradients in zip(THETA.astype(float), GRADIENTS.T.astype(float), strict=True):
        mean_square = 0.0
        for g in gradients:
            mean_square = 0.9 * mean_square + 0.1 * g**2
            theta += 0.01 * g / (np.sqrt(mean_square) + 1e-5)
        expected.append(theta)
    np.testing.assert_allclose(run(RMSProp(0.01, decay=0.9)), expected, rtol=1e-5)


def test_adam_follows_algorithm_1():
    expected = []
    for theta, gradients in zip(THETA.astype(float), GRADIENTS.T.astype(float), strict=True):
        m = v = 0.0
        for t, g in enumerate(gradients, start=1):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            theta += 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        expected.append(theta)
    np.testing.assert_allclose(run(Adam(0.01)), expected, rtol=1e-5)


@pytest.mark.parametrize("optimiser", [RMSProp(0.01), Adam(0.01)], ids=["rmsprop", "adam"])
def test_ascend_is_pure_and_keeps_types(optimiser):
    state = optimiser.init(len(THETA))
    before = {name: array.copy() for name, array in state.items()}
    theta_p, new_state = optimiser.ascend(THETA, GRADIENTS[0], state)
    assert theta_p.dtype == np.float32
    assert theta_p is not THETA
    for name, array in state.items():
        np.testing.assert_array_equal(array, before[name])
        assert new_state[name].dtype == array.dtype
        assert new_state[name].shape == array.shape


@pytest.mark.parametrize("optimiser", [RMSProp(0.01), Adam(0.01)], ids=["rmsprop", "adam"])
def test_in_place_it_is_the_same_step_in_the_same_arrays(optimiser):
    state, theta_p = optimiser.init(len(THETA)), THETA.copy()
    expected_p, expected = optimiser.ascend(THETA, GRADIENTS[0], state)
    new_p, new = optimiser.ascend(theta_p, GRADIENTS[0], state, in_place=True)
    assert new_p is theta_p
    np.testing.assert_array_equal(theta_p, expected_p)
    for name, array in expected.items():
        np.testing.assert_array_equal(new[name], array)
        assert new[name] is state[name] or not array.ndim


@pytest.mark.parametrize("optimiser", [RMSProp(0.05), Adam(0.05)], ids=["rmsprop", "adam"])
def test_ascend_climbs(optimiser):
    theta_p, state = THETA, optimiser.init(len(THETA))
    for _ in range(300):
        theta_p, state = optimiser.ascend(theta_p, 1 - theta_p, state)  # the gradient of -(theta - 1)^2 / 2
    np.testing.assert_allclose(theta_p, 1, atol=0.05)
