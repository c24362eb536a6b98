"""Comparisons of experiments, against figures computed by hand from their rows."""

import json

import numpy as np
import pytest
from scipy import stats

from experiments.analysis.comparison import compare
from experiments.disk.experiments import read_experiment, read_group
from tests.helpers.written_experiments import write_experiment
from trainables.checks import ConfigError

ITERATIONS = 8
"""Of each trial; with 1,000 steps each, every iteration is a window."""


def curves(seeds, shift=0.0, spread=3.0, rng=0):
    """Returns of ITERATIONS iterations for each seed, rising by one each."""
    starts = np.random.default_rng(rng).normal(-20 + shift, spread, len(seeds))
    return [[float(start + i) for i in range(ITERATIONS)] for start in starts]


def written(tmp_path, name, seeds, settings=None, **how):
    trials = [({**(settings or {}), "seed": s}, c, None) for s, c in zip(seeds, curves(seeds, **how), strict=True)]
    return read_experiment(write_experiment(tmp_path, name, "pg", trials))


def rewrite(trial, edit):
    """Replace a trial's rows by what ``edit`` makes of their list."""
    path = trial.folder / "result.json"
    rows = edit([json.loads(text) for text in path.read_text().splitlines()])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_experiment(trial.folder.parent)


def last(experiment):
    return np.array([trial.rows[-1]["episode_reward_batch_mean"] for trial in experiment.trials])


def test_seeds_that_are_the_same_are_paired_and_others_are_not(tmp_path):
    a, b = (written(tmp_path, name, range(4), rng=n, shift=n) for n, name in enumerate("ab"))
    b = rewrite(b.trials[0], lambda rows: [*rows[:-1], rows[-1] | {"episode_reward_batch_mean": 3.0}])
    found = compare([[a], [b]])
    (pair,) = found.pairs
    assert (found.window, found.steps, pair.paired, pair.seeds) == (1000, 8000, True, (4, 4))
    expected = stats.ttest_rel(last(b), last(a)).confidence_interval(0.95)
    assert pair.mean == pytest.approx(((last(b) - last(a)).mean(), *expected))
    c = written(tmp_path, "c", range(4, 9), rng=2, shift=2)
    (pair,) = compare([[a], [c]]).pairs
    assert (pair.paired, pair.seeds) == (False, (4, 5))
    expected = stats.ttest_ind(last(c), last(a), equal_var=False).confidence_interval(0.95)
    assert pair.mean == pytest.approx((last(c).mean() - last(a).mean(), *expected))
    np.testing.assert_allclose(pair.steps_k, 1000 * np.arange(1, 9))
    assert (pair.mean_k[-1], pair.low_k[-1], pair.high_k[-1]) == pytest.approx(tuple(pair.mean))


def test_two_equal_algorithms_cannot_be_told_apart_and_two_that_differ_can(tmp_path):
    equal = [written(tmp_path, f"equal{n}", range(5 * n, 5 * n + 5), rng=n) for n in range(2)]
    assert not compare([[experiment] for experiment in equal]).pairs[0].told_apart
    better = written(tmp_path, "better", range(5), {"gamma": 0.9}, shift=15)
    (pair,) = compare([[equal[0]], [better]]).pairs
    assert pair.told_apart
    assert pair.mean.low > 0
    same = compare([[better], [better]]).pairs[0]
    assert (same.told_apart, same.needed, same.mean) == (False, None, (0, 0, 0))


def test_several_differences_from_the_first_hold_together(tmp_path):
    sides = [[written(tmp_path, name, range(4), {"gamma": 0.9 + n / 100}, rng=n)] for n, name in enumerate("abcde")]
    assert [pair.confidence for pair in compare(sides).pairs] == pytest.approx([0.9875] * 4)


def test_a_sweeps_configurations_are_sides_of_their_own_and_best_takes_the_best_of_them(tmp_path):
    trials = [
        ({"gamma": g, "seed": s}, [-20 + i + 10 * g + s for i in range(8)], None) for g in (0.8, 0.9) for s in (0, 1)
    ]
    sweep = read_experiment(write_experiment(tmp_path, "sweep", "pg", trials))
    assert [side.label for side in compare([[sweep]]).sides] == ["sweep: g=0.9", "sweep: g=0.8"]
    other = written(tmp_path, "other", range(2))
    assert [side.label for side in compare([[sweep], [other]], best=1).sides] == ["sweep", "other"]


def test_experiments_joined_by_commas_are_seeds_of_one_configuration(tmp_path):
    for seed in range(3):
        written(tmp_path, f"a{seed}", [seed], rng=seed)
    b = written(tmp_path, "b,c", range(3), {"gamma": 0.9})
    found = compare([read_group(tmp_path, "a0,a1,a2"), read_group(tmp_path, "b,c")])
    assert [side.label for side in found.sides] == ["a0 and 2 more", "b,c"]
    assert found.pairs[0].paired
    assert read_group(tmp_path, "b,c")[0].folder == b.folder
    with pytest.raises(ConfigError, match="unknown experiment 'a9'"):
        read_group(tmp_path, "a0,a9")


def test_a_run_that_diverged_counts_with_what_it_reported_and_one_that_ended_early_limits_the_steps(tmp_path):
    a, b = written(tmp_path, "a", range(3)), written(tmp_path, "b", range(3), {"gamma": 0.9})
    worst = {"episode_score": -21.0, "diverged": 1.0, "done": True}
    with_diverged = compare([[a], [rewrite(b.trials[1], lambda rows: [*rows[:2], rows[2] | worst])]])
    assert with_diverged.steps == 8000
    assert with_diverged.sides[1].at(8000)[1] == -21.0
    assert with_diverged.sides[1].arrivals(20.0).ended[1] == np.inf
    cut = rewrite(b.trials[1], lambda rows: [*rows[:2], rows[2] | {"diverged": 0.0, "done": False}])
    assert compare([[a], [cut]]).steps == 3000
    later = compare([[a], [cut]], window=1000, steps=8000)
    assert (later.pairs[0].seeds, later.pairs[0].paired) == ((3, 2), False)
    assert [trial.name for trial in later.left_out] == ["00001_seed=1"]


def test_environments_are_not_compared(tmp_path):
    a, b = (
        written(tmp_path, env_id[-2:], range(3), {"env_id": env_id}) for env_id in ("ALE/Pong-v5", "PongNoFrameskip-v4")
    )
    words = r"ALE/Pong-v5 \(an agent step is 4 frames\) against PongNoFrameskip-v4 \(an agent step is 1 frame\)"
    with pytest.raises(ConfigError, match=f"{words}: neither steps nor returns are the same there"):
        compare([[a], [b]])


def test_what_a_fork_has_from_its_start_is_no_arrival_there(tmp_path):
    """A run from scratch whose first games end late came to their score exactly then."""
    fork, scratch = (written(tmp_path, name, (0, 1)) for name in ("fork", "scratch"))
    flat = {"episode_reward_batch_mean": -9.0}
    for trial in fork.trials:
        fork = rewrite(trial, lambda rows: [row | flat for row in rows[2:]])
    for trial in scratch.trials:
        scratch = rewrite(
            trial, lambda rows: [r | flat | {"episodes_this_iter": int(n > 2)} for n, r in enumerate(rows)]
        )
    sides = compare([[fork], [scratch]]).sides
    assert sides[0].arrivals(-10.0) == (-10.0, (), (), (3000.0, 3000.0))
    assert sides[1].arrivals(-10.0) == (-10.0, (4000.0, 4000.0), (), ())
    assert sides[0].arrivals(-8.0) == (-8.0, (), (8000.0, 8000.0), ())


def test_one_seed_has_a_difference_and_no_interval(tmp_path):
    a, b = written(tmp_path, "a", [0]), written(tmp_path, "b", range(3), {"gamma": 0.9}, shift=9)
    (pair,) = compare([[a], [b]]).pairs
    assert (pair.told_apart, pair.needed) == (False, None)
    assert np.isnan(pair.mean.low)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"window": 9000},
            "no window of 9,000 agent steps in which a game ended is common to all; the shortest run has 8,000",
        ),
        ({"steps": 9000}, "no window of 1,000 agent steps"),
        ({"steps": 10}, "no window of 1,000 agent steps"),
    ],
)
def test_steps_that_nobody_came_to_are_refused(how, message, tmp_path):
    a, b = written(tmp_path, "a", range(2)), written(tmp_path, "b", range(2), {"gamma": 0.9})
    with pytest.raises(ConfigError, match=message):
        compare([[a], [b]], **how)


def test_too_few_and_too_many_configurations_are_refused(tmp_path):
    a, empty = (
        written(tmp_path, "a", range(2)),
        read_experiment(write_experiment(tmp_path, "empty", "pg", [({}, [], "running")])),
    )
    with pytest.raises(ConfigError, match="name two experiments, as in compare a OTHER"):
        compare([[a]])
    with pytest.raises(ConfigError, match="empty has no results yet"):
        compare([[a], [empty]])
    with pytest.raises(ConfigError, match="7 configurations: accepted are 2 to 6; --best 1"):
        compare([[a]] * 7)


def test_a_seed_of_which_no_game_ended_is_named_as_left_out(tmp_path):
    a, b = written(tmp_path, "a", range(3)), written(tmp_path, "b", range(3), {"gamma": 0.9})
    b = rewrite(b.trials[1], lambda rows: [row | {"episodes_this_iter": 0} for row in rows])
    found = compare([[a], [b]])
    assert found.pairs[0].seeds == (3, 2)
    assert [trial.name for trial in found.left_out] == ["00001_seed=1"]


def test_the_best_configuration_of_an_experiment_is_none_that_failed(tmp_path):
    trials = [({"gamma": 0.9}, [-5.0] * 8, "RuntimeError: no luck"), ({"gamma": 0.8}, [-12.0] * 8, None)]
    sweep = read_experiment(write_experiment(tmp_path, "sweep", "pg", trials))
    found = compare([[sweep], [written(tmp_path, "other", range(2))]], best=1)
    assert found.sides[0].configuration.config["gamma"] == 0.8
