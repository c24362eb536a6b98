"""Who can copy whom, and what changes: decided before anything runs."""

import numpy as np
import pytest
from ray import tune
from ray.tune.search.sample import Categorical

from experiments.plan.learners import LEARNERS, PG, TRPO
from experiments.plan.plan import draw
from experiments.plan.population import groups, mutated, mutations, notes
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import own_space, space_around
from trainables.checks import ConfigError
from trainables.config import PGConfig

EIGHT = ClusterResources((8,))


def test_what_set_had_fixed_was_changed_by_population_based_training_all_the_same():
    for fixed, free in (({}, {"learning_rate", "gamma"}), ({"learning_rate": 1e-3}, {"gamma"})):
        space = space_around(PG, "default", fixed, EIGHT)
        _, swept = draw(PG, space, 4, seed=0, resources=EIGHT)
        assert mutations(PG, swept, space.words).keys() == free
    space = space_around(TRPO, "default", {}, EIGHT)
    _, swept = draw(TRPO, space, 4, seed=0, resources=EIGHT)
    assert "gae_lambda" not in mutations(TRPO, swept, space.words), "which no space varies"


def test_settings_left_the_range_that_was_swept_for_that_of_the_preset_default():
    """Whatever preset a sweep had, ``MUTATIONS`` had the ranges of one."""
    space = space_around(TRPO, "modular_rl", {}, EIGHT)
    _, swept = draw(TRPO, space, 4, seed=0, resources=EIGHT)
    found = mutations(TRPO, swept, space.words)
    drawn = [mutated(found["max_kl"], 0.02, np.random.default_rng(seed)) for seed in range(200)]
    assert 0.005 <= min(drawn) < 0.01
    assert max(drawn) == 0.02


def test_a_space_of_ones_own_can_be_swept_by_pbt_if_it_has_neighbours():
    space = own_space(PG, "default", {}, None, ["minibatch_size=256..2048:log", "gamma=0.9,0.95"], None)
    found = mutations(PG, ["minibatch_size", "gamma"], space.words)
    assert {mutated(found["gamma"], 0.9, np.random.default_rng(seed)) for seed in range(50)} == {0.9, 0.95}
    sizes = [mutated(found["minibatch_size"], 1000, np.random.default_rng(seed)) for seed in range(200)]
    assert all(isinstance(size, int) and 256 <= size <= 2048 for size in sizes)
    assert {800, 1200} < {*sizes}
    with pytest.raises(ConfigError, match="pbt cannot change gamma within what it is drawn from: accepted are choices"):
        mutations(PG, ["gamma"], {"gamma": ""})


def test_a_small_whole_number_has_neighbours_too():
    drawn = {mutated(tune.randint(1, 9), 2, np.random.default_rng(seed)) for seed in range(200)}
    assert {1, 3} < drawn <= {*range(1, 9)}


def test_a_record_of_an_earlier_revision_has_the_space_around_the_default():
    found = mutations(PG, ["learning_rate", "hidden_size"], None)
    assert found.keys() == {"learning_rate"}
    assert found["learning_rate"] is PG.space.SPACES["default"]["learning_rate"]


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_every_mutation_is_a_setting_and_changes_no_array(learner):
    assert {*learner.space.MUTATIONS} <= learner.config_class().to_dict().keys()
    for name in learner.space.MUTATIONS:
        assert name not in learner.config_class.ARCHITECTURE_FIELDS


def test_trials_of_equal_networks_are_a_group_and_those_without_are_named():
    configs = [PGConfig(hidden_size=size, seed=seed) for seed, size in enumerate([50, 100, 50, 200])]
    assert groups(PG, [config.to_dict() for config in configs]) == [[0, 2], [1], [3]]
    alone, changes = notes(PG, configs, ["learning_rate", "hidden_size"], None)
    assert "no other trial has the hidden_size of 00001, 00003" in alone
    assert "--set hidden_size=..." in alone
    assert "changes learning_rate;" in changes
    assert "no two trials have the same hidden_size" in notes(PG, configs[1:], ["hidden_size"], None)[0]
    assert len(notes(PG, configs[::2], ["hidden_size", "gamma"], None)) == 1


@pytest.mark.parametrize(
    ("domain", "value"),
    [(tune.loguniform(1e-3, 1e-2), 9e-3), (tune.choice([0.96, 0.98, 0.99]), 0.96), (tune.choice([1, 2]), 7)],
)
def test_a_mutation_stays_within_its_range_and_repeats_with_its_generator(domain, value):
    drawn = [mutated(domain, value, np.random.default_rng(seed)) for seed in range(100)]
    assert drawn == [mutated(domain, value, np.random.default_rng(seed)) for seed in range(100)]
    assert len(set(drawn)) > 1
    if isinstance(domain, Categorical):
        assert set(drawn) <= set(domain.categories)
    else:
        assert all(1e-3 <= changed <= 1e-2 for changed in drawn)
