"""Steps to a score, of which some seeds never came to it, against counts by hand."""

import math

import pytest

from experiments.read.arrivals import Arrivals, median, millions, telling


def test_a_median_over_those_that_arrived_praised_what_lost_its_seeds():
    assert median([1.0, 2.0], [6.0, 6.0, 6.0]) is None
    assert median([1.0, 2.0, 5.0], [6.0, 6.0]) == 5.0
    assert median([1.0, 2.0, 5.0], [math.inf, math.inf]) == 5.0
    assert median([], [6.0]) is None


def test_without_losses_it_is_the_lower_median_as_kaplan_and_meier_have_it():
    assert median([3.0, 1.0, 2.0], []) == 2.0
    assert median([4.0, 3.0, 1.0, 2.0], []) == 2.0


def test_a_run_that_ended_early_counts_as_long_as_it_was_followed():
    """By hand: of 5 seeds one was followed until 1; at 2 three of four still wait, at 3 two of four."""
    assert median([2.0, 3.0], [1.0, 9.0, 9.0]) == 3.0


def test_in_words():
    assert str(Arrivals(18, (2.9e6, 1e6, 3.1e6), (6e6, 6e6))) == "3.1 M (3 of 5)"
    assert str(Arrivals(18, (2.9e6,), (6e6, 8e6))) == "> 8 M (1 of 3)"
    assert str(Arrivals(18, (), (math.inf,))) == "never (0 of 1)"
    assert [millions(steps) for steps in (12_000, 100_000, 13_250_000)] == ["12,000", "0.1 M", "13.2 M"]


@pytest.mark.parametrize(
    ("steps", "ended", "told"),
    [((), (100.0,), False), ((10.0,), (), False), ((10.0,), (100.0,), True), ((20.0,), (), True)],
)
def test_scores_that_nobody_came_to_or_all_at_once_say_nothing(steps, ended, told):
    assert bool(telling([[Arrivals(0, steps, ended)]], 10)) is told
