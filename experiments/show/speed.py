"""How many agent steps per second a trial makes with more rollout workers."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from experiments.read.trial import Trial
from experiments.show.figures import COLOURS, GREY, INK, STYLE, new_figure


class Speed(NamedTuple):
    """Throughput of the trials with one number of workers."""

    workers: int
    trials: int
    steps_per_s: float  # mean over trials
    speedup: float  # over the fewest workers
    efficiency: float  # parallel efficiency: the speed-up divided by the ratio of the numbers of workers


def speeds(trials: Sequence[Trial]) -> list[Speed]:
    """Throughput by number of workers; empty if they are the same in all trials."""
    by_workers: dict[int, list[float]] = {}
    for workers, rate in itertools.chain(*map(_rates, trials)):
        by_workers.setdefault(workers, []).append(rate)
    if len(by_workers) < 2:
        return []
    fewest = min(by_workers)
    base = float(np.mean(by_workers[fewest]))
    found = []
    for workers, rates in sorted(by_workers.items()):
        speedup = float(np.mean(rates)) / base
        found.append(Speed(workers, len(rates), float(np.mean(rates)), speedup, speedup * fewest / workers))
    return found


def speed_figure(trials: Sequence[Trial], found: Sequence[Speed]) -> Figure:
    """Agent steps per second against workers: trials, their means with the parallel efficiency, linear speed-up."""
    points = [*itertools.chain(*map(_rates, trials))]
    workers = [speed.workers for speed in found]
    with mpl.rc_context(STYLE):
        figure = new_figure(3.4)
        axes = figure.add_subplot()
        each = found[0].steps_per_s / workers[0]
        axes.plot(workers, [each * n for n in workers], "--", color=GREY, label="linear speed-up")
        means = [speed.steps_per_s for speed in found]
        axes.plot(workers, means, "-", color=COLOURS[1], linewidth=2, label="mean, with its parallel efficiency")
        axes.plot(
            [workers for workers, _ in points],
            [rate for _, rate in points],
            "o",
            color=COLOURS[0],
            alpha=0.65,
            markeredgewidth=0,
            label="trial (median of its iterations)",
        )
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        for speed in found[1:]:
            text, point = f"{speed.efficiency:.0%}", (speed.workers, speed.steps_per_s)
            axes.annotate(text, point, (0, -24), textcoords="offset points", ha="center", color=INK, bbox=box)
        axes.set_xticks(workers)
        axes.margins(x=0.08)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_xlabel("rollout workers")
        axes.set_ylabel("agent steps per second")
        axes.legend(loc="upper left")
    return figure


def _rates(trial: Trial) -> list[tuple[int, float]]:
    """Numbers of workers that a trial had, as its scheduler lent it some, and its median steps a second with each."""
    had, rates = trial.curve("perf/workers"), trial.curve("perf/steps_per_s")
    had = np.where(np.isfinite(had), had, trial.config.get("num_workers", 1))  # older rows do not say
    found = [(int(number), rates[(had == number) & np.isfinite(rates)]) for number in np.unique(had)]
    return [(number, float(np.median(some))) for number, some in found if len(some)]
