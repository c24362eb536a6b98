"""Solvers on problems with known answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.learning.solvers import LossAndKL, backtracking_line_search, conjugate_gradient


@given(size=st.integers(1, 12), seed=st.integers(0, 99))
@settings(deadline=None, derandomize=True)
def test_conjugate_gradient_solves_positive_definite_systems(size, seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((size, size))
    a, b = root @ root.T + np.eye(size), rng.standard_normal(size)
    x, residual = conjugate_gradient(lambda v: a @ v, b, iterations=5 * size, tolerance=1e-20)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), atol=1e-7)
    assert residual @ residual < 1e-12


def test_conjugate_gradient_stops_early_and_says_what_is_left():
    a, b = np.diag([1.0, 10.0, 100.0]), np.ones(3)
    x, residual = conjugate_gradient(lambda v: a @ v, b, iterations=2)
    np.testing.assert_allclose(residual, b - a @ x)
    assert residual @ residual > 1e-3
    products = []
    conjugate_gradient(lambda v: products.append(v) or v, b)
    assert len(products) == 1, "the identity is solved in one step"


def parabola(x: np.ndarray) -> LossAndKL:
    """Falls from 1 at x = 0 to 0 at x = 1 and rises again; the KL is the distance from 0."""
    return LossAndKL(float((1 - x[0]) ** 2), float(abs(x[0])))


@pytest.mark.parametrize(
    ("step", "bound", "halvings", "end"), [(1.0, 9.0, 0, 1.0), (3.0, 9.0, 1, 1.5), (3.0, 1.0, 2, 0.75)]
)
def test_backtracking_halves_until_it_gains_within_the_bound(step, bound, halvings, end):
    search = backtracking_line_search(parabola, np.zeros(1), parabola(np.zeros(1)), np.array([step]), -2 * step, bound)
    assert search == (np.array([end]), parabola(np.array([end])), halvings, True)


def test_backtracking_asks_for_a_share_of_what_the_slope_promised():
    search = backtracking_line_search(parabola, np.zeros(1), parabola(np.zeros(1)), np.array([1.95]), -2 * 1.95, 9.0)
    assert search.halvings == 1, "x = 1.95 gains 0.0975, less than a tenth of 3.9"


@pytest.mark.parametrize("step", [-1.0, 0.0, np.nan, np.inf])
def test_backtracking_that_finds_nothing_stays(step):
    with np.errstate(invalid="ignore"):
        search = backtracking_line_search(
            parabola, np.zeros(1), parabola(np.zeros(1)), np.array([step]), -abs(step), 9.0
        )
    assert not search.accepted
    assert search.halvings == 10
    assert search.x == 0
    assert search.at_x == parabola(np.zeros(1))
