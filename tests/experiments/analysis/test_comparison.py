"""Comparisons of experiments, against figures computed by hand from their rows."""

import numpy as np
import pytest
from scipy import stats

from experiments.analysis.comparison import compare
from experiments.disk.experiments import read_experiment, read_group
from tests.helpers.written_experiments import change_rows, rows, write_experiment, write_rows
from trainables.checks import ConfigError

ITERATIONS = 8
"""Of each trial; with 1,000 steps each, every iteration is a window."""


def curves(seeds, shift=0.0, spread=3.0, rng=0):
    """Returns of ITERATIONS iterations for each seed, rising by one each."""
    starts = np.random.default_rng(rng).normal(-20 + shift, spread, len(seeds))
    return (starts[:, np.newaxis] + np.arange(ITERATIONS)).tolist()


def written(tmp_path, name, seeds, settings=None, **how):
    trials = []
    for seed, curve in zip(seeds, curves(seeds, **how), strict=True):
        trials.append(((settings or {}) | {"seed": seed}, curve, None))
    return read_experiment(write_experiment(tmp_path, name, "pg", trials))


def end_early(trial, **entries):
    """Let a trial end with its third row, which has other entries."""
    played = rows(trial.folder)
    write_rows(trial.folder, [*played[:2], played[2] | entries])
    return read_experiment(trial.folder.parent)


def labels(comparison):
    return [side.label for side in comparison.sides]


def last(experiment):
    return np.array([trial.rows[-1]["episode_reward_batch_mean"] for trial in experiment.trials])


def test_seeds_that_are_the_same_are_paired_and_others_are_not(tmp_path):
    a = written(tmp_path, "a", range(4), rng=0)
    b = written(tmp_path, "b", range(4), rng=1, shift=1)
    played = rows(b.trials[0].folder)
    played[-1]["episode_reward_batch_mean"] = 3.0
    write_rows(b.trials[0].folder, played)
    b = read_experiment(b.folder)
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
    first = written(tmp_path, "first", range(5), rng=0)
    equal = written(tmp_path, "equal", range(5, 10), rng=1)
    assert not compare([[first], [equal]]).pairs[0].told_apart
    better = written(tmp_path, "better", range(5), {"gamma": 0.9}, shift=15)
    (pair,) = compare([[first], [better]]).pairs
    assert pair.told_apart
    assert pair.mean.low > 0
    same = compare([[better], [better]]).pairs[0]
    assert (same.told_apart, same.needed, same.mean) == (False, None, (0, 0, 0))


def test_several_differences_from_the_first_hold_together(tmp_path):
    sides = [[written(tmp_path, name, range(4), {"gamma": 0.9 + n / 100}, rng=n)] for n, name in enumerate("abcde")]
    assert [pair.confidence for pair in compare(sides).pairs] == pytest.approx([0.9875] * 4)


def test_a_sweeps_configurations_are_sides_of_their_own_and_best_takes_the_best_of_them(tmp_path):
    trials = []
    for gamma in (0.8, 0.9):
        for seed in (0, 1):
            returns = np.arange(-20, -12) + 10 * gamma + seed
            trials.append(({"gamma": gamma, "seed": seed}, returns.tolist(), None))
    sweep = read_experiment(write_experiment(tmp_path, "sweep", "pg", trials))
    assert labels(compare([[sweep]])) == ["sweep: g=0.9", "sweep: g=0.8"]
    other = written(tmp_path, "other", range(2))
    assert labels(compare([[sweep], [other]], best=1)) == ["sweep", "other"]


def test_experiments_joined_by_commas_are_seeds_of_one_configuration(tmp_path):
    for seed in range(3):
        written(tmp_path, f"a{seed}", [seed], rng=seed)
    b = written(tmp_path, "b,c", range(3), {"gamma": 0.9})
    found = compare([read_group(tmp_path, "a0,a1,a2"), read_group(tmp_path, "b,c")])
    assert labels(found) == ["a0 and 2 more", "b,c"]
    assert found.pairs[0].paired
    assert read_group(tmp_path, "b,c")[0].folder == b.folder
    with pytest.raises(ConfigError, match="unknown experiment 'a9'"):
        read_group(tmp_path, "a0,a9")


def test_a_run_that_diverged_counts_with_what_it_reported_and_one_that_ended_early_limits_the_steps(tmp_path):
    a, b = written(tmp_path, "a", range(3)), written(tmp_path, "b", range(3), {"gamma": 0.9})
    diverged = end_early(b.trials[1], episode_score=-21.0, diverged=1.0, done=True)
    with_diverged = compare([[a], [diverged]])
    assert with_diverged.steps == 8000
    assert with_diverged.sides[1].at(8000)[1] == -21.0
    assert with_diverged.sides[1].arrivals(20.0).ended[1] == np.inf
    cut = end_early(b.trials[1], diverged=0.0, done=False)
    assert compare([[a], [cut]]).steps == 3000
    later = compare([[a], [cut]], window=1000, steps=8000)
    assert (later.pairs[0].seeds, later.pairs[0].paired) == ((3, 2), False)
    assert [trial.name for trial in later.left_out] == ["00001_seed=1"]


def test_environments_are_not_compared(tmp_path):
    a = written(tmp_path, "v5", range(3), {"env_id": "ALE/Pong-v5"})
    b = written(tmp_path, "v4", range(3), {"env_id": "PongNoFrameskip-v4"})
    words = r"ALE/Pong-v5 \(an agent step is 4 frames\) against PongNoFrameskip-v4 \(an agent step is 1 frame\)"
    with pytest.raises(ConfigError, match=f"{words}: neither steps nor returns are the same there"):
        compare([[a], [b]])


def test_what_a_fork_has_from_its_start_is_no_arrival_there(tmp_path):
    """A run from scratch whose first games end late came to their score exactly then."""
    fork, scratch = written(tmp_path, "fork", (0, 1)), written(tmp_path, "scratch", (0, 1))
    for trial in [*fork.trials, *scratch.trials]:
        change_rows(trial.folder, episode_reward_batch_mean=-9.0)
    for trial in fork.trials:
        write_rows(trial.folder, rows(trial.folder)[2:])
    for trial in scratch.trials:
        played = rows(trial.folder)
        for row in played[:3]:
            row["episodes_this_iter"] = 0
        write_rows(trial.folder, played)
    sides = compare([[read_experiment(fork.folder)], [read_experiment(scratch.folder)]]).sides
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
        ({"steps": 10}, "--steps 10 lies before the end of the first window of 1,000 agent steps"),
    ],
)
def test_steps_that_nobody_came_to_are_refused(how, message, tmp_path):
    a, b = written(tmp_path, "a", range(2)), written(tmp_path, "b", range(2), {"gamma": 0.9})
    with pytest.raises(ConfigError, match=message):
        compare([[a], [b]], **how)


def test_too_few_and_too_many_configurations_are_refused(tmp_path):
    a = written(tmp_path, "a", range(2))
    empty = read_experiment(write_experiment(tmp_path, "empty", "pg", [({}, [], "running")]))
    with pytest.raises(ConfigError, match="name two experiments, as in compare a OTHER"):
        compare([[a]])
    with pytest.raises(ConfigError, match="empty has no results yet"):
        compare([[a], [empty]])
    with pytest.raises(ConfigError, match="7 configurations: accepted are 2 to 6; --best 1"):
        compare([[a]] * 7)


def test_a_seed_of_which_no_game_ended_is_named_as_left_out(tmp_path):
    a, b = written(tmp_path, "a", range(3)), written(tmp_path, "b", range(3), {"gamma": 0.9})
    change_rows(b.trials[1].folder, episodes_this_iter=0)
    b = read_experiment(b.folder)
    found = compare([[a], [b]])
    assert found.pairs[0].seeds == (3, 2)
    assert [trial.name for trial in found.left_out] == ["00001_seed=1"]
