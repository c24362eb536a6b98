"""The page of a comparison: what it says of two algorithms, and its figures."""

import re

import numpy as np
import pytest

from experiments.analysis.comparison import compare
from experiments.disk.experiments import read_experiment
from experiments.show.comparison_page import comparison_page, curves_figure, verdict
from tests.helpers.written_experiments import table, write_experiment


def write(storage, name, starts, settings=None, seeds=None):
    """An experiment whose seeds' returns begin at ``starts`` and rise by one in each of eight windows."""
    trials = [
        ({**(settings or {}), "seed": seed}, [float(start + i) for i in range(8)], None)
        for seed, start in zip(seeds or range(len(starts)), starts, strict=True)
    ]
    return write_experiment(storage, name, "pg", trials)


@pytest.fixture
def equal(tmp_path):
    """Two experiments of one distribution, of other seeds each."""
    rng = np.random.default_rng(2)
    write(tmp_path, "old", rng.normal(-18, 1, 5))
    write(tmp_path, "new", rng.normal(-18, 1, 5), {"gamma": 0.9}, range(5, 10))
    return tmp_path


def test_two_equal_algorithms_cannot_be_told_apart_and_it_says_how_many_seeds_would_settle_it(equal, run_results):
    status, output, complaint = run_results("compare", "old", "new", "--storage-path", equal)
    assert (status, complaint) == (0, "")
    told = re.search(
        r"old and new cannot be told apart: at 8,000 agent steps the second is (\S+) from the first"
        r" \(95% interval (\S+) to (\S+); 5 and 5 seeds\)\. If it is as large as it looks, (\d+) seeds of each would"
        r" show it with probability 0\.8: (\d+) more\.",
        output,
    )
    difference, low, high, needed, more = map(float, told.groups())
    assert low < 0 < high
    assert difference == pytest.approx((low + high) / 2, abs=0.011)
    assert needed - more == 5
    page = (equal / "old" / "comparison.md").read_text(encoding="utf-8")
    assert "`old` and `new` cannot be told apart" in page
    assert "`gamma`: `0.99` against `0.9`" in page
    html = (equal / "old" / "comparison.html").read_text(encoding="utf-8")
    assert set(re.findall(r'alt="([^"]*)"', html)) == {"curves", "differences"}


def test_the_tables_say_what_the_rows_say(tmp_path):
    """By hand: -20 to -18 against -10 to -8 in the first window, seven more in the last."""
    groups = [
        [read_experiment(write(tmp_path, "old", [-20, -19, -18]))],
        [read_experiment(write(tmp_path, "new", [-10, -9.5, -8], {"gamma": 0.9}))],
    ]
    page = comparison_page(compare(groups), [experiment for group in groups for experiment in group]).text
    assert (
        "`new` is better than `old`: by 9.83 at 8,000 agent steps (95% interval 9.12 to 10.55; 3 and 3 seeds, paired)"
        in page
    )
    sides = table(page, "configuration")
    assert [side["mean return"] for side in sides] == ["-12.00", "-2.17"]
    assert [side["random seeds"] for side in sides] == ["0 1 2", "0 1 2"]
    assert [side["next seed (95% interval)"] for side in sides] == ["-17.0 to -7.0", "-7.3 to 3.0"]
    assert verdict(compare(groups[::-1]).pairs[0], 8000) == verdict(compare(groups).pairs[0], 8000)
    (pair,) = table(page.partition("next seed (95% interval) |")[2], "configuration")
    assert pair["difference of means"].startswith("+9.83 (+9.12 to +10.55)")
    assert pair["probability of improvement"].startswith("1.00 (")
    steps = table(page.partition("## Steps to a score")[2], "configuration")
    # old: -15 after 4, 5 and 6 windows; -10 never. new: -5 after 4, 6 and 6 windows.
    assert [row["-15"] for row in steps] == ["5000 (3 of 3)", "1000 (3 of 3)"]
    assert [row["-5"] for row in steps] == ["> 8000 (0 of 3)", "6000 (3 of 3)"]


def test_of_two_learners_the_settings_of_one_alone_stand_at_the_end(tmp_path):
    groups = []
    for learner, gamma in (("pg", 0.99), ("trpo", 0.9)):
        trials = [({"gamma": gamma}, [-20.0, -19], None)]
        groups.append([read_experiment(write_experiment(tmp_path, learner, learner, trials))])
    page = comparison_page(compare(groups), [experiment for group in groups for experiment in group]).text
    first, _, end = page.partition("## Learning curves")
    assert "- `gamma`: `0.99` against `0.9`\n" in first
    assert re.search(r"- learner: `pg` against `trpo`, with \d\d settings not all have \(below\)", first)
    assert "clip" not in first
    assert re.search(r"- `trpo`: .*`max_kl=", end.partition("## Settings of one learner alone")[2])
    assert "none" not in page


def test_the_same_runs_twice_are_said_to_be_the_same(tmp_path):
    group = [read_experiment(write(tmp_path, "old", [-20, -15]))]
    (pair,) = compare([group, group]).pairs
    assert verdict(pair, 8000).endswith("there is none, and more of them would hardly find one.")


def test_one_seed_does_not_say_how_much_is_luck(tmp_path):
    groups = [[read_experiment(write(tmp_path, name, [start]))] for name, start in (("old", -20), ("new", 10))]
    found = compare(groups)
    assert "old and new cannot be told apart with one seed" in verdict(found.pairs[0], found.steps)
    page = comparison_page(found, groups[0]).text
    (pair,) = table(page.partition("next seed (95% interval) |")[2], "configuration")
    assert (pair["difference of means"], pair["probability of improvement"]) == ("+30.00", "\N{EN DASH}")
    above, below = curves_figure(found).axes
    assert above.get_ylabel() == below.get_ylabel() == f"mean return in windows\nof {found.window:,} agent steps"


def test_several_are_compared_with_the_first(tmp_path):
    groups = [
        [read_experiment(write(tmp_path, f"e{n}", [-20 + 5 * n, -19 + 5 * n, -17 + 5 * n], {"gamma": 0.9 + n / 100}))]
        for n in range(3)
    ]
    page = comparison_page(compare(groups), groups[0]).text
    assert "`e1` is better than `e0`" in page
    assert "`e2` is better than `e0`" in page
    assert "intervals of 97.5%" in page
    assert "(97.5% interval" in page


def test_more_seeds_than_there_are_would_settle_it(tmp_path):
    groups = [
        [read_experiment(write(tmp_path, "old", [-20, -20]))],
        [read_experiment(write(tmp_path, "new", [-15, -14], {"gamma": 0.9}, (5, 6)))],
    ]
    (pair,) = compare(groups).pairs
    assert (pair.told_apart, pair.needed) == (False, 2)
    assert "3 seeds of each would show it with probability 0.8: 1 more." in verdict(pair, 8000)


def test_runs_of_a_single_window_are_points(tmp_path):
    groups = []
    for name, gamma in (("old", 0.99), ("new", 0.9)):
        trials = [({"seed": seed, "gamma": gamma}, [-20.0 + seed], None) for seed in range(2)]
        groups.append([read_experiment(write_experiment(tmp_path, name, "pg", trials))])
    path = groups[1][0].trials[0].folder / "result.json"
    path.write_text(path.read_text().replace('"time_total_s": 2.0', '"time_total_s": 1.3'))
    groups[1] = [read_experiment(groups[1][0].folder)]
    for axes in curves_figure(compare(groups, window=1000)).axes:
        seeds = [line for line in axes.lines if line.get_linewidth() == 0.7]
        points = [np.isfinite(np.asarray(line.get_ydata(), float)).sum() for line in seeds]
        assert (points, [line.get_marker() for line in seeds]) == ([1] * 4, ["o"] * 4)
