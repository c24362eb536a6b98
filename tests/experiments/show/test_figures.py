"""Learning curves of several seeds."""

import numpy as np
from matplotlib.figure import Figure

from experiments.show.figures import draw_band, mean_curve


def test_the_mean_curve_is_the_mean_where_all_seeds_have_results():
    short, long = (np.array([0.0, 10]), np.array([-20.0, -10])), (np.array([5.0, 20]), np.array([-20.0, -5]))
    grid, mean, low, high = mean_curve([short, long])
    assert (grid[0], grid[-1]) == (5, 10)
    np.testing.assert_allclose(mean, [(-20 + x + -25 + x) / 2 for x in grid])
    assert all((low <= mean) & (mean <= high))
    assert mean_curve([short, (np.array([11.0, 12]), np.array([0.0, 0]))]) is None


def test_bands_hid_curves_that_came_after_them_or_made_them_flat():
    """A band of two seeds is far wider than their returns, and fixed axes cut off whatever was drawn next."""
    axes = Figure().add_subplot()
    x = np.array([0.0, 1.0, 2.0])
    axes.plot(x, [-20, -19, -18])
    draw_band(axes, x, np.array([np.nan, -100, -100]), np.array([np.nan, 100, 100]), "red")
    axes.plot(x, [-10, 0, 5])
    low, high = axes.get_ylim()
    assert -25 < low < -20
    assert 5 < high < 10
