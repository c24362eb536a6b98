"""Budgets of iterations and of agent steps."""

import pytest

from experiments.ask.budget import Budget, clock, duration
from experiments.ask.flags import SweepFlags, TrainFlags
from trainables.checks import ConfigError


def row(iteration, steps=0):
    return {"training_iteration": iteration, "timesteps_total": steps}


def test_without_flags_it_is_the_default_and_one_limit_lifts_the_other():
    for flags, default in ((TrainFlags, {"training_iteration": 150}), (SweepFlags, {"timesteps_total": 10**6})):
        for given, limits in (
            ({}, default),
            ({"timesteps": 9}, {"timesteps_total": 9}),
            ({"iterations": 20}, {"training_iteration": 20}),
            ({"iterations": 20, "timesteps": 9}, {"timesteps_total": 9, "training_iteration": 20}),
        ):
            assert flags(**given).budget.limits == limits


def test_the_limit_that_is_reached_first_counts():
    for budget, share in ((Budget(10), 0.5), (Budget(None, 1000), 0.7), (Budget(10, 1000), 0.7), (Budget(4), 1.0)):
        assert budget.share(row(5, 700)) == share
    assert Budget(10, 10**6).spent(row(10, 999)) == ["--iterations"]


def test_it_has_ended_where_the_last_result_and_no_earlier_one_uses_it_up():
    rows = [row(index, 300 * index) for index in range(1, 6)]
    for budget in (Budget(3), Budget(None, 700), Budget(9, 900)):
        assert [budget.ended(rows[:count]) for count in range(6)] == [False, False, False, True, False, False]


def test_trials_are_compared_by_steps_where_steps_are_limited():
    units = [(budget.unit, budget.time_attr) for budget in (Budget(5), Budget(5, 9), Budget(None, 9))]
    assert units == [("iterations", "training_iteration")] + 2 * [("timesteps", "timesteps_total")]
    assert str(Budget(5, 2_000_000)) == "2,000,000 agent steps or 5 iterations"
    assert str(Budget(1, None)) == "1 iteration"


def test_each_limit_can_be_extended():
    both = Budget(10, 10**6)
    assert both.extended(Budget(20)) == Budget(20, 10**6)
    assert both.extended(Budget(None, 2 * 10**6)) == Budget(10, 2 * 10**6)
    assert both.extended(Budget(20, 2 * 10**6)) == both.doubled
    assert both.doubled.flags == ["--timesteps", "2000000", "--iterations", "20"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (Budget(None), "needs --iterations or --timesteps"),
        (Budget(10), "--iterations 10: trials have 10 already"),
        (Budget(20, 5), "--timesteps 5: trials have 10 iterations; give more --iterations"),
    ],
)
def test_what_is_no_extension_is_refused_with_what_would_be(more, message):
    with pytest.raises(ConfigError, match=message):
        Budget(10).extended(more)


def test_durations_have_the_unit_that_suits_them():
    shown = [duration(seconds) for seconds in (89, 91, 119.4, 120, 5399, 9000, 200_000)]
    assert shown == ["89 s", "91 s", "119 s", "2 min", "90 min", "2.5 h", "2 days"]
    shown = [clock(seconds) for seconds in (59.9, 60, 3599, 7325)]
    assert shown == ["59 s", "1 min 00 s", "59 min 59 s", "2 h 02 min 05 s"]
