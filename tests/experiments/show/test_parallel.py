"""Parallel coordinates: where trials cross the axes, and which lines are thick or dashed."""

import json

import numpy as np
import pytest
from matplotlib.patches import PathPatch

from experiments.read.experiments import read_experiment
from experiments.record.decisions import Decision, write_decisions
from experiments.show.parallel import parallel_figure, setting_scale
from experiments.show.report import report
from tests.helpers.written_experiments import write_experiment


def lines_of(figure):
    """Ends (at the return's axis) of the lines, their widths and whether they are dashed, in the order of drawing."""
    patches = [patch for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]
    return [(p.get_path().vertices[-1][1], p.get_linewidth(), p.get_linestyle() != "-") for p in patches]


def test_a_range_is_linear_or_logarithmic_and_its_ends_are_labelled():
    scale = setting_scale([1e-4, 1e-3, 1e-2], np.arange(3))
    np.testing.assert_allclose(scale.height_n, [0, 0.5, 1])
    assert [label for _, label in scale.ticks] == ["1e-4", "2e-4", "5e-4", "1e-3", "2e-3", "5e-3", "0.01"]
    scale = setting_scale([0.90, 0.95, 0.98], np.arange(3))
    np.testing.assert_allclose(scale.height_n, [0, 0.625, 1])
    assert [label for _, label in scale.ticks][:: len(scale.ticks) - 1] == ["0.9", "0.98"]
    assert setting_scale([-3.0, 1.0], np.arange(2)).ticks[0] == (0, "\N{MINUS SIGN}3")


def test_trials_with_the_same_choice_cross_beside_each_other_the_best_above():
    values = ["64-64", "128-128", "64-64", "32-32", "64-64", "32-32"]
    order_n = np.array([2, 0, 5, 1, 3, 4])
    scale = setting_scale(values, order_n)
    assert [label for _, label in scale.ticks] == ["32-32", "64-64", "128-128"]
    middle = scale.height_n[[0, 4, 2]]
    assert (np.diff(middle) > 0).all()
    assert middle[1] == pytest.approx(0.5)
    assert np.ptp(middle) < 0.1
    assert setting_scale(["a"] * 3, np.arange(3)).ticks == [(0.5, "a")]
    assert len(setting_scale([f"{i}" for i in range(30)] * 2, np.arange(60)).ticks) <= 12


def test_whoever_went_further_is_thick_and_whoever_has_fewer_steps_is_dashed(tmp_path):
    trials = [
        ({"gamma": 0.9 + i / 100, "seed": i}, [-20, -15.0 + i] + ([-19.0] if i == 2 else []), "running")
        for i in range(6)
    ]
    trials[2] = (*trials[2][:2], None)
    record = {"scheduler": "halving", "rungs": [2000, 3000], "timesteps": 3000, "iterations": None}
    folder = write_experiment(tmp_path, "halved", "pg", trials, **record)
    write_decisions(folder, [Decision(at=2000, scores=[-15.0 + i for i in range(6)], kept=[2])])
    lines = lines_of(parallel_figure(read_experiment(folder).trials, ["gamma"]))
    assert [width == 3 for _, width, _ in lines] == [False] * 4 + [True] * 2, "a third of six is thick"
    assert [dashed for *_, dashed in lines] == [True] * 5 + [False]
    assert lines[-1][0] == 0, "its return is the lowest"
    assert lines[-2][0] == 1


def test_equal_returns_are_drawn_in_the_middle(tmp_path):
    folder = write_experiment(tmp_path, "flat", "pg", [({"seed": i}, [-21.0], None) for i in range(4)])
    assert {height for height, *_ in lines_of(parallel_figure(read_experiment(folder).trials, ["gamma"]))} == {0.5}


@pytest.mark.parametrize(("trials", "scheduler", "said"), [(9, "fifo", "9 of the 20"), (24, "pbt", "settings changed")])
def test_a_report_says_why_it_does_not_say_how_important_settings_are(tmp_path, trials, scheduler, said):
    page = report([read_experiment(sweep(tmp_path, trials, scheduler=scheduler))])
    assert f"How important each setting is cannot be said: {said}" in page.text
    assert "pg_importance.svg" not in page.pictures
    assert "pg_parallel_coordinates.svg" in page.pictures


def test_a_report_of_twenty_trials_says_how_important_settings_are_but_not_what_changes_speed_only(tmp_path):
    page = report([read_experiment(sweep(tmp_path, 20))])
    assert "after 2,000 agent steps, that it explains by itself" in page.text
    importance = page.pictures["pg_importance.svg"].decode()
    parallel = page.pictures["pg_parallel_coordinates.svg"].decode()
    for picture in (importance, parallel):
        assert "<!-- gamma -->" in picture
        assert "num_workers" not in picture
    assert "num_workers" in page.pictures["pg_effects.svg"].decode()


def test_a_reports_figures_of_one_setting_and_of_three_trials_are_its_effects(tmp_path):
    one = [({"gamma": 0.9 + i / 100, "seed": i}, [-20.0, -19.0 + i], None) for i in range(5)]
    for name, trials in (("one", one), ("three", [settings_of(i) for i in range(3)])):
        page = report([read_experiment(write_experiment(tmp_path, name, "pg", trials))])
        assert "pg_effects.svg" in page.pictures
        assert "pg_parallel_coordinates.svg" not in page.pictures


def settings_of(i):
    config = {"gamma": 0.9 + i / 1000, "hidden_size": [50, 100][i % 2], "num_workers": 1 + i % 3, "seed": i}
    return config, [-20.0, -20.0 + i], None


def sweep(tmp_path, trials, **record):
    return write_experiment(tmp_path, "sweep", "pg", [settings_of(i) for i in range(trials)], **record)


@pytest.mark.parametrize(
    "values", [[(-1) ** i * 1e308 for i in range(24)], [10.0 ** (25 * i - 300) for i in range(24)]]
)
def test_settings_that_no_axis_can_hold_end_no_report(tmp_path, values):
    folder = sweep(tmp_path, 24)
    for path, value in zip(sorted(folder.glob("0*/params.json")), values, strict=True):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"extra": value}))
    assert "pg_parallel_coordinates.svg" in report([read_experiment(folder)]).pictures


def test_a_failed_trial_is_not_drawn_as_the_best(tmp_path):
    trials = [({"gamma": 0.9 + i / 100, "seed": i}, [-20, -15.0 + i], "running") for i in range(4)]
    trials[3] = (*trials[3][:2], "RuntimeError: no luck")
    lines = lines_of(parallel_figure(read_experiment(write_experiment(tmp_path, "a", "pg", trials)).trials, ["gamma"]))
    assert [width == 3 for _, width, _ in lines] == [False] * 3 + [True]
    assert lines[-1][0] == pytest.approx(2 / 3), "the highest return, which failed, is at 1"
