"""Windows of agent steps, and steps to a score of which some seeds never came to it, against counts by hand."""

import math

import numpy as np
import pytest

from experiments.analysis.windows import (
    WINDOW_STEPS,
    Arrivals,
    median,
    millions,
    telling,
    window_size,
    windows,
)
from trainables.checks import ConfigError


def row(end, steps, games, mean, **more):
    counts = {"timesteps_total": end, "timesteps_this_iter": steps, "episodes_this_iter": games}
    return counts | {"episode_reward_batch_mean": mean, "time_total_s": end / 10} | more


def test_a_window_is_the_mean_over_games_not_over_iterations():
    found = windows([row(50, 50, 1, -20.0), row(100, 50, 3, -10.0), row(200, 100, 2, 5.0), row(250, 50, 9, 21.0)], 100)
    np.testing.assert_array_equal(found.end_w, [100, 200])
    np.testing.assert_allclose(found.return_w, [(-20 - 3 * 10) / 4, 5.0])
    np.testing.assert_allclose(found.games_w, [4, 2])
    np.testing.assert_allclose(found.seconds_w, [10, 20])


def test_an_iteration_that_crosses_a_windows_end_counts_in_both_by_its_steps():
    found = windows([row(80, 80, 2, -20.0), row(180, 100, 5, 10.0), row(200, 20, 1, 0.0)], 100)
    np.testing.assert_allclose(found.games_w, [2 + 5 * 0.2, 5 * 0.8 + 1])
    np.testing.assert_allclose(found.return_w, [(-2 * 20 + 10) / 3, (4 * 10 + 0) / 5])


def test_an_iteration_longer_than_a_window_is_the_same_in_all_of_its_windows():
    found = windows([row(1000, 1000, 10, 3.0)], 250)
    np.testing.assert_allclose(found.return_w, [3.0] * 4)
    np.testing.assert_allclose(found.games_w, [2.5] * 4)


def test_where_no_game_ended_there_is_no_return_and_the_one_before_is_known():
    found = windows([row(100, 100, 0, -21.0), row(200, 100, 1, -5.0), row(300, 100, 0, -5.0)], 100)
    np.testing.assert_array_equal(found.return_w, [np.nan, -5, np.nan])
    np.testing.assert_array_equal(found.known_w, [np.nan, -5, -5])
    assert found.steps_to(-5) == 200
    assert found.steps_to(-4.9) is None


def test_rows_that_are_missing_or_lack_figures_leave_windows_without_games():
    found = windows([row(100, 100, 1, 1.0), row(300, 100, 1, 3.0), {"timesteps_total": 400}], 100)
    np.testing.assert_array_equal(found.return_w, [1, np.nan, 3, np.nan])
    assert all(len(column) == 0 for column in windows([], 100))
    assert len(windows([row(99, 99, 1, 1.0)], 100).end_w) == 0


def test_a_forks_first_window_is_where_it_began():
    found = windows([row(1050, 100, 1, 2.0), row(1100, 50, 1, 4.0)], 100)
    np.testing.assert_array_equal(found.end_w, [1000, 1100])
    np.testing.assert_allclose(found.return_w, [2.0, (0.5 * 2 + 4) / 1.5])


def test_a_trial_of_a_million_billion_steps_is_refused_before_memory_is_taken():
    with pytest.raises(ConfigError, match=r"4,000,000,000 windows of 250,000 agent steps: accepted are up to 10,000"):
        windows([row(100, 100, 1, 1.0), row(10**15, 100, 1, 1.0)], WINDOW_STEPS)


def test_a_windows_size_is_dopamines_or_for_short_runs_a_round_number_of_which_each_has_four_or_more():
    long = [row(65_536, 65_536, 1, 0.0), row(2_000_000, 65_536, 1, 0.0)]
    assert window_size([long]) == WINDOW_STEPS
    assert window_size([long, [row(10_000, 10_000, 1, 0.0), row(900_000, 10_000, 1, 0.0)]]) == 100_000
    assert window_size([[row(2000, 2000, 1, 0.0), row(12_000, 2000, 1, 0.0)]]) == 2000
    assert window_size([[row(4_010_000, 10_000, 1, 0.0), row(4_900_000, 10_000, 1, 0.0)]]) == 100_000, "of a fork"
    assert window_size([[row(8000, 8000, 1, 0.0)]]) == 2000, "less than an iteration"
    assert window_size([]) == window_size([[]]) == WINDOW_STEPS


def test_seeds_that_did_not_arrive_count_as_long_as_they_were_followed_as_kaplan_and_meier_have_it():
    assert median([1.0, 2.0], [6.0, 6.0, 6.0]) is None
    assert median([1.0, 2.0, 5.0], [6.0, 6.0]) == 5.0
    assert median([1.0, 2.0, 5.0], [math.inf, math.inf]) == 5.0
    assert median([], [6.0]) is None
    assert median([3.0, 1.0, 2.0], []) == 2.0, "without losses it is the lower median"
    assert median([4.0, 3.0, 1.0, 2.0], []) == 2.0
    by_hand = "of 5 seeds one was followed until 1; at 2 three of four still wait, at 3 two of four"
    assert median([2.0, 3.0], [1.0, 9.0, 9.0]) == 3.0, by_hand


def test_arrivals_in_words():
    assert str(Arrivals(18, (2.9e6, 1e6, 3.1e6), (6e6, 6e6))) == "3.1 M (3 of 5)"
    assert str(Arrivals(18, (2.9e6,), (6e6, 8e6))) == "> 8 M (1 of 3)"
    assert str(Arrivals(18, (), (math.inf,))) == "never (0 of 1)"
    assert str(Arrivals(18, (), (), (8000.0,))) == "at most 8,000 (1 of 1)"
    assert str(Arrivals(18, (12_000.0, 16_000.0), (), (8000.0,))) == "12,000 (3 of 3)", "whenever the first one came"
    assert str(Arrivals(18, (12_000.0,), (), (8000.0, 14_000.0))) == "at most 12,000 (3 of 3)"
    assert str(Arrivals(18, (), (9000.0, 9000.0), (8000.0,))) == "> 9,000 (1 of 3)"
    assert [millions(steps) for steps in (12_000, 100_000, 13_250_000)] == ["12,000", "0.1 M", "13.2 M"]


@pytest.mark.parametrize(
    ("arrivals", "told"),
    [
        (((), (100.0,)), False),
        (((10.0,), ()), False),
        (((), (), (90.0,)), False),
        (((10.0,), (100.0,)), True),
        (((20.0,), ()), True),
        (((20.0,), (), (90.0,)), True),
    ],
)
def test_scores_that_nobody_came_to_or_all_at_once_say_nothing(arrivals, told):
    assert bool(telling([[Arrivals(0, *arrivals)]], 10)) is told
