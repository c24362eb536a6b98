"""What a sweep will run: configurations that are drawn from a space, and fit on the machine."""

import dataclasses

import numpy as np
import pytest
from ray import tune

from experiments.plan.draws import (
    EVAL_INTERVAL,
    draw,
    gridded,
    own_values,
    require_possible_seeds,
    trial_seeds,
    with_seeds,
)
from experiments.plan.learners import LEARNERS, PG
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import space_of
from trainables.checks import ConfigError
from trainables.config import PGConfig

EIGHT, TWO = ClusterResources((8,)), ClusterResources((2,))
EACH = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


def drawn(learner=PG, count=20, fixed=None, preset="default", seed=0, resources=EIGHT):
    """From the space around a preset."""
    return draw(learner, space_of(learner, preset, fixed or {}, resources), count, seed, resources)


@EACH
def test_every_preset_has_a_space_that_draws_valid_configurations(learner):
    assert learner.space.PRESETS.keys() == learner.space.SPACES.keys()
    for preset, settings in learner.space.PRESETS.items():
        configs, swept = drawn(learner, preset=preset)
        expected = learner.config_class.from_dict(settings)
        kept = settings.keys() - set(swept)
        assert all(getattr(config, name) == getattr(expected, name) for config in configs for name in kept)
        assert len({tuple(getattr(config, name) for name in swept) for config in configs}) > 1


def test_drawing_repeats_with_the_seed_and_trials_have_seeds_of_their_own():
    first, again, other = drawn(seed=3)[0], drawn(seed=3)[0], drawn(seed=4)[0]
    assert first == again != other
    assert [config.seed for config in first] == trial_seeds(3, 20) == trial_seeds(3, 30)[:20]
    assert len({seed for sweep in range(100) for seed in trial_seeds(sweep, 20)}) == 2000, "of neighbouring sweeps too"


@EACH
def test_the_baseline_is_the_preset_itself_and_the_others_are_those_of_a_sweep_of_one_less(learner):
    for preset, settings in learner.space.PRESETS.items():
        space = space_of(learner, preset, {}, EIGHT)
        (baseline, *others), _ = draw(learner, space, 6, 3, EIGHT, own_values(learner, space, EIGHT))
        expected = learner.config_class.from_dict({"eval_interval": EVAL_INTERVAL} | settings)
        assert baseline == dataclasses.replace(expected, seed=trial_seeds(3, 1)[0])
        before, _ = drawn(learner, 5, preset=preset, seed=3)
        assert [dataclasses.replace(each, seed=0) for each in others] == [
            dataclasses.replace(each, seed=0) for each in before
        ]


def test_a_baseline_may_lie_outside_what_is_swept_but_not_where_no_worker_has_room():
    space = space_of(PG, "default", {}, ClusterResources((1,)), None, ["gamma=0.5..0.6", "num_workers=1,2", "clip=0.1"])
    own = own_values(PG, space, ClusterResources((1,)))
    assert own == {"gamma": PGConfig().gamma, "num_workers": 1, "clip": 0.1}, "of one value alone nothing is swept"


def test_a_grid_has_its_baseline_once():
    among, beside = (space_of(PG, "default", {}, EIGHT, None, [f"gamma={words}"]) for words in ("0.9,0.99", "0.8,0.9"))
    found = [gridded(space, own_values(PG, space, EIGHT)) for space in (among, beside)]
    assert found == [[{"gamma": 0.9}, {"gamma": 0.99}], [{"gamma": 0.99}, {"gamma": 0.8}, {"gamma": 0.9}]]


def test_a_few_trials_cover_every_setting_evenly():
    configs, _ = drawn(count=18)
    for name, choices in (("gamma", 3), ("segment_length", 2)):
        values = [getattr(config, name) for config in configs]
        assert [values.count(value) for value in {*values}] == [18 // choices] * choices
    rates = sorted(config.learning_rate for config in configs)
    domain = space_of(PG, "default", {}, EIGHT).domains["learning_rate"]
    edges = np.geomspace(domain.low, domain.high, 19)
    assert all(low <= rate <= high for low, rate, high in zip(edges[:-1], rates, edges[1:], strict=True))


@pytest.mark.parametrize(
    ("domain", "low", "high"),
    [(tune.uniform(0.9, 0.99), 0.9, 0.99), (tune.choice([0.9, 0.98]), 0.9, 0.98), (0.95, 0.95, 0.95)],
)
def test_spaces_may_hold_what_tune_can_draw(monkeypatch, domain, low, high):
    monkeypatch.setitem(PG.space.SPACES["default"], "gamma", domain)
    configs, swept = drawn()
    values = [config.gamma for config in configs]
    assert ("gamma" in swept) == (low < high)
    assert all(low <= value <= high for value in values)
    assert min(values) <= low + 0.02
    assert max(values) >= high - 0.02


@EACH
def test_rows_come_equally_often_and_evaluations_seldom_unless_they_are_asked_for(learner):
    configs, swept = drawn(learner)
    lengths = {*learner.space.SPACES["default"]["segment_length"]}
    assert {config.segment_length for config in configs} == lengths
    assert {config.segments_steps for config in configs} == {learner.config_class().segments_steps}
    assert {config.eval_interval for config in configs} == {EVAL_INTERVAL}
    assert "eval_interval" not in swept
    asked, _ = drawn(learner, fixed={"updates_per_iteration": 3, "eval_interval": 20})
    assert asked == [dataclasses.replace(each, updates_per_iteration=3, eval_interval=20) for each in configs]


def test_a_worker_needs_its_cpus_on_one_node():
    resources = ClusterResources((3, 3, 1))
    with pytest.raises(ConfigError, match=r"7 CPUs of 3 nodes \(3, 3, 1\) for 2 workers of 2"):
        drawn(fixed={"num_workers": 3, "cpus_per_worker": 2}, resources=resources)
    twos, ones = ([PGConfig(num_workers=2, cpus_per_worker=cpus)] * 9 for cpus in (2, 1))
    assert (resources.trials(twos), resources.trials(ones)) == (1, 3)
    assert ClusterResources((0.3,)).workers(0.1) == 3
    assert [str(ClusterResources((cpus,))) for cpus in (1, 2)] == ["1 CPU", "2 CPUs"]
    with pytest.raises(ConfigError, match="room on 1 CPU for 1 worker of 1:"):
        drawn(fixed={"num_workers": 2}, resources=ClusterResources((1,)))


def test_all_configurations_have_the_same_seeds_side_by_side_and_run_once():
    configs = [PGConfig(seed=5, gamma=0.9), PGConfig(seed=6, gamma=0.8), PGConfig(seed=7, gamma=0.9)]
    trials, configuration_of, (note,) = with_seeds(configs, (5, 6, 7))
    assert [(config.gamma, config.seed) for config in trials] == [(g, s) for g in (0.9, 0.8) for s in (5, 6, 7)]
    assert configuration_of == [0, 0, 0, 1, 1, 1]
    assert note.startswith("1 of 3 configurations were drawn before")
    assert with_seeds(configs[:1], [5]) == (configs[:1], [0], [])
    parallel = [dataclasses.replace(config, num_workers=n) for n in (1, 2, 4) for config in configs]
    assert with_seeds(parallel, (0, 1))[1] == [0, 0, 1, 1], "workers change nothing, so they make no configuration"


def test_schedulers_that_decide_about_each_trial_alone_take_one_seed():
    for scheduler in ("halving", "fifo"):
        require_possible_seeds(3, scheduler, {})
    require_possible_seeds(1, "asha", {"seed": 4})
    with pytest.raises(ConfigError, match=r"asha decides .* 3 seeds .*; use halving or fifo"):
        require_possible_seeds(3, "asha", {})
    with pytest.raises(ConfigError, match="--set seed=4 would make 3 seeds of a configuration the same"):
        require_possible_seeds(3, "halving", {"seed": 4})
