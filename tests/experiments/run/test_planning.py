"""The plan of a sweep that has no rounds: how many trials run at once, and how long all of them take."""

from types import SimpleNamespace

import pytest

from experiments.plan.resources import ClusterResources
from experiments.run.planning import Plan
from trainables.config import PGConfig


def test_trials_at_once_follow_from_what_they_reserve_and_from_the_flag():
    def at_once(workers, limit=None):
        return Plan([PGConfig(num_workers=n) for n in workers], ClusterResources((4,)), []).concurrent(limit)

    assert at_once([1, 1, 2, 2]) == 3
    assert at_once([4, 4]) == 1
    assert at_once([1, 1, 1], limit=2) == 2


@pytest.mark.parametrize(("cpus", "seconds"), [(0.5, 400), (1.0, 200), (2.0, 400)])
def test_a_worker_is_as_fast_as_one_core_whatever_it_reserves(cpus, seconds):
    learner = SimpleNamespace(seconds=lambda *_: 200.0)
    task = SimpleNamespace(learner=learner, spec=SimpleNamespace(budget=None, max_concurrent=None))
    configs = [PGConfig(num_workers=1, cpus_per_worker=cpus)] * 4
    assert Plan(configs, ClusterResources((4,)), []).seconds(task) == seconds
