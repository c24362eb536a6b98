"""Learning curves of several seeds."""

import numpy as np

from experiments.show.figures import mean_curve


def test_the_mean_curve_is_the_mean_where_all_seeds_have_results():
    short, long = (np.array([0.0, 10]), np.array([-20.0, -10])), (np.array([5.0, 20]), np.array([-20.0, -5]))
    grid, mean, low, high = mean_curve([short, long])
    assert (grid[0], grid[-1]) == (5, 10)
    np.testing.assert_allclose(mean, [(-20 + x + -25 + x) / 2 for x in grid])
    assert all((low <= mean) & (mean <= high))
    assert mean_curve([short, (np.array([11.0, 12]), np.array([0.0, 0]))]) is None
