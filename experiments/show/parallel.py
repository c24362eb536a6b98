"""Parallel coordinates (Inselberg 1985): each trial a line through its settings to its return."""

import re
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import LogLocator, MaxNLocator

from experiments.ask.words import short
from experiments.read.trial import Trial
from experiments.show.figures import INK, STYLE, new_figure
from experiments.show.settings import in_order, is_logarithmic, is_range
from trainables.texts import printable

MAX_AXES = 8
"""Settings in a figure."""

MIN_TRIALS = 4

DASHES = (0, (3.5, 1.8))

WIDE = 9.4
"""Inches; report.html shows such a figure as wide as it is."""

BEST = 3
"""Trials with thick lines."""


class Scale(NamedTuple):
    """Where each trial crosses an axis, and the axis's labels. Heights are from 0 to 1."""

    height_n: np.ndarray
    ticks: list[tuple[float, str]]


def colours() -> Colormap:
    """From low returns, light, to high ones, dark: the best stand out on white paper."""
    shades = mpl.colormaps["viridis_r"](np.linspace(0.1, 1, 64))
    return LinearSegmentedColormap.from_list("returns", [tuple(map(float, shade)) for shade in shades])


def is_early(trial: Trial, furthest: int) -> bool:
    """Whether the trial's latest return is of fewer agent steps than another's, because it did not play to its end."""
    return trial.state != "finished" and trial.rows[-1]["timesteps_total"] < furthest


def parallel_figure(trials: Sequence[Trial], names: Sequence[str]) -> Figure:
    """Trials that have a return, through the settings ``names`` to their latest returns."""
    furthest = max(trial.rows[-1]["timesteps_total"] for trial in trials)
    # The best last: lines that come later lie above others. Under halving who went further is better; failed is not.
    trials = sorted(trials, key=lambda t: (t.state != "failed", t.rung, t.state == "finished", t.last))
    last_n = np.array([trial.last for trial in trials])
    order_n = np.argsort(np.argsort(last_n, kind="stable"))
    scales = [setting_scale([trial.config.get(name) for trial in trials], order_n) for name in names]
    scales.append(_scale(last_n, logarithmic=False))
    best = min(BEST, max(1, len(trials) // 3))
    with mpl.rc_context(STYLE):
        figure = new_figure(3.9, WIDE)
        axes = figure.add_subplot()
        shades = colours()(scales[-1].height_n)
        for index, trial in enumerate(trials):
            thick = index >= len(trials) - best
            early = is_early(trial, furthest)
            _draw_line(axes, [scale.height_n[index] for scale in scales], shades[index], thick, early, len(trials))
        _draw_axes(axes, [*names, "latest return"], scales)
        early_ones = sum(is_early(trial, furthest) for trial in trials)
        _draw_legend(figure, best, early_ones, len(trials))
    return figure


def setting_scale(values: Sequence[Any], order_n: np.ndarray) -> Scale:
    """A setting's axis. Trials with the same choice cross it beside each other, in the order ``order_n`` (n,)."""
    if is_range(values):
        return _scale(np.array(values, float), is_logarithmic(values))
    choices = in_order(values)
    centres = np.linspace(0.06, 0.94, len(choices)) if len(choices) > 1 else np.array([0.5])
    room = min(0.09, 0.6 / max(len(choices), 2))
    index_n = np.array([choices.index(value) for value in values])
    height_n = centres[index_n]
    for index in range(len(choices)):
        members = np.flatnonzero(index_n == index)
        members = members[np.argsort(order_n[members])]
        half = room / 2 * min(1, len(members) / 8)
        height_n[members] += np.linspace(-half, half, len(members)) if len(members) > 1 else 0
    every = -(-len(choices) // 12)  # more labels would not fit
    ticks = [(float(centre), short(choice)) for centre, choice in zip(centres, choices, strict=True)]
    return Scale(height_n, ticks[::every])


def _scale(value_n: np.ndarray, logarithmic: bool) -> Scale:
    """An axis of numbers, with ticks at its ends and where there is room between them."""
    low, high = float(value_n.min()), float(value_n.max())
    if low == high:
        return Scale(np.full(len(value_n), 0.5), [(0.5, short(low))])
    norm: Normalize = LogNorm(low, high) if logarithmic else Normalize(low, high)
    steps = LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 1e3 else (1.0,)) if logarithmic else MaxNLocator(5)
    marks = [float(mark) for mark in steps.tick_values(low, high) if low < mark < high]
    between = [(float(norm(mark)), short(mark) if logarithmic else f"{mark:.6g}") for mark in marks]
    ticks = [(0.0, short(low)), *(tick for tick in between if 0.07 < tick[0] < 0.93), (1.0, short(high))]
    return Scale(np.asarray(norm(value_n)), [(y, re.sub("^-", "\N{MINUS SIGN}", label)) for y, label in ticks])


def _draw_line(axes: Axes, heights: Sequence[float], colour: np.ndarray, thick: bool, early: bool, trials: int) -> None:
    """A curve that crosses each axis at a right angle, so that the eye can follow it through a choice."""
    points, codes = [(0.0, heights[0])], [Path.MOVETO]
    for x, (before, after) in enumerate(pairwise(heights)):
        points += [(x + 0.45, before), (x + 0.55, after), (x + 1.0, after)]
        codes += [Path.CURVE4] * 3
    thin = 1.3 if trials <= 24 else 0.9
    axes.add_patch(
        PathPatch(
            Path(points, codes),
            fill=False,
            edgecolor=colour,
            linewidth=3 if thick else thin,
            linestyle=DASHES if early else "-",
            alpha=1 if thick else 0.75,
            capstyle="butt",
        )
    )


def _draw_axes(axes: Axes, names: Sequence[str], scales: Sequence[Scale]) -> None:
    halo = [patheffects.withStroke(linewidth=2.5, foreground="white")]
    last = len(scales) - 1
    for x, (name, scale) in enumerate(zip(names, scales, strict=True)):
        if x < last:
            axes.plot([x, x], [0, 1], color=INK, linewidth=1, zorder=3)
        for height, label in scale.ticks:
            right = x == last
            axes.annotate(
                printable(label)[:16],
                (x, height),
                xytext=(9 if right else -4, 0),
                textcoords="offset points",
                ha="left" if right else "right",
                va="center",
                fontsize=9,
                color=INK,
                path_effects=halo,
                zorder=4,
            )
        title = "\n".join(textwrap.wrap(printable(name)[:60].replace("_", "_ "), 12)).replace("_ ", "_")
        axes.annotate(
            title, (x, 1), xytext=(0, 9), textcoords="offset points", ha="center", va="bottom", color=INK, fontsize=9.5
        )
    strip = np.linspace(0, 1, 128)[:, None]
    axes.imshow(
        strip,
        cmap=colours(),
        extent=(last, last + 0.035 * max(last, 3) / 3, 0, 1),
        aspect="auto",
        origin="lower",
        zorder=3,
    )
    axes.set_xlim(-0.35, last + 0.3)
    axes.set_ylim(-0.03, 1.03)
    axes.set_axis_off()


def _draw_legend(figure: Figure, best: int, early: int, trials: int) -> None:
    handles = [Line2D([], [], color=INK, linewidth=3, label="best" if best == 1 else f"best {best}")]
    if 0 < early < trials:
        handles.append(Line2D([], [], color=INK, linewidth=1.3, label="played to the end"))
    if early:
        handles.append(Line2D([], [], color=INK, linewidth=1.3, linestyle=DASHES, label="fewer agent steps"))
    figure.legend(handles=handles, loc="outside lower left", ncols=3)
