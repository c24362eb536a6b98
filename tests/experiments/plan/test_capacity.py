"""The plan of halving: it fits into its time, and what is given stays."""

import dataclasses

import pytest

from experiments.plan.capacity import (
    FIRST_STEPS,
    MOST_STEPS,
    MOST_TRIALS,
    PACE,
    USED,
    Capacity,
    in_turn,
    reachable,
    rungs,
    trials_in_time,
    trials_of_round,
)
from experiments.plan.learners import PG, Learner, Pace
from experiments.plan.resources import ClusterResources
from trainables.checks import ConfigError
from trainables.config import PGConfig

TWO_CORES = Capacity(2, 5600.0, 8, 8000.0)


def test_workers_that_share_a_core_have_their_part_of_it_and_a_second_core_makes_none_faster(monkeypatch):
    monkeypatch.setattr(Learner, "pace", lambda *_: Pace(1 / 5000))
    for cpus, cores, speed in ((1.0, 2, 5000), (0.5, 4, 2500), (2.0, 1, 5000)):
        found = Capacity.of(PG, PGConfig(cpus_per_worker=cpus), ClusterResources((2,)))
        assert (found.cores, found.steps_per_s) == (cores, speed)


def test_rungs_at_which_nobody_waits_with_more_to_play_are_not_planned():
    """A trial waits after whole iterations: these of 4,000 steps."""
    for rung, limit, iterations, left in (
        (rungs(9, 3000), 3000, None, [3000]),
        (rungs(9, 24_000), 24_000, 1, [24_000]),
        (rungs(9, 24_000), 24_000, None, [1846, 7385, 24_000]),
        (rungs(9, 13_000), 13_000, None, [4000, 13_000]),  # both rungs would be after one iteration
    ):
        end = 4000 * min(iterations or 100, -(-limit // 4000))
        assert reachable(rung, lambda at, end=end: [min(end, 4000 * -(-at // 4000))] * 9) == left
    standing = {1000: [4000, 2000], 4000: [4000, 4000], 13_000: [16_000, 13_000]}
    assert reachable([*standing], standing.__getitem__) == [*standing], "the second trial has shorter iterations"


def test_each_round_costs_as_much_as_the_others():
    assert rungs(9, 1_300_000) == [100_000, 400_000, 1_300_000]
    assert [trials_of_round(9, round_) for round_ in range(3)] == [9, 3, 1]
    assert rungs(3, 400_000) == rungs(5, 400_000) == [100_000, 400_000], "one goes on, and has all rounds left"
    assert rungs(2, 400_000) == [400_000]
    assert [trials_of_round(2, round_) for round_ in range(3)] == [2, 1, 1]
    assert rungs(9, 14, start=1) == [2, 5, 14]
    assert [rungs(9, limit) for limit in (1, 2, 5)] == [[1], [1, 2], [1, 2, 5]], "a limit of a few iterations"


@pytest.mark.parametrize("cores", [1, 2, 8, 64, 500])
@pytest.mark.parametrize("seeds", [1, 5])
def test_the_plan_fits_into_its_time(cores, seeds):
    capacity = Capacity(cores, 5600.0, 8, 8000.0, seeds)
    for seconds in (60, 600, 1800, 20_000):
        count, steps = capacity.choose(seconds, None, None)
        assert capacity.seconds(count, steps) <= USED * seconds or count == 1
        assert steps <= MOST_STEPS
        assert len(rungs(count, steps)) == 1 or rungs(count, steps)[0] >= 0.9 * FIRST_STEPS
        assert count == 1 or count % 3 == 0
        assert count == 1 or count * seeds <= MOST_TRIALS


def test_seeds_multiply_the_trials():
    several = dataclasses.replace(TWO_CORES, seeds=5)
    assert [each.trials for each in several.rounds(9, [0, 100, 400, 1300])] == [45, 15, 5]
    assert several.choose(1800, None, None) <= TWO_CORES.choose(1800, None, None)


def test_more_time_is_for_a_longer_last_trial_first_and_then_for_more_trials():
    plans = [TWO_CORES.choose(seconds, None, None) for seconds in (60, 300, 1800, 3600, 7200, 14_400)]
    assert plans == sorted(plans)
    assert len({count for count, _ in plans}) >= 4
    assert plans[2] == (9, 6_300_000)
    assert plans[-1][0] > 18


@pytest.mark.parametrize(("million", "least"), [(2, 1.2), (3, 1.8), (5, 3.0), (8, 4.0), (12, 6.0), (20, 6.0)])
def test_of_the_steps_that_there_is_time_for_the_last_trial_has_as_many_as_make_it_good_and_the_rest_are_trials(
    million, least
):
    """Whatever the speed: on two cores of any pace. With little time three trials begin."""
    for pace in (800.0, 2100.0, 5600.0):
        capacity = Capacity(2, pace, 8, 8000.0)
        count, steps = capacity.choose(million * 1e6 / (2 * PACE * pace * USED), None, None)
        assert steps >= least * 1e6
        assert count == 3 or rungs(count, steps)[0] >= FIRST_STEPS


@pytest.mark.parametrize(
    ("slower", "go_on", "last"),
    [(1.0, (3, 1), 6.3), (1.2, (3, 1), 5.8), (1.4, (2, 1), 5.4), (1.7, (1, 1), 5.0), (2.0, (1, 1), 3.6)],
)
def test_on_cores_slower_than_planned_fewer_go_on_and_the_last_one_goes_as_far_as_it_can(slower, go_on, last):
    count, steps = TWO_CORES.choose(1800, None, None)
    at, pace = rungs(count, steps), 2 * PACE * TWO_CORES.steps_per_s / slower
    left, playing, begin, found = 1800 * pace, count, 0, []  # steps of all trials that there is time for
    for index, end in enumerate(at[:-1]):
        left -= playing * (end - begin)
        playing = max(1, min(trials_of_round(count, index + 1), int(trials_in_time(at, index, left))))
        begin, found = end, [*found, playing]
    assert tuple(found) == go_on
    assert min(steps, begin + left) >= last * 1e6
    assert trials_in_time(at, 0, 6e6, seeds=3) < trials_in_time(at, 0, 6e6), "seeds go to the end together"


def test_what_is_given_stays_and_the_rest_follows():
    assert TWO_CORES.choose(1800, 20, 300_000) == (20, 300_000)
    count, steps = TWO_CORES.choose(1800, 20, None)
    assert count == 20
    assert steps < TWO_CORES.choose(1800, 9, None)[1]
    assert TWO_CORES.choose(1800, None, 300_000) == (9, 300_000), "earlier comparisons are luck"
    assert TWO_CORES.choose(60, None, 5_000_000) == (1, 5_000_000)
    with pytest.raises(ConfigError, match="--time-budget-s 2 is too short for a trial"):
        TWO_CORES.choose(2, None, None)


def test_trials_at_once_are_limited_by_the_flag_and_share_all_cores():
    four = Capacity(4, 5600.0, 8, 8000.0)
    alone = dataclasses.replace(four, max_concurrent=1)
    one = four.rounds(1, [0, 100_000])[0]  # which has all cores
    assert alone.rounds(9, [0, 100_000])[0].seconds == pytest.approx(9 * one.seconds)
    assert alone.seconds(9, 1_300_000) > four.seconds(9, 1_300_000)
    times = [four.rounds(trials, [0, 400_000])[0].seconds for trials in (1, 2, 4, 5, 8)]
    assert times == sorted(times)
    assert times[3] < times[4], "the fifth has four cores"


def test_trials_that_lend_each_other_nothing_take_their_turns():
    assert in_turn([(1, 60.0)] * 3, room=2, at_once=8) == 120, "the third one waits for one of the others"
    assert in_turn([(1, 60.0)] * 3, room=2, at_once=1) == 180
    assert in_turn([(1, 60.0), (1, 20.0), (1, 30.0)], room=2, at_once=8) == 60
    assert in_turn([(2, 10.0), (1, 10.0), (1, 10.0)], room=2, at_once=8) == 20
    assert in_turn([], room=2, at_once=8) == 0


def test_other_programs_on_the_cores_make_everything_longer_by_the_part_that_they_take():
    """On two cores a game beside three programs takes twice as long."""
    assert TWO_CORES.times_longer == 1
    assert dataclasses.replace(TWO_CORES, delay=1.1).times_longer == 1, "as on free cores"
    assert dataclasses.replace(TWO_CORES, delay=2.0).times_longer == 2.5, "five programs on two cores"
    assert dataclasses.replace(TWO_CORES, cores=1, delay=2.0).times_longer == 2
