"""Intervals of differences, against known values, and what they cover: a short version of the simulation by which
they were chosen (docs/comparing.md)."""

import numpy as np
import pytest
from scipy import stats

from experiments.analysis.statistics import (
    difference,
    mean_interval,
    next_interval,
    probability_of_improvement,
    seeds_to_tell,
)

REPEATS = 300


def normal(rng, seeds):
    return rng.normal(10, 3, seeds)


def two_groups(rng, seeds):
    """Three of ten seeds never leave a plateau."""
    return np.where(rng.random(seeds) < 0.7, rng.normal(16, 1.5, seeds), rng.normal(-5, 4, seeds))


@pytest.mark.parametrize(("seeds", "scores"), [(3, normal), (5, two_groups), (10, two_groups)])
def test_intervals_of_two_equal_algorithms_hold_0_in_95_of_100_cases(scores, seeds):
    rng = np.random.default_rng(seeds)
    held = np.zeros(3)
    for _ in range(REPEATS):
        a, b = scores(rng, seeds), scores(rng, seeds)
        held += [
            not difference(a, b, paired=False).excludes(0),
            not difference(a, b, paired=True).excludes(0),
            not probability_of_improvement(a, b).excludes(0.5),
        ]
    assert (held / REPEATS >= 0.93).all(), held / REPEATS  # two standard errors of the share are 0.025


def test_one_more_seed_lies_in_its_interval_in_95_of_100_cases_and_in_that_of_the_mean_far_less_often():
    rng = np.random.default_rng(0)
    held = np.zeros(2)
    for _ in range(10 * REPEATS):
        *scores, one_more = normal(rng, 6)
        for index, interval in enumerate((next_interval, mean_interval)):
            low, high = interval(np.array(scores))
            held[index] += low <= one_more <= high
    further, mean = held / (10 * REPEATS)
    assert further == pytest.approx(0.95, abs=0.012)
    assert mean < 0.8
    reach = 4.3027 * np.sqrt(4 / 3)
    assert next_interval(np.array([15.0, 16.0, 17.0])) == pytest.approx((16 - reach, 16 + reach), abs=1e-3)


def test_pairs_that_differ_by_the_same_are_told_apart_where_independent_seeds_are_not():
    a = np.array([-20.0, 0.0, 15.0])
    b = a + np.array([1.0, 1.1, 0.9])
    assert difference(a, b, paired=True).excludes(0)
    assert not difference(a, b, paired=False).excludes(0)


def test_one_seed_has_no_interval_and_seeds_without_spread_have_a_point():
    one = difference(np.array([1.0]), np.array([2.0, 3.0]), paired=False)
    assert one.value == 1.5
    assert np.isnan([one.low, one.high]).all()
    assert not one.excludes(0)
    flat = np.full(3, -21.0)
    for paired in (True, False):
        assert tuple(difference(flat, flat, paired)) == (0, 0, 0)


@pytest.mark.parametrize("measure", [probability_of_improvement, lambda a, b: difference(a, b, paired=False)])
def test_an_empty_set_of_scores_is_named(measure):
    with pytest.raises(ValueError, match="the second of the two has no scores"):
        measure(np.array([1.0, 2.0]), np.array([]))


def test_the_probability_of_improvement_counts_pairs_and_ties_half():
    found = probability_of_improvement(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    assert found.value == 3.5 / 4
    mirrored = probability_of_improvement(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    assert (1 - mirrored.value, 1 - mirrored.high, 1 - mirrored.low) == pytest.approx(tuple(found))
    better = probability_of_improvement(np.arange(10.0), np.arange(10.0) + 100)
    assert better.value == better.high == 1
    assert 0.5 < better.low < 0.8
    three = probability_of_improvement(np.arange(3.0), np.arange(3.0) + 100)
    assert three.low < 0.5, "three seeds of each cannot tell by their ranks alone"


def test_the_ends_of_its_interval_are_as_far_as_their_own_standard_errors_say():
    a, b = np.array([1.0, 4.0, 6.0, 7.0]), np.array([3.0, 5.0, 8.0, 9.0, 10.0])
    found = probability_of_improvement(a, b)
    for p in (found.low, found.high):
        variance = p * (1 - p) * (1 + 3.5 * ((1 - p) / (2 - p) + p / (1 + p))) / 20
        assert abs(found.value - p) == pytest.approx(stats.t.ppf(0.975, 7) * variance**0.5)


def test_the_seeds_that_would_tell_are_those_of_tables_of_power():
    """Cohen 1988: a shift of one standard deviation takes 17 in each group; half of one, in pairs, 34 of them."""
    scores = np.array([-1.0, 0.0, 1.0])  # of variance 1
    assert seeds_to_tell(scores, scores + 1, paired=False) == 17
    assert seeds_to_tell(np.zeros(3), scores + 0.5, paired=True) == 34
    assert seeds_to_tell(scores, scores + 0.01, paired=False) is None
    assert seeds_to_tell(scores, scores, paired=False) is None
    assert seeds_to_tell(scores[:1], scores, paired=False) is None


def test_a_band_is_students_interval_at_every_point():
    curves = np.random.default_rng(1).normal(size=(3, 5))
    expected = stats.ttest_1samp(curves, 0).confidence_interval(0.95)
    np.testing.assert_allclose(mean_interval(curves), (expected.low, expected.high))
