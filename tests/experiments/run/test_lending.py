"""How many workers a trial has, by what it asks for, who else needs cores, and what there is."""

import pytest
from ray.tune.experiment import Trial

from experiments.plan.learners import PG
from experiments.plan.resources import ClusterResources
from experiments.run.lending import Lending, cpus
from trainables.config import PGConfig

FOUR = ClusterResources((4,))


def trials(*asked, each=1.0):
    """Trials that ask for so many workers."""
    made = []
    for workers in asked:
        config = PGConfig(num_workers=workers, slots=8, cpus_per_worker=each).to_dict()
        made.append(Trial("stub", config=config, stub=True))
        made[-1].update_resources(PG.trainable.default_resource_request(config))
    return made


@pytest.mark.parametrize(
    ("asked", "nodes", "given"),
    [
        ([1, 1, 1, 1], (4,), [1, 1, 1, 1]),
        ([1, 1, 1], (4,), [2, 1, 1]),
        ([1], (4,), [4]),
        ([1], (60,), [8]),  # a slot each
        ([2, 2, 2], (3,), [1, 1, 1]),  # no core idles
        ([2, 1], (1,), [1]),  # trials start in their order
        ([2, 2, 2], (2,), [1, 1]),  # two trials play more than one of two workers
        ([8, 2, 1], (4,), [2, 1, 1]),
        ([1, 4], (6,), [2, 4]),
        ([1, 1], (3, 4), [4, 3]),
    ],
)
def test_cores_that_nobody_asks_for_are_shared_by_all_that_start(asked, nodes, given):
    ready, resources = trials(*asked), ClusterResources(nodes)
    running = []
    while ready and (trial := Lending(PG).next(ready, running, resources, len(ready))):
        assert trial is ready.pop(0)
        running.append(trial)
    assert [round(cpus(trial)) for trial in running] == given


def test_trials_that_have_no_place_count_for_nothing():
    first, *others = trials(1, 1, 1, 1)
    assert Lending(PG).next([first, *others], [], FOUR, places=1) is first
    assert cpus(first) == 4.0


@pytest.mark.parametrize(("nodes", "given"), [((4,), 4), ((2,), 2), ((1,), 1), ((1, 1), 2)])
def test_after_an_error_a_trial_needs_no_more_cores_than_are_left(nodes, given):
    (trial,) = trials(1)
    lending = Lending(PG)
    assert lending.next([trial], [], FOUR, places=1) is trial
    lending.after_error(trial, [], ClusterResources(nodes))
    assert cpus(trial) == given


def test_a_trial_that_finds_no_core_after_an_error_waits_for_what_it_asks_for():
    trial, other = trials(2, 2)
    lending = Lending(PG)
    assert lending.next([trial, other], [], FOUR, places=2) is trial
    for cores, needs in ((2, 2.0), (1, 1.0)):
        lending.after_error(trial, [other], ClusterResources((cores,)))
        assert cpus(trial) == needs


@pytest.mark.parametrize(("each", "nodes", "workers"), [(0.5, (2,), 4), (2.0, (3, 3), 2)])
def test_a_worker_takes_what_it_asks_for_of_one_node(each, nodes, workers):
    (trial,) = trials(1, each=each)
    assert Lending(PG).next([trial], [], ClusterResources(nodes), places=1) is trial
    assert (len(trial.placement_group_factory.bundles), cpus(trial)) == (workers, workers * each)


def test_a_running_trial_starts_anew_only_where_it_gains_and_has_time():
    trial, other = trials(1, 1)
    lending = Lending(PG)
    assert lending.gains(trial, 40, [trial], FOUR)
    assert lending.gains(trial, 40, [trial, other], FOUR)
    assert not lending.gains(trial, 10, [trial], FOUR), "to start takes longer than it gains"
    assert not lending.gains(trial, 40, [trial, other], ClusterResources((2,)))
    assert lending.workers(trial, [], [other], FOUR) == 2, "the other one can have as many"
