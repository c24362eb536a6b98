"""The figures of a comparison: learning curves with bands over steps and over time, and differences over steps."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.read.comparison import Comparison, Pair, Side
from experiments.read.statistics import mean_interval
from experiments.show.figures import (
    COLOURS,
    GRID_POINTS,
    INK,
    STYLE,
    draw_band,
    label_steps,
    label_time,
    legend_below,
    new_figure,
)


def curves_figure(comparison: Comparison, labels: Sequence[str]) -> Figure:
    """Mean returns in windows: over agent steps, as far as they are compared, and below over wall-clock time."""
    with mpl.rc_context(STYLE):
        figure = new_figure(5.6)
        above, below = figure.subplots(2, sharey=True)
        for side, label, colour in zip(comparison.sides, labels, COLOURS, strict=False):
            over_steps = [curve.returns_at(comparison.steps_k) for curve in side.curves]
            _draw(above, comparison.steps_k, np.array(over_steps), colour, f"{label}, {_seeds(side)}")
            _draw(below, *_over_time(side, comparison.steps), colour, None)
        label_steps(above)
        label_time(below)
        for axes in (above, below):
            axes.set_xlim(left=0)
            axes.set_ylabel("mean return in a window")
        legend_below(figure)
    return figure


def differences_figure(comparison: Comparison, labels: Sequence[str]) -> Figure:
    """How much higher the mean returns of the other sides are than the first one's, over agent steps."""
    with mpl.rc_context(STYLE):
        figure = new_figure(3.2)
        axes = figure.add_subplot()
        axes.axhline(0, color=INK, linewidth=1)
        for pair, label, colour in zip(comparison.pairs, labels[1:], COLOURS[1:], strict=False):
            _draw_difference(axes, pair, f"{label} \N{MINUS SIGN} {labels[0]}", colour)
        label_steps(axes)
        axes.set_xlim(left=0)
        axes.set_ylabel("difference of mean returns")
        legend_below(figure)
    return figure


def _seeds(side: Side) -> str:
    count = len(side.curves)
    return "1 seed" if count == 1 else f"{count} seeds"


def _over_time(side: Side, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Common seconds of training (k,), and every seed's mean return then (n, k), NaN where it has none."""
    times = [curve.windows.seconds_w[curve.windows.end_w <= steps] for curve in side.curves]
    returns = [curve.windows.known_w[: len(time)] for curve, time in zip(side.curves, times, strict=True)]
    longest = max((time[-1] for time in times if len(time)), default=0.0)
    grid = np.unique(np.concatenate([np.linspace(0, longest, GRID_POINTS), *times]))  # with a single window's end
    samples = [
        np.interp(grid, time, value, left=np.nan, right=np.nan) if len(time) else np.full(len(grid), np.nan)
        for time, value in zip(times, returns, strict=True)
    ]
    return grid, np.array(samples)


def _draw(axes: Axes, x: np.ndarray, samples: np.ndarray, colour: str, label: str | None) -> None:
    """Seeds (n, k) as thin lines; their mean as a thick one, in its band, where all of them have a return."""
    for sample in samples:
        axes.plot(x, sample, color=colour, linewidth=0.7, alpha=0.45, marker=_marker(sample))
    mean = samples.mean(axis=0)
    axes.plot(x, mean, color=colour, linewidth=2, marker=_marker(mean), label=label)
    if len(samples) > 1:
        draw_band(axes, x, *mean_interval(samples), colour)


def _marker(y: np.ndarray) -> str | None:
    """Of a curve that is a single point, which no line shows."""
    return "o" if np.isfinite(y).sum() == 1 else None


def _draw_difference(axes: Axes, pair: Pair, label: str, colour: str) -> None:
    axes.plot(pair.steps_k, pair.mean_k, color=colour, linewidth=2, marker=_marker(pair.mean_k), label=label)
    axes.fill_between(pair.steps_k, pair.low_k, pair.high_k, color=colour, alpha=0.2, linewidth=0)
