"""A user's own space: from flags, from a file, as a grid; refused before anything starts where it cannot be."""

import re
from pathlib import Path

import pytest

from experiments.plan.draws import draw, trial_seeds, typical
from experiments.plan.learners import PG, TRPO
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import grid, space_of
from trainables.checks import ConfigError

FOUR = ClusterResources((4,))
GAMES = {"slots": 0}


def own(*sweeps, learner=PG, fixed=None, file=None, preset="default", resources=None):
    return space_of(learner, preset, fixed or {}, resources, file, sweeps)


def test_what_is_named_is_swept_and_nothing_else():
    space = own("learning_rate=1e-4..1e-2:log", "epochs=1..4")
    configs, swept = draw(PG, space, 40, 0, FOUR)
    assert swept == ["learning_rate", "epochs"]
    assert {config.epochs for config in configs} == {1, 2, 3, 4}
    assert {config.gamma for config in configs} == {PG.config_class().gamma}
    assert 1e-4 <= min(config.learning_rate for config in configs) < 1.2e-4
    (note,) = space.notes
    assert note.endswith("around default; no longer swept: hidden_size, gamma, segment_length, num_workers.")


def test_flags_add_to_a_files_lines_and_replace_them_and_what_is_fixed_leaves_them(tmp_path):
    page = "SPACES = {'default': {'learning_rate': '1e-4..1e-2:log', 'gamma': [0.98, 0.99], 'epochs': 3}}\n"
    (tmp_path / "s.py").write_text(page)
    space = own("gamma=0.9..0.99", "clip=0.1,0.2", file=tmp_path / "s.py")
    expected = {"learning_rate": "0.0001..0.01:log", "gamma": "0.9..0.99", "epochs": "3", "clip": "0.1,0.2"}
    assert space.words == expected
    assert not space.notes
    space = own(file=tmp_path / "s.py", fixed={"gamma": 0.9, "learning_rate": 0.1})
    assert space.words == {"epochs": "3"}
    assert draw(PG, space, 1, 0, FOUR)[0][0].gamma == 0.9


def test_a_file_brings_presets_of_its_own(tmp_path):
    file, space = tmp_path / "s.py", "SPACES = {'small': {'gamma': '0.98,0.99'}}\n"
    file.write_text("PRESETS = {'small': {'hidden_size': 10, 'slots': '4'}}\n" + space)
    (config, *_), swept = draw(PG, own(file=file, preset="small", fixed={"slots": 8}), 2, 0, FOUR)
    assert (config.hidden_size, config.slots, swept) == (10, 8, ["gamma"])
    file.write_text("PRESETS = {'small': {'hiden_size': 10}}\n" + space)
    with pytest.raises(ConfigError, match="did you mean 'hidden_size'"):
        own(file=file, preset="small")


@pytest.mark.parametrize("learner", [PG, TRPO], ids=["pg", "trpo"])
def test_every_page_of_search_spaces_can_be_given_as_a_file(learner):
    for preset, around in learner.space.SPACES.items():
        space = own(learner=learner, file=Path(learner.space.__file__), preset=preset)
        assert space.words.keys() == around.keys()
        assert all(space.words.values())
        assert draw(learner, space, 3, 0, ClusterResources((8,)))[0]


def test_the_files_that_docs_sweeps_shows_are_spaces(tmp_path):
    text = (Path(__file__).parents[3] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        file = tmp_path / "s.py"
        file.write_text(block)
        space = own(file=file, preset="small" if "small" in block else "default")
        assert space.words["learning_rate"] == "0.0001..0.01:log"
        assert all(space.words.values())
        assert len(draw(PG, space, 9, 0, FOUR)[0]) == 9


def test_a_grid_has_all_combinations_in_order():
    space = own("hidden_sizes=32-32,64-64", "gamma=0.96..0.98:3", learner=TRPO)
    configs, swept = draw(TRPO, space, None, 5, FOUR)
    expected = [((n, n), gamma) for n in (32, 64) for gamma in (0.96, 0.97, 0.98)]
    found = [(config.hidden_sizes, config.gamma, config.seed) for config in configs]
    assert found == [(*each, seed) for each, seed in zip(expected, trial_seeds(5, 6), strict=True)]
    assert swept == ["hidden_sizes", "gamma"]


def test_settings_that_are_possible_together_alone_can_be_swept():
    for sweeps, fixed in ((["games_per_update=4,8"], GAMES), (["slots=0", "games_per_update=4,8"], {})):
        space = own(*sweeps, fixed=fixed)
        configs, _ = draw(PG, space, None, 0, FOUR)
        assert [(config.slots, config.games_per_update) for config in configs] == [(0, 4), (0, 8)]
        assert typical(PG, space).games_per_update == 8


def test_a_setting_that_means_nothing_in_some_configurations_is_refused():
    """Trials that differ in nothing but their seed would stand in the grid as different ones."""
    with pytest.raises(ConfigError, match=r"clip=0\.1 means nothing with method=reinforce: it is for method=ppo"):
        draw(PG, own("method=ppo,reinforce", "clip=0.1,0.2", fixed=GAMES | {"games_per_update": 4}), None, 0, FOUR)
    with pytest.raises(ConfigError, match="means nothing with"):
        draw(PG, own("rmsprop_decay=0.9,0.99"), 2, 0, FOUR)


def test_parallelism_beyond_the_machine_is_left_out_and_no_other_draw_differs_for_that():
    drawn = []
    for cores in (2, 8):
        resources = ClusterResources((cores,))
        space = own("num_workers=1,2,8", "gamma=0.9..0.99", resources=resources)
        assert ("num_workers 8 left out of the space: too many for 2 CPUs." in space.notes) == (cores == 2)
        drawn.append([config.gamma for config in draw(PG, space, 9, 0, resources)[0]])
    assert drawn[0] == drawn[1]
    with pytest.raises(ConfigError, match=r"no choice of num_workers \(8\) fits on 4 CPUs"):
        own("num_workers=8", resources=FOUR)
    with pytest.raises(ConfigError, match="num_workers=8 needs 8 CPUs"):  # a grid would be another one elsewhere
        draw(PG, own("num_workers=1,2,8"), None, 0, FOUR)


@pytest.mark.parametrize(
    ("sweeps", "reason"),
    [
        (["gama=0.9..0.8"], "did you mean 'gamma'"),
        (["gamma=0.9..1.5"], "gamma=1.5: accepted is a number in"),
        (["gamma=0.9,high"], "gamma='high'"),
        (["hidden_sizes=16..64"], "hidden_sizes='16..64': accepted are one or more numbers, as 64-64"),
        (["slots=3,4"], "there is slots=0 already"),
        (["seed=1,2"], "--seeds N"),
        (["gamma=0.9", "gamma=0.99"], "there is gamma=0.9 already"),
        (["gamma"], "accepted is NAME=VALUES"),
        (["gamma="], "accepted is NAME=VALUES"),
    ],
)
def test_a_space_that_cannot_be_is_refused(sweeps, reason):
    with pytest.raises(ConfigError, match=reason):
        own(*sweeps, fixed=GAMES, learner=TRPO if "hidden_sizes" in sweeps[0] else PG)


def test_a_grid_of_a_range_or_of_too_many_is_refused():
    with pytest.raises(ConfigError, match=r"gamma is a range; say how many of its values, as gamma=0\.9\.\.0\.99:4"):
        grid(own("gamma=0.9..0.99").domains)
    with pytest.raises(ConfigError, match="accepted are up to 1,000"):
        grid(own("epochs=1..40:40", "hidden_size=1..40:40").domains)
