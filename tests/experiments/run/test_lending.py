"""How many workers a trial has, by what it asks for, who else needs cores, and what there is."""

import pytest
from ray.tune.experiment import Trial

from experiments.plan.learners import PG
from experiments.plan.resources import ClusterResources
from experiments.run.lending import Lending, cpus
from trainables.config import PGConfig


def trials(*asked, each=1.0, nodes=(4,)):
    """Trials that ask for so many workers, and the nodes."""
    made = []
    for workers in asked:
        config = PGConfig(num_workers=workers, slots=8, cpus_per_worker=each).to_dict()
        made.append(Trial("stub", config=config, stub=True))
        made[-1].update_resources(PG.trainable.default_resource_request(config))
    return made, ClusterResources(nodes)


@pytest.mark.parametrize(
    ("asked", "nodes", "given"),
    [
        ([1, 1, 1, 1], (4,), [1, 1, 1, 1]),
        ([1, 1, 1], (4,), [2, 1, 1]),
        ([1], (4,), [4]),
        ([1], (60,), [8]),  # a slot each
        ([2, 2, 2], (3,), [1, 1, 1]),  # with two for the first, one core idled for minutes
        ([2, 1], (1,), [1]),
        ([2, 2, 2], (2,), [1, 1]),  # the first had two cores, on which two trials play more
        ([8, 2, 1], (4,), [2, 1, 1]),
        ([1, 4], (6,), [2, 4]),
        ([1, 1], (3, 4), [4, 3]),
    ],
)
def test_cores_that_nobody_asks_for_are_shared_by_all_that_start(asked, nodes, given):
    ready, resources = trials(*asked, nodes=nodes)
    running, found = [], []
    while ready and (trial := Lending(PG).next(ready, running, resources)):
        ready.remove(trial)
        running.append(trial)
        found.append(round(cpus(trial)))
    assert found == given
    assert sum(found) <= resources.cpus


def test_trials_start_in_their_order():
    (first, second), resources = trials(2, 1, nodes=(1,))
    assert Lending(PG).next([first, second], [], resources) is first


def test_one_core_of_four_was_used_where_one_trial_may_run_at_once():
    """The others, which were not to start, counted as if they did."""
    (first, *others), resources = trials(1, 1, 1, 1)
    assert Lending(PG).next([first, *others], [], resources, places=1) is first
    assert cpus(first) == 4.0


@pytest.mark.parametrize(
    ("nodes_left", "given"),
    [
        ((4,), 4),  # nothing has changed
        ((2,), 2),
        ((1,), 1),
        ((1, 1), 2),
    ],
)
def test_a_trial_waited_for_the_cores_of_a_node_that_had_died(nodes_left, given):
    (trial,), resources = trials(1)
    lending = Lending(PG)
    assert lending.next([trial], [], resources) is trial
    lending.after_error(trial, [], ClusterResources(nodes_left))
    assert cpus(trial) == given


def test_a_trial_that_finds_no_core_after_an_error_waits_for_what_it_asks_for():
    (trial, other), resources = trials(2, 2)
    lending = Lending(PG)
    assert lending.next([trial, other], [], resources) is trial
    lending.after_error(trial, [other], ClusterResources((2,)))
    assert cpus(trial) == 2.0
    lending.after_error(trial, [other], ClusterResources((1,)))
    assert cpus(trial) == 1.0, "all that there is"


def test_workers_smaller_than_a_core_are_counted_so():
    (trial,), resources = trials(1, each=0.5, nodes=(2,))
    assert Lending(PG).next([trial], [], resources) is trial
    assert (cpus(trial), len(trial.placement_group_factory.bundles)) == (2.0, 4)


def test_a_worker_of_two_cpus_does_not_lie_on_two_nodes():
    (trial,), resources = trials(1, each=2.0, nodes=(3, 3))
    assert Lending(PG).next([trial], [], resources) is trial
    assert cpus(trial) == 4.0


def test_a_running_trial_starts_anew_only_where_it_gains_and_has_time():
    (trial, other), resources = trials(1, 1)
    lending = Lending(PG)
    assert lending.gains(trial, 100, [trial], resources)
    assert lending.gains(trial, 100, [trial, other], resources)
    assert lending.gains(trial, 40, [trial], resources), "a core idled for 38 s at the end of a round"
    assert not lending.gains(trial, 10, [trial], resources), "to start takes longer than it gains"
    assert not lending.gains(trial, 100, [trial, other], ClusterResources((2,)))
    assert lending.workers(trial, [], [other], resources) == 2, "the other one can have as many"
