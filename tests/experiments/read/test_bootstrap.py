"""Seeds' statistics against known values and identities."""

import numpy as np
import pytest

from experiments.read.bootstrap import area_under, mean_interval, probability_of_higher_mean


def test_the_interval_of_equal_seeds_is_a_point_and_shifts_and_scales_with_the_data():
    assert [float(end) for end in mean_interval([3.0, 3.0, 3.0])] == [3.0, 3.0]
    samples = np.array([-20.0, -12.0, -5.0, -9.0])
    low, high = mean_interval(samples)
    assert samples.min() <= low < samples.mean() < high <= samples.max()
    np.testing.assert_allclose(mean_interval(2 * samples + 1), (2 * low + 1, 2 * high + 1))


def test_the_interval_of_many_seeds_is_the_normal_one():
    samples = np.random.default_rng(0).normal(5, 2, 400)
    half = 1.96 * samples.std() / 20
    np.testing.assert_allclose(mean_interval(samples), (samples.mean() - half, samples.mean() + half), atol=0.02)


def test_a_band_is_the_interval_at_every_point():
    curves = np.random.default_rng(1).normal(size=(3, 5))
    low, high = mean_interval(curves)
    for point in range(5):
        np.testing.assert_allclose(mean_interval(curves[:, point]), (low[point], high[point]), atol=0.05)


def test_a_single_seed_has_no_interval():
    with pytest.raises(ValueError, match="two seeds"):
        mean_interval([1.0])


def test_the_probability_that_the_first_is_better():
    assert probability_of_higher_mean([1, 2, 3], [1, 2, 3]) == pytest.approx(0.5, abs=0.02)
    assert probability_of_higher_mean([4, 4], [4, 4, 4]) == 0.5
    assert probability_of_higher_mean([5, 6], [1, 2]) == 1.0
    first, second = [1.0, 4.0, 9.0], [2.0, 3.0, 5.0]
    both = probability_of_higher_mean(first, second) + probability_of_higher_mean(second, first)
    assert both == pytest.approx(1, abs=0.02)
    # By hand: means of two draws from {0, 2} are 0, 1, 1, 2; above 0.5 in three of four cases.
    assert probability_of_higher_mean([0, 2], [0.5]) == pytest.approx(0.75, abs=0.02)


def test_area_is_the_mean_over_steps_not_over_iterations():
    assert area_under(np.array([-20.0, -10.0]), np.array([100, 300])) == -15
    assert area_under(np.array([-20.0, -20.0, -10.0]), np.array([0, 900, 1000])) == -19.5
    assert area_under(np.array([-7.0]), np.array([50])) == -7
