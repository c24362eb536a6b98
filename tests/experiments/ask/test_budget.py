"""Budgets of updates and of agent steps."""

import pytest

from experiments.ask.budget import Budget


def row(iteration, steps=0):
    return {"training_iteration": iteration, "timesteps_total": steps}


def test_without_flags_it_is_the_default_and_one_limit_lifts_the_other():
    assert Budget.of(None, None, default=Budget(150)) == Budget(150)
    assert Budget.of(None, 10**6, default=Budget(150)).limits == {"timesteps_total": 10**6}
    assert Budget.of(20, None, default=Budget(None, 10**6)).limits == {"training_iteration": 20}
    assert Budget.of(20, 10**6, default=Budget(150)).limits == {"timesteps_total": 10**6, "training_iteration": 20}


@pytest.mark.parametrize(
    ("budget", "share"), [(Budget(10), 0.5), (Budget(None, 1000), 0.7), (Budget(10, 1000), 0.7), (Budget(4), 1.0)]
)
def test_the_limit_that_is_reached_first_counts(budget, share):
    assert budget.share(row(5, 700)) == share


def test_it_has_ended_where_the_last_result_and_no_earlier_one_uses_it_up():
    rows = [row(index, 300 * index) for index in range(1, 6)]
    for budget in (Budget(3), Budget(None, 700), Budget(9, 900)):
        assert [budget.ended(rows[:count]) for count in range(6)] == [False, False, False, True, False, False]


def test_trials_are_compared_by_steps_where_steps_are_limited():
    assert [budget.time_attr for budget in (Budget(5), Budget(5, 9), Budget(None, 9))] == [
        "training_iteration",
        "timesteps_total",
        "timesteps_total",
    ]
    assert str(Budget(None, 2_000_000)) == "2,000,000 agent steps"
