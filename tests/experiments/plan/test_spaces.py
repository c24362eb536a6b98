"""A user's own space: from flags, from a file, as a grid; refused before anything starts where it cannot be."""

import pytest

from experiments.plan.learners import PG, TRPO
from experiments.plan.plan import draw
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import grid, read, space_of, words_of
from trainables.checks import ConfigError

RESOURCES = ClusterResources((4,))


def own(*sweeps, learner=PG, fixed=None, file=None, preset="default"):
    return space_of(learner, preset, fixed or {}, file, sweeps)


def test_what_is_named_is_swept_and_nothing_else():
    space = own("learning_rate=1e-4..1e-2:log", "epochs=1..4")
    configs, swept, _ = draw(PG, {}, space, 40, 0, RESOURCES)
    assert swept == ["learning_rate", "epochs"]
    assert {config.epochs for config in configs} == {1, 2, 3, 4}
    assert {config.gamma for config in configs} == {PG.config_class().gamma}
    assert 1e-4 <= min(config.learning_rate for config in configs) < 1.2e-4


def test_a_file_holds_the_same_words_and_flags_add_to_it(tmp_path):
    (tmp_path / "s.yaml").write_text("learning_rate: 1e-4..1e-2:log\ngamma: [0.98, 0.99]\nepochs: 3\n")
    space = own("gamma=0.9..0.99", file=tmp_path / "s.yaml")
    assert words_of(space) == {"learning_rate": "0.0001..0.01:log", "gamma": "0.9..0.99", "epochs": "3"}
    (tmp_path / "s.py").write_text(
        "from ray import tune\n"
        "SPACES = {'default': {'gamma': tune.uniform(0.9, 0.99), 'clip': tune.choice([0.1, 0.2])}}\n"
    )
    assert words_of(own(file=tmp_path / "s.py")) == {"gamma": "0.9..0.99", "clip": "0.1,0.2"}


def test_a_grid_has_all_combinations_in_order():
    space = own("hidden_sizes=32-32,64-64", "gamma=0.96..0.98:3", learner=TRPO)
    configs, swept, _ = draw(TRPO, {}, space, None, 5, RESOURCES)
    found = [(config.hidden_sizes, config.gamma, config.seed) for config in configs]
    expected = [((n, n), gamma) for n in (32, 64) for gamma in (0.96, 0.97, 0.98)]
    assert found == [(*each, 5 + index) for index, each in enumerate(expected)]
    assert swept == ["hidden_sizes", "gamma"]


@pytest.mark.parametrize(
    ("sweeps", "fixed", "reason"),
    [
        (["gama=0.9,0.99"], {}, "did you mean 'gamma'"),
        (["gamma=0.9..1.5"], {}, "gamma=1.5"),
        (["gamma=0.9,high"], {}, "gamma='high'"),
        (["gamma=0.9,0.99"], {"gamma": 0.9}, "gamma is fixed to 0.9, and swept"),
        (["rmsprop_decay=0.9,0.99"], {}, "optimiser=rmsprop"),
        (["seed=1,2"], {}, "--seeds N"),
        (["gamma=0.9", "gamma=0.99"], {}, "gamma is there twice"),
        (["gamma"], {}, "accepted is NAME=VALUES"),
        (["gamma="], {}, "accepted is NAME=VALUES"),
    ],
)
def test_a_space_that_cannot_be_is_refused(sweeps, fixed, reason):
    with pytest.raises(ConfigError, match=reason):
        own(*sweeps, fixed=fixed)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("s.yaml", "- 1\n", "a line for each setting"),
        ("s.yaml", "a: [", "cannot be read"),
        ("s.yaml", "!!python/object/apply:os.getcwd []", "cannot be read"),
        ("s.yaml", "gamma: []", "a choice is empty"),
        ("s.py", "SPACES = {}", r"no SPACES\['default'\]"),
        ("s.py", "1 / 0", "raised ZeroDivisionError"),
    ],
)
def test_a_file_without_a_space_is_refused(tmp_path, name, text, reason):
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=reason):
        read(tmp_path / name, "default", PG)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read(tmp_path / "none.yaml", "default", PG)


def test_a_grid_of_a_range_or_of_too_many_is_refused():
    with pytest.raises(ConfigError, match=r"gamma is a range; say how many of its values, as 0\.9\.\.0\.99:4"):
        grid(own("gamma=0.9..0.99"))
    with pytest.raises(ConfigError, match="accepted are up to 1,000"):
        grid(own("epochs=1..40:40", "hidden_size=1..40:40"))
