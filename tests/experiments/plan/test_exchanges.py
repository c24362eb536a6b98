"""Who can copy whom, and what changes: decided before anything runs."""

import numpy as np
import pytest

from experiments.plan.draws import draw
from experiments.plan.exchanges import groups, losers, mutated, mutations, notes
from experiments.plan.learners import LEARNERS, PG, TRPO
from experiments.plan.ranges import Choices, parse
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import space_of
from trainables.checks import ConfigError
from trainables.config import PGConfig

EIGHT = ClusterResources((8,))


def changing(learner, preset, fixed):
    space = space_of(learner, preset, fixed, EIGHT)
    _, swept = draw(learner, space, 4, 0, EIGHT)
    return mutations(learner, swept, space.words)


def drawn(domain, value):
    return [mutated(domain, value, np.random.default_rng(seed)) for seed in range(200)]


def test_what_is_swept_changes_and_what_is_fixed_stays():
    assert changing(PG, "default", {}).keys() == {"learning_rate", "gamma"}
    assert changing(PG, "default", {"learning_rate": 1e-3}).keys() == {"gamma"}
    assert "gae_lambda" not in changing(TRPO, "default", {})


def test_a_space_of_ones_own_can_be_swept_by_pbt_if_it_has_words():
    space = space_of(PG, "default", {}, None, sweeps=["minibatch_size=256..2048:log", "gamma=0.9,0.95"])
    found = mutations(PG, ["minibatch_size", "gamma"], space.words)
    assert {*drawn(found["gamma"], 0.9)} == {0.9, 0.95}
    sizes = drawn(found["minibatch_size"], 1000)
    assert all(isinstance(size, int) and 256 <= size <= 2048 for size in sizes)
    assert {800, 1200} < {*sizes}
    with pytest.raises(ConfigError, match="pbt cannot change gamma within what it is drawn from: accepted are choices"):
        mutations(PG, ["gamma"], {"gamma": ""})


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_every_mutation_is_a_setting_and_changes_no_array(learner):
    settings, fixed = {*learner.config_class().to_dict()}, {*learner.config_class.ARCHITECTURE_FIELDS}
    assert {*learner.space.MUTATIONS} <= settings - fixed


def test_trials_of_equal_networks_are_a_group_and_those_without_are_named():
    configs = [PGConfig(hidden_size=size, seed=seed) for seed, size in enumerate([50, 100, 50, 200])]
    assert groups(PG, [config.to_dict() for config in configs]) == [[0, 2], [1], [3]]
    space = {"learning_rate": "0.001..0.01:log"}
    alone, changes = notes(PG, configs, ["learning_rate", "hidden_size"], space)
    assert "no other trial has the hidden_size of 00001, 00003" in alone
    assert "--set hidden_size=..." in alone
    assert "changes learning_rate;" in changes
    assert "no two trials have the same hidden_size" in notes(PG, configs[1:], ["hidden_size"], {})[0]
    assert len(notes(PG, configs[::2], ["hidden_size"], {})) == 1


@pytest.mark.parametrize(
    ("words", "kind", "value"),
    [("1e-3..1e-2:log", float, 9e-3), ("0.96,0.98,0.99", float, 0.96), ("1,2", int, 7), ("1..8", int, 2)],
)
def test_a_mutation_stays_within_its_range_and_repeats_with_its_generator(words, kind, value):
    domain = parse("x", words, kind)
    found = drawn(domain, value)
    assert found == drawn(domain, value)
    assert len(set(found)) > 1
    if isinstance(domain, Choices):
        assert set(found) <= set(domain.values)
    else:
        low, high = domain.extremes
        assert all(low <= changed <= high for changed in found)


def test_the_worst_quarter_of_each_group_copies_one_of_its_best_that_has_more():
    assert losers([1.0, 2.0, 3.0, 4.0], [[0, 1, 2, 3]]) == [(0, [3])]
    assert losers([1.0, 2.0, 3.0, 4.0], [[0, 3], [1], [2]]) == [(0, [3])]
    assert losers([4.0, 1.0, 3.0, 2.0, 5.0], [[0, 1, 2, 3, 4]]) == [(3, [4, 0]), (1, [4, 0])]
    assert losers([-21.0, -21.0, None, None], [[0, 1, 2, 3]]) == [], "an equal is no gain"
    assert losers([None, 1.0, 2.0], [[0, 1, 2]]) == [(1, [2])], "who came to its end takes no part"
