"""Who can copy whom, and what changes: decided before anything runs."""

import numpy as np
import pytest
from ray import tune

from experiments.plan.learners import LEARNERS, PG, TRPO
from experiments.plan.plan import draw
from experiments.plan.population import groups, mutated, mutations, notes
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import space_around
from trainables.config import PGConfig

EIGHT = ClusterResources((8,))


def test_what_set_had_fixed_was_changed_by_population_based_training_all_the_same():
    for fixed, free in (({}, {"learning_rate", "gamma"}), ({"learning_rate": 1e-3}, {"gamma"})):
        _, swept = draw(PG, space_around(PG, "default", fixed, EIGHT), 4, seed=0, resources=EIGHT)
        assert mutations(PG, swept).keys() == free
    _, swept = draw(TRPO, space_around(TRPO, "default", {}, EIGHT), 4, seed=0, resources=EIGHT)
    assert "gae_lambda" not in mutations(TRPO, swept), "which no space varies"


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_every_mutation_is_swept_somewhere_and_changes_no_array(learner):
    for name in learner.space.MUTATIONS:
        assert any(name in space for space in learner.space.SPACES.values())
        assert name not in learner.config_class.ARCHITECTURE_FIELDS


def test_trials_of_equal_networks_are_a_group_and_those_without_are_named():
    configs = [PGConfig(hidden_size=size, seed=seed) for seed, size in enumerate([50, 100, 50, 200])]
    assert groups(PG, [config.to_dict() for config in configs]) == [[0, 2], [1], [3]]
    alone, changes = notes(PG, configs, ["learning_rate", "hidden_size"])
    assert "no other trial has the hidden_size of 00001, 00003" in alone
    assert "--set hidden_size=..." in alone
    assert "changes learning_rate;" in changes
    assert "no two trials have the same hidden_size" in notes(PG, configs[1:], ["hidden_size"])[0]
    assert len(notes(PG, configs[::2], ["hidden_size", "gamma"])) == 1


@pytest.mark.parametrize(
    ("domain", "value"), [(tune.loguniform(1e-3, 1e-2), 9e-3), ([0.96, 0.98, 0.99], 0.96), ([1, 2], 7)]
)
def test_a_mutation_stays_within_its_range_and_repeats_with_its_generator(domain, value):
    drawn = [mutated(domain, value, np.random.default_rng(seed)) for seed in range(100)]
    assert drawn == [mutated(domain, value, np.random.default_rng(seed)) for seed in range(100)]
    assert len(set(drawn)) > 1
    if isinstance(domain, list):
        assert set(drawn) <= set(domain)
    else:
        assert all(1e-3 <= changed <= 1e-2 for changed in drawn)
