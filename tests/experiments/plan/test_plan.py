"""What a sweep will run: configurations that are drawn from a space, and fit on the machine."""

import dataclasses

import numpy as np
import pytest
from ray import tune
from ray.tune.search.sample import LogUniform

from experiments.ask.budget import Budget
from experiments.plan import plan
from experiments.plan.learners import LEARNERS, PG
from experiments.plan.plan import Plan
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import space_around
from trainables.checks import ConfigError


def draw(learner, preset, fixed, num_samples, seed, resources):
    """From the space around a preset."""
    space = space_around(learner, preset, fixed, resources)
    return *plan.draw(learner, space, num_samples, seed, resources), space.notes


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_every_preset_has_a_space_that_draws_valid_configurations(learner):
    assert learner.space.PRESETS.keys() == learner.space.SPACES.keys()
    for preset, settings in learner.space.PRESETS.items():
        configs, swept, _ = draw(learner, preset, {}, 20, seed=0, resources=ClusterResources((8,)))
        kept = settings.keys() - set(swept)
        expected = learner.config_class.from_dict(settings)
        assert all(getattr(config, name) == getattr(expected, name) for config in configs for name in kept)
        assert len({tuple(getattr(config, name) for name in swept) for config in configs}) > 1


def test_drawing_repeats_with_the_seed_and_trials_have_seeds_of_their_own():
    first, *_ = draw(PG, "default", {}, 5, seed=3, resources=ClusterResources((4,)))
    again, *_ = draw(PG, "default", {}, 5, seed=3, resources=ClusterResources((4,)))
    other, *_ = draw(PG, "default", {}, 5, seed=4, resources=ClusterResources((4,)))
    assert first == again != other
    assert [config.seed for config in first] == [3, 4, 5, 6, 7]


def test_a_few_trials_cover_every_setting_evenly_where_independent_draws_left_one_out():
    configs, *_ = draw(PG, "default", {}, 18, seed=0, resources=ClusterResources((8,)))
    for name in ("gamma", "segment_length"):
        values = [getattr(config, name) for config in configs]
        assert [values.count(value) for value in {*values}] == [6, 6, 6]
    rates = sorted(config.learning_rate for config in configs)
    domain = PG.space.SPACES["default"]["learning_rate"]
    edges = np.geomspace(domain.lower, domain.upper, 19)
    assert all(low <= rate <= high for low, rate, high in zip(edges[:-1], rates, edges[1:], strict=True))


@pytest.mark.parametrize(
    ("domain", "low", "high"),
    [(tune.uniform(0.9, 0.99), 0.9, 0.99), (tune.quniform(0.9, 0.98, 0.02), 0.9, 0.98), (0.95, 0.95, 0.95)],
)
def test_spaces_may_hold_what_tune_can_draw(monkeypatch, domain, low, high):
    monkeypatch.setitem(PG.space.SPACES["default"], "gamma", domain)
    configs, *_ = draw(PG, "default", {}, 12, seed=0, resources=ClusterResources((8,)))
    values = [config.gamma for config in configs]
    assert all(low <= value <= high for value in values)
    assert min(values) <= low + 0.02
    assert max(values) >= high - 0.02


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_evaluations_took_a_sixth_of_the_time_of_trials_with_short_segments(learner):
    configs, *_ = draw(learner, "default", {}, 20, seed=0, resources=ClusterResources((2,)))
    assert {config.segment_length for config in configs} == {
        *learner.space.SPACES["default"]["segment_length"].categories
    }
    assert {config.segments_steps for config in configs} == {learner.config_class().segments_steps}
    configs, *_ = draw(learner, "default", {"updates_per_iteration": 3}, 20, seed=0, resources=ClusterResources((2,)))
    assert {config.updates_per_iteration for config in configs} == {3}, "as it was asked for"


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_a_sweeps_evaluations_took_a_sixteenth_of_its_time(learner):
    fixed, resources = {"eval_interval": 20}, ClusterResources((2,))
    drawn, swept, _ = draw(learner, "default", {}, 20, seed=0, resources=resources)
    asked, *_ = draw(learner, "default", fixed, 20, seed=0, resources=resources)
    assert {config.eval_interval for config in drawn} == {plan.EVAL_INTERVAL}
    assert {config.eval_interval for config in asked} == {20}, "as it was asked for"
    assert "eval_interval" not in swept
    assert asked == [dataclasses.replace(config, eval_interval=20) for config in drawn], "the same draws otherwise"


def test_parallelism_beyond_the_cluster_is_cut_out_loud():
    configs, _, notes = draw(PG, "default", {}, 30, seed=0, resources=ClusterResources((2,)))
    assert {config.num_workers for config in configs} == {1, 2}
    assert notes == ["num_workers 4, 8 left out of the space: there are 2 CPUs."]


def test_fixed_settings_replace_the_space():
    configs, swept, notes = draw(
        PG, "default", {"num_workers": 1, "gamma": 0.9}, 5, seed=0, resources=ClusterResources((2,))
    )
    assert {(config.num_workers, config.gamma) for config in configs} == {(1, 0.9)}
    assert "num_workers" not in swept
    assert not notes


def test_a_fixed_parallelism_that_never_fits_is_refused():
    with pytest.raises(ConfigError, match="at most 2 workers"):
        draw(PG, "default", {"num_workers": 3}, 1, seed=0, resources=ClusterResources((2,)))


def test_trials_at_once_follow_from_what_they_reserve():
    def at_once(workers, cpus, limit=None):
        configs = [PG.config_class(num_workers=n) for n in workers]
        return Plan(PG, configs, [], 1, ClusterResources((cpus,)), limit, []).concurrent()

    assert at_once([1, 1, 2, 2], 4) == 3
    assert at_once([2, 2], 2) == 1
    assert at_once([1, 1, 1], 8) == 3
    assert at_once([1, 1, 1], 8, limit=2) == 2


@pytest.mark.parametrize(("cpus", "seconds"), [(0.5, 400), (1.0, 200), (2.0, 400)])
def test_a_worker_that_reserves_two_cores_was_as_fast_as_two(monkeypatch, cpus, seconds):
    monkeypatch.setattr(PG.__class__, "seconds", lambda *_: 200.0)
    configs = [PG.config_class(num_workers=1, cpus_per_worker=cpus)] * 4
    assert Plan(PG, configs, [], Budget(1), ClusterResources((4,)), None, []).seconds() == seconds


def test_a_worker_needs_its_cpus_on_one_node():
    resources = ClusterResources((3, 3, 1))
    with pytest.raises(ConfigError, match=r"7 CPUs of 3 nodes \(3, 3, 1\): at most 2 workers of 2 CPU"):
        draw(PG, "default", {"num_workers": 3, "cpus_per_worker": 2}, 1, seed=0, resources=resources)
    _, _, notes = draw(PG, "default", {"cpus_per_worker": 2}, 1, seed=0, resources=resources)
    assert "num_workers 4, 8 left out" in notes[0]
    twos, ones = ([PG.config_class(num_workers=2, cpus_per_worker=cpus)] * 9 for cpus in (2, 1))
    assert (resources.trials(twos), resources.trials(ones)) == (1, 3)
    assert ClusterResources((0.3,)).workers(0.1) == 3


def test_the_learning_rate_is_swept_on_a_log_scale():
    assert isinstance(PG.space.SPACES["default"]["learning_rate"].get_sampler(), LogUniform)
