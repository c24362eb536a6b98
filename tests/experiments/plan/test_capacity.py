"""The plan of halving: it fits into its time, and what is given stays."""

import pytest

from experiments.plan import capacity
from experiments.plan.capacity import FIRST_STEPS, MOST_STEPS, USED, Capacity, choose
from experiments.plan.learners import PG
from experiments.plan.resources import ClusterResources
from experiments.plan.rungs import rungs, trials_of_round
from trainables.checks import ConfigError
from trainables.config import PGConfig

TWO_CORES = Capacity(2, 5600.0, 8, 8000.0)


@pytest.mark.parametrize(("cpus", "cores", "speed"), [(1.0, 2, 5000), (0.5, 4, 2500), (2.0, 1, 5000)])
def test_workers_that_share_a_core_were_planned_with_as_if_each_had_one(monkeypatch, cpus, cores, speed):
    monkeypatch.setattr(capacity, "_seconds_per_step", lambda *_: 1 / 5000)
    found = Capacity.of(PG, PGConfig(cpus_per_worker=cpus), ClusterResources((2,)))
    assert (found.cores, found.steps_per_s) == (cores, speed)


def test_each_round_costs_as_much_as_the_others():
    assert rungs(9, 1_300_000) == [100_000, 400_000, 1_300_000]
    assert [trials_of_round(9, round_) for round_ in range(3)] == [9, 3, 1]
    assert rungs(3, 400_000) == rungs(8, 400_000) == [100_000, 400_000]
    assert rungs(2, 400_000) == [400_000]
    assert [trials_of_round(2, round_) for round_ in range(3)] == [2, 1, 1]
    assert rungs(9, 14, start=1) == [2, 5, 14]


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_a_limit_of_a_few_iterations_has_fewer_rungs(limit):
    found = rungs(9, limit)
    assert found == sorted({*found})
    assert found[0] >= 1
    assert found[-1] == limit


@pytest.mark.parametrize("cores", [1, 2, 3, 8, 64, 500])
@pytest.mark.parametrize("seconds", [60, 600, 1800, 20_000])
def test_the_plan_fits_into_its_time(cores, seconds):
    capacity = Capacity(cores, 5600.0, 8, 8000.0)
    count, steps = choose(capacity, seconds, None, None)
    assert capacity.seconds(count, steps) <= USED * seconds
    assert steps <= MOST_STEPS
    assert len(rungs(count, steps)) == 1 or rungs(count, steps)[0] >= 0.9 * FIRST_STEPS
    assert count == 1 or count % 3 == 0


def test_more_time_is_for_a_longer_last_trial_first_and_then_for_more_trials():
    plans = [choose(TWO_CORES, seconds, None, None) for seconds in (60, 300, 1800, 3600, 7200, 14_400)]
    assert plans == sorted(plans)
    assert len({count for count, _ in plans}) >= 4
    assert plans[2] == (15, 4_300_000)
    assert plans[-1][0] > 18


def test_what_is_given_stays_and_the_rest_follows():
    assert choose(TWO_CORES, 1800, 20, 300_000) == (20, 300_000)
    count, steps = choose(TWO_CORES, 1800, 20, None)
    assert count == 20
    assert steps < choose(TWO_CORES, 1800, 9, None)[1]
    assert choose(TWO_CORES, 1800, None, 300_000) == (9, 300_000), "earlier comparisons are luck"
    assert choose(TWO_CORES, 60, None, 5_000_000) == (1, 5_000_000)


def test_a_sweep_of_one_trial_at_once_was_planned_as_if_every_core_had_a_trial():
    alone = Capacity(4, 5600.0, 8, 8000.0, max_concurrent=1)
    (first, *_) = alone.rounds(9, [0, 100_000, 400_000, 1_300_000])
    one = Capacity(4, 5600.0, 8, 8000.0).rounds(1, [0, 100_000])[0]  # which has all cores
    assert first.seconds == pytest.approx(9 * one.seconds)
    assert alone.seconds(9, 1_300_000) > Capacity(4, 5600.0, 8, 8000.0).seconds(9, 1_300_000)
    assert Capacity(2, 5600.0, 8, 8000.0, max_concurrent=5).seconds(9, 10**6) == TWO_CORES.seconds(9, 10**6)


def test_no_time_for_anything_is_refused():
    with pytest.raises(ConfigError, match="--time-budget-s 2 is too short for a trial"):
        choose(TWO_CORES, 2, None, None)


def test_a_rest_of_trials_shares_the_cores():
    eight = Capacity(8, 5600.0, 8, 8000.0)
    times = [eight.rounds(trials, [0, 400_000])[0].seconds for trials in (1, 2, 8, 9, 16)]
    assert times == sorted(times)
    assert times[3] < times[4], "the ninth has eight cores"
