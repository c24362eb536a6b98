"""Adam against its recursion, written out entry by entry, and what a step does to its arguments."""

import numpy as np
import pytest

from trainables.learning.optimisers import Adam, RMSProp

RNG = np.random.default_rng(0)
GRADIENTS = RNG.standard_normal((6, 5)).astype(np.float32)
THETA = RNG.standard_normal(5).astype(np.float32)


def run(optimiser, gradients=GRADIENTS) -> np.ndarray:
    """Theta after all gradients."""
    theta_p, state = THETA, optimiser.init(len(THETA))
    for grad_p in gradients:
        theta_p, state = optimiser.ascend(theta_p, grad_p, state)
    return theta_p


@pytest.mark.parametrize("scale", [1, 1e-7], ids=["usual", "as small as epsilon"])
def test_adam_follows_algorithm_1_with_the_epsilon_of_its_docstring(scale):
    scaled, expected = np.float32(scale) * GRADIENTS, []
    for theta, gradients in zip(THETA.astype(float), scaled.T.astype(float), strict=True):
        m = v = 0.0
        for t, g in enumerate(gradients, start=1):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            theta += 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8 / np.sqrt(1 - 0.999**t))
        expected.append(theta)
    np.testing.assert_allclose(run(Adam(0.01), scaled), expected, rtol=1e-5)


@pytest.mark.parametrize("optimiser", [RMSProp(0.01), Adam(0.01)], ids=["rmsprop", "adam"])
def test_a_step_leaves_its_arguments_alone_or_is_made_in_them(optimiser):
    state, theta_p = optimiser.init(len(THETA)), THETA.copy()
    before = {name: array.copy() for name, array in state.items()}
    expected_p, expected = optimiser.ascend(theta_p, GRADIENTS[0], state)
    np.testing.assert_array_equal(theta_p, THETA)
    for name, array in state.items():
        np.testing.assert_array_equal(array, before[name])
    new_p, new = optimiser.ascend(theta_p, GRADIENTS[0], state, in_place=True)
    assert new_p is theta_p
    np.testing.assert_array_equal(theta_p, expected_p)
    for name, array in expected.items():
        np.testing.assert_array_equal(new[name], array)
        assert new[name] is state[name] or not array.ndim
        assert array.dtype == before[name].dtype
