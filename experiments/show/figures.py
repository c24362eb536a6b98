"""Learning curves, and the style that all figures share: Okabe and Ito's colours, which everybody can tell apart.

A page's figures are drawn and saved within ``styled``: some of its settings count only as figures are saved.
"""

import contextlib
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator, MultipleLocator

from experiments.analysis.configurations import Configuration
from experiments.analysis.statistics import mean_interval
from experiments.disk.trial import Trial
from experiments.show.page import BLUE, GREY, GRID, INK
from experiments.show.tables import Speed
from trainables.metrics import METRIC
from trainables.sampling.console import agent_step, is_pong
from trainables.texts import counted

COLOURS = (BLUE, "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
WIDTH = 6.2  # inches; two figures fit side by side on a screen
RETURN = "score: mean return of latest games"
GRID_POINTS = 200  # points of a curve that is a mean over seeds, whose rows are at different places
SEED_WIDTH, SEED_ALPHA = 0.7, 0.45  # of a seed's line beside others
LEGEND_LETTERS = 70  # of a line; as many as fit into the width
LEGEND_LINE = 0.21  # inches from line to line

BAND_ROOM = 0.25
"""How far a band widens the axes at most, as a share of the heights of the curves: with few seeds bands are wide."""

GAMES_BAND_ROOM = 20.0
"""The same of intervals of an evaluation's games, which end where returns of Pong do."""

DIAGNOSTICS = {
    "eval/return_sampled_mean": "evaluations, actions sampled",
    "eval/return_greedy_mean": "evaluations, most probable actions",
    "steps_per_point": "agent steps a point",
    "strokes_per_point": "returns of the ball a point",
    "policy/entropy": "entropy of the policy (nats)",
    "policy/kl": "KL divergence of an update (nats)",
    "value/explained_variance": "explained variance of the value",
    "value/explained_variance_before": "explained variance of the baseline",
}
"""Metrics that are drawn over agent steps, as far as they were recorded, and the titles of their axes."""

OF_PONG = {"steps_per_point", "strokes_per_point"}
"""Those that say something of Pong alone: other environments have rewards for points, and no ball."""

Band = tuple[np.ndarray, np.ndarray, np.ndarray]
"""An interval along a curve: x, and the lower and the upper end there, each (k,)."""

STYLE: Any = {
    "font.size": 10.5,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": True,
    "grid.color": GRID,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "text.parse_math": False,  # a $ in a setting is a $
    "svg.hashsalt": "pong",  # the same data give the same file
}


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Within it figures have our ``STYLE``, and matplotlib's defaults for all else, whatever a matplotlibrc sets."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure; its size is in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def learning_curves(
    configurations: Sequence[Configuration],
    labels: Sequence[str],
    x: str = "timesteps_total",
    metric: str = METRIC,
    title: str = RETURN,
    legend: bool = True,
    bands: bool = True,
    first_colour: int = 0,
    fewest: int = 1,
) -> Figure:
    """A metric, the return if no other is named, against ``x``: agent steps or time (``time_total_s``).

    Each seed is a thin line; the mean of several is a thick one in a 95% band. The first configurations have colours
    from ``COLOURS[first_colour]`` on, so put the best ones first; the others are grey. All are of one environment. A
    seed with fewer points than ``fewest`` is left out.
    """
    others = len(configurations) - len(COLOURS)
    figure = new_figure(3.2)
    axes = figure.add_subplot()
    if others > 0 and legend:
        axes.plot([], color=GREY, label=counted(others, "other configuration"))
    colours = colours_from(first_colour)
    found = []
    # The best configuration is drawn last, above all others, so the legend has the reverse order.
    for index in reversed(range(len(configurations))):
        colour, label = GREY, ""
        if index < len(colours):
            colour, label = colours[index], labels[index]
        band = _draw(axes, configurations[index], x, metric, colour, label, fewest)
        if bands and band:
            found.append((band, colour))
    # Bands come after all curves, since the axes make room for them by the heights of the curves.
    for (x_k, low_k, high_k), colour in found:
        draw_band(axes, x_k, low_k, high_k, colour)
    if x == "timesteps_total":
        label_steps(axes, configurations[0].env_id)
    else:
        label_time(axes)
    axes.set_xlim(left=0)
    axes.set_ylabel(title)
    if legend:
        legend_below(figure, reverse=True)
    return figure


def colours_from(first: int) -> list[str]:
    """All colours, beginning with the one of this index."""
    first %= len(COLOURS)
    return [*COLOURS[first:], *COLOURS[:first]]


def diagnostics_figures(
    configurations: Sequence[Configuration], labels: Sequence[str], first_colour: int = 0
) -> dict[str, Figure]:
    """Figures of ``DIAGNOSTICS`` over agent steps, by name, of what was recorded; colours as in ``learning_curves``.

    Evaluations of the best configuration, the first, stand in the 95% interval of their games, if it has one seed.
    Trials that were evaluated once are left out: that was after their first iteration, where all are alike.
    """
    recorded: set[str] = set()
    for configuration in configurations:
        for trial in configuration.judged_by:
            recorded.update(trial.rows[-1])
    if not is_pong(configurations[0].env_id):
        recorded -= OF_PONG
    figures = {}
    for metric, title in DIAGNOSTICS.items():
        if metric not in recorded:
            continue
        fewest = 1
        if metric.startswith("eval/"):
            if not _evaluated_twice(configurations, metric):
                continue
            fewest = 2
        figure = learning_curves(
            configurations,
            labels,
            metric=metric,
            title=title,
            legend=False,
            bands=False,
            first_colour=first_colour,
            fewest=fewest,
        )
        best = configurations[0].judged_by
        if metric.startswith("eval/") and len(best) == 1:
            _draw_games_interval(figure.axes[0], best[0], metric, colours_from(first_colour)[0])
        figures[f"{configurations[0].learner}_{metric.replace('/', '_')}"] = figure
    return figures


def _evaluated_twice(configurations: Sequence[Configuration], metric: str) -> bool:
    """Whether a trial of these has two values of a metric of evaluations."""
    for configuration in configurations:
        for trial in configuration.all_trials:
            if len(_curve(trial, "timesteps_total", metric)[0]) > 1:
                return True
    return False


def _draw_games_interval(axes: Axes, trial: Trial, metric: str, colour: str) -> None:
    """Draw the 95% interval of an evaluation's games around the trial's mean returns; nothing without one."""
    x_n, low_n = _curve(trial, "timesteps_total", metric.replace("_mean", "_ci95_low"))
    _, high_n = _curve(trial, "timesteps_total", metric.replace("_mean", "_ci95_high"))
    if len(x_n) > 1 and len(low_n) == len(high_n):
        draw_band(axes, x_n, low_n, high_n, colour, most=GAMES_BAND_ROOM)


def legend_figure(configurations: Sequence[Configuration], labels: Sequence[str], first_colour: int = 0) -> Figure:
    """The legend of several figures of the same configurations, by itself."""
    handles = []
    for label, colour in zip(labels[: len(COLOURS)], colours_from(first_colour), strict=False):
        handles.append(Line2D([], [], color=colour, label=_in_lines(label)))
    others = len(configurations) - len(COLOURS)
    if others > 0:
        handles.append(Line2D([], [], color=GREY, label=counted(others, "other configuration")))
    lines = 0
    for handle in handles:
        lines += str(handle.get_label()).count("\n") + 1
    figure = Figure(figsize=(WIDTH, 0.2 + LEGEND_LINE * lines))
    figure.legend(handles=handles, loc="center left")
    return figure


def _in_lines(label: str) -> str:
    """A label of a legend; one that is too wide takes several lines."""
    return textwrap.fill(label, LEGEND_LETTERS, break_on_hyphens=False)


def legend_below(figure: Figure, reverse: bool = False) -> None:
    """Draw a legend of all axes below them, for which the figure grows."""
    handles, names, lines = [], [], 0
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            name = _in_lines(label)
            handles.append(handle)
            names.append(name)
            lines += name.count("\n") + 1
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE * lines)
    figure.legend(handles, names, loc="outside lower left", reverse=reverse)


def label_steps(axes: Axes, env_id: str) -> None:
    """Label the x axis as agent steps of an environment."""
    axes.set_xlabel(f"agent steps ({agent_step(env_id)} each)")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def label_time(axes: Axes) -> None:
    """Label the x axis, which is in seconds, in the unit that suits what is drawn."""
    longest = axes.get_xlim()[1]
    unit, seconds = "s", 1
    if longest > 2 * 3600:
        unit, seconds = "h", 3600
    elif longest > 2 * 60:
        unit, seconds = "min", 60
    axes.set_xlabel(f"wall-clock time of training ({unit})")
    ticks = MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(0, longest / seconds)
    step = ticks[1]  # The first tick is 0.
    axes.xaxis.set_major_locator(MultipleLocator(seconds * step))
    axes.xaxis.set_major_formatter(lambda x, _: f"{x / seconds:g}")


def _draw(
    axes: Axes, configuration: Configuration, x: str, metric: str, colour: str, label: str, fewest: int
) -> Band | None:
    """Draw the seeds of ``fewest`` points or more, and their mean; return the mean's interval, where there is one.

    With an empty ``label`` nothing is in the legend.
    """
    for trial in configuration.stopped:
        x_n, y_n = _curve(trial, x, metric)
        if len(x_n) >= fewest:
            _draw_seed(axes, x_n, y_n, color=colour, linewidth=SEED_WIDTH, alpha=SEED_ALPHA)
    curves = []
    for trial in configuration.trials:
        x_n, y_n = _curve(trial, x, metric)
        if len(x_n) >= fewest:
            curves.append((x_n, y_n))
    if not curves:
        return None
    if len(curves) == 1:
        x_n, y_n = curves[0]
        _draw_seed(axes, x_n, y_n, color=colour, linewidth=1.6, label=label)
        return None
    for x_n, y_n in curves:
        _draw_seed(axes, x_n, y_n, color=colour, linewidth=SEED_WIDTH, alpha=SEED_ALPHA)
    return _draw_mean(axes, curves, colour, label)


def _draw_seed(axes: Axes, x_n: np.ndarray, y_n: np.ndarray, **style: Any) -> None:
    """Draw a curve, or its only point."""
    axes.plot(x_n, y_n, marker="o" if len(x_n) == 1 else None, **style)


def _draw_mean(axes: Axes, curves: Sequence[tuple[np.ndarray, np.ndarray]], colour: str, label: str) -> Band | None:
    """Draw the mean of several seeds' curves where these overlap in x, and return its interval.

    Where they do not, the legend alone has the label, beside the colour of the seeds.
    """
    found = mean_curve(curves)
    if found is None:
        if label:
            label += f", {len(curves)} seeds"
        axes.plot([], color=colour, linewidth=SEED_WIDTH, label=label)
        return None
    if label:
        label += f", mean of {len(curves)} seeds"
    grid, mean, low, high = found
    axes.plot(grid, mean, color=colour, linewidth=2, label=label)
    return grid, low, high


def _curve(trial: Trial, x: str, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """A trial's curve of a metric: x and y (n,) of the rows that have both.

    An evaluation is one point, though the rows after it repeat it.
    """
    x_n, y_n = trial.curve(x), trial.curve(metric)
    there = np.isfinite(x_n) & np.isfinite(y_n)
    if metric.startswith("eval/"):
        there &= trial.curve("eval/iteration") == trial.curve("training_iteration")
    return x_n[there], y_n[there]


def draw_band(
    axes: Axes, x: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str, most: float = BAND_ROOM
) -> None:
    """Draw the area between two curves (k,). It widens the axes, and may reach beyond them.

    The curves are drawn already. Above and below them the axes get room of ``most`` times their height at most.
    """
    low, high = np.ma.masked_invalid(low), np.ma.masked_invalid(high)
    band = FillBetweenPolyCollection("x", x, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.add_collection(band, autolim=False)
    below, above = axes.dataLim.intervaly
    room = most * (above - below)
    if np.isfinite(room) and low.count():
        ends = np.array([[x[0], max(low.min(), below - room)], [x[0], min(high.max(), above + room)]])
        axes.update_datalim(ends, updatex=False)
        axes.autoscale_view()


def mean_curve(curves: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, ...] | None:
    """Mean and 95% interval of several seeds' curves, each (x_n, y_n), where all of them have results.

    Returns the common x (k,), the mean (k,), and the ends of the interval; None if the curves have nothing in common.
    """
    start = max(x_n[0] for x_n, _ in curves)
    end = min(x_n[-1] for x_n, _ in curves)
    if not start < end:
        return None
    grid = np.linspace(start, end, GRID_POINTS)
    samples = np.array([np.interp(grid, x_n, y_n) for x_n, y_n in curves])
    low, high = mean_interval(samples)
    return grid, samples.mean(axis=0), low, high


def speed_figure(found: Sequence[Speed]) -> Figure:
    """Agent steps per second against workers: of trials, their means and linear speed-up."""
    workers = [speed.workers for speed in found]
    figure = new_figure(3.4)
    axes = figure.add_subplot()
    linear = np.array(workers) * found[0].steps_per_s / workers[0]
    axes.plot(workers, linear, "--", color=GREY, label="linear speed-up")
    means = [speed.steps_per_s for speed in found]
    axes.plot(workers, means, "-", color=COLOURS[1], linewidth=2, label="mean, with its parallel efficiency")
    x: list[int] = []
    y: list[float] = []
    for speed in found:
        x += [speed.workers] * len(speed.rates)
        y += speed.rates
    label = "trial (median of its iterations)"
    axes.plot(x, y, "o", color=COLOURS[0], alpha=0.65, markeredgewidth=0, label=label)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    for speed in found[1:]:
        text = f"{speed.efficiency:.0%}"
        point = (speed.workers, speed.steps_per_s)
        axes.annotate(text, point, (0, -24), textcoords="offset points", ha="center", color=INK, bbox=box)
    axes.set_xticks(workers)
    axes.margins(x=0.08)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel("rollout workers")
    axes.set_ylabel("agent steps per second")
    axes.legend(loc="upper left")
    return figure
