"""Learning curves of several seeds."""

import json

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from experiments.analysis.configurations import by_configuration
from experiments.disk.decisions import Decision, write_decisions
from experiments.disk.experiments import read_experiment
from experiments.show.figures import diagnostics_figures, draw_band, learning_curves, mean_curve
from tests.helpers.trials import CARTPOLE
from tests.helpers.written_experiments import write_experiment


def test_the_mean_curve_is_the_mean_where_all_seeds_have_results():
    short, long = (np.array([0.0, 10]), np.array([-20.0, -10])), (np.array([5.0, 20]), np.array([-20.0, -5]))
    grid, mean, low, high = mean_curve([short, long])
    assert (grid[0], grid[-1]) == (5, 10)
    np.testing.assert_allclose(mean, [(-20 + x + -25 + x) / 2 for x in grid])
    assert all((low <= mean) & (mean <= high))
    assert mean_curve([short, (np.array([11.0, 12]), np.array([0.0, 0]))]) is None


def test_a_wide_band_does_not_scale_the_axes():
    """A band of two seeds is far wider than their returns, and fixed axes cut off whatever was drawn next."""
    axes = Figure().add_subplot()
    x = np.array([0.0, 1.0, 2.0])
    axes.plot(x, [-20, -19, -18])
    draw_band(axes, x, np.array([np.nan, -100, -100]), np.array([np.nan, 100, 100]), "red")
    axes.plot(x, [-10, 0, 5])
    low, high = axes.get_ylim()
    assert -25 < low < -20
    assert 5 < high < 10


def test_the_axes_make_some_room_for_a_band():
    axes = Figure().add_subplot()
    x = np.array([0.0, 1.0])
    axes.plot(x, [0, 10])
    draw_band(axes, x, np.array([-1.0, 8]), np.array([1.0, 12]), "red")
    low, high = axes.get_ylim()
    assert (low <= -1, high >= 12) == (True, True)


def test_evaluations_of_trials_that_were_evaluated_once_are_left_out_and_the_best_one_s_have_an_interval(tmp_path):
    trials = [({}, [-20, -9.0], None), ({"gamma": 0.9}, [-20], None)]
    folder = write_experiment(tmp_path, "some", "pg", trials)
    for path in folder.glob("*/result.json"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            row["eval/iteration"] = row["training_iteration"]
            for end, value in (("mean", 0.0), ("ci95_low", -1.0), ("ci95_high", 1.0)):
                row[f"eval/return_sampled_{end}"] = row["episode_score"] + value
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = by_configuration([read_experiment(folder)])
    (axes,) = diagnostics_figures(found, ["best", "other"])["pg_eval_return_sampled_mean"].axes
    assert [[*line.get_ydata()] for line in axes.lines] == [[-20, -9]]
    (band,) = axes.collections
    assert {*band.get_paths()[0].vertices[:, 1]} == {-21, -19, -10, -8}
    for path in folder.glob("*/result.json"):
        path.write_text(path.read_text().splitlines()[0] + "\n")
    all_once = by_configuration([read_experiment(folder)])
    assert not diagnostics_figures(all_once, ["best", "other"]), "dots at the first iteration, where all are alike"


def _room(figure):
    """Where the axes and the legend lie in a figure, and the lines of its legend."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (legend,), (axes,) = figure.legends, figure.axes
    return axes.get_window_extent().height, legend.get_window_extent(), [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize(
    ("learner", "settings", "words"),
    [
        ("pg", {}, "4 frames"),
        ("pg", {"env_id": "PongNoFrameskip-v4"}, "1 frame"),
        ("trpo", CARTPOLE, "a step of the environment"),
    ],
)
def test_the_axis_says_what_an_agent_step_is_in_these_runs(learner, settings, words, tmp_path):
    found = by_configuration([read_experiment(write_experiment(tmp_path, "a", learner, [(settings, [-20.0], None)]))])
    (axes,) = learning_curves(found, ["a"], "timesteps_total").axes
    assert axes.get_xlabel() == f"agent steps ({words} each)"


@pytest.mark.parametrize("settings", [5, 12])
def test_a_long_label_is_whole_within_its_figure(settings, tmp_path):
    trials = [({"seed": seed}, [-20.0, -15.0], None) for seed in (1, 2, 3)]
    found = by_configuration([read_experiment(write_experiment(tmp_path, "a", "pg", trials))])
    height, *_ = _room(learning_curves(found, ["short"], "timesteps_total"))
    long = " ".join(["hidden_sizes=128-128"] * settings)
    figure = learning_curves(found, [long], "timesteps_total")
    height_beside_long, legend, names = _room(figure)
    assert " ".join(names[0].split()) == f"{long}, mean of 3 seeds"
    assert legend.x0 >= 0
    assert legend.x1 <= figure.bbox.width
    assert legend.y0 >= 0
    assert height_beside_long > height - 5


def test_a_trial_that_halving_stopped_earlier_is_drawn_and_in_no_mean(tmp_path):
    trials = [({"seed": 0}, [-20, -19], "running"), ({"seed": 1}, [-20, -18, 9.0], "running")]
    record = {"scheduler": "halving", "rungs": [2, 10]}
    folder = write_experiment(tmp_path, "halved", "pg", trials, **record)
    write_decisions(folder, [Decision(at=2, scores=[-19.0, -18.0], kept=[1])])
    (axes,) = learning_curves(by_configuration([read_experiment(folder)]), ["a"], "timesteps_total").axes
    assert [list(line.get_ydata()) for line in axes.lines] == [[-20, -19], [-20, -18, 9]]
    assert not axes.collections, "one trial has no band"


def test_an_evaluation_is_one_point_though_rows_repeat_it(tmp_path):
    folder = write_experiment(tmp_path, "some", "pg", [({}, [-20, -19, -18], "running")])
    result = next(folder.glob("*/result.json"))
    rows = [json.loads(line) for line in result.read_text().splitlines()]
    for row, (after, value) in zip(rows, [(1, -20.0), (1, -20.0), (3, -9.0)], strict=True):
        row |= {"eval/iteration": after, "eval/return_sampled_mean": value}
    result.write_text("".join(json.dumps(row) + "\n" for row in rows))
    configurations = by_configuration([read_experiment(folder)])
    (axes,) = learning_curves(configurations, ["a"], metric="eval/return_sampled_mean").axes
    assert [(*line.get_xdata(), *line.get_ydata()) for line in axes.lines] == [(1000, 3000, -20, -9)]
