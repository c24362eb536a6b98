"""The plan of a sweep that has no rounds: how many trials run at once, and how long all of them take."""

from types import SimpleNamespace

import pytest

from experiments.ask.sweep_flags import SweepFlags
from experiments.plan.resources import ClusterResources
from experiments.run.planning import Plan
from experiments.run.sweep_program import of_some
from trainables.config import PGConfig


def plan(configs, limit=None):
    return Plan(SweepFlags(max_concurrent=limit), ClusterResources((4,)), configs, [], {}, None, [])


def test_trials_at_once_follow_from_what_they_reserve_and_from_the_flag():
    for workers, limit, expected in (([1, 1, 2, 2], None, 3), ([4, 4], None, 1), ([1, 1, 1], 2, 2)):
        assert plan([PGConfig(num_workers=n) for n in workers], limit).concurrent == expected


@pytest.mark.parametrize(("cpus", "seconds"), [(0.5, 400), (1.0, 200), (2.0, 400)])
def test_a_worker_is_as_fast_as_one_core_whatever_it_reserves(cpus, seconds):
    learner = SimpleNamespace(seconds=lambda *_: 200.0)
    assert plan([PGConfig(num_workers=1, cpus_per_worker=cpus)] * 4).seconds(learner) == seconds


def test_a_fork_of_some_trials_keeps_their_configurations():
    assert of_some([0, 0, 1, 2], [1, 3]) == [0, 1]
    assert of_some(None, [1, 3]) is None
