"""The figures over published runs: this project's windows of 250,000 agent steps over Dopamine's, and over minutes."""

import matplotlib as mpl
import numpy as np
from published import REPORTS, others, runs

from experiments.read.statistics import mean_interval
from experiments.show.figures import COLOURS, STYLE, draw_band, label_steps, new_figure
from experiments.show.page import Page
from trainables.files import replacing

OURS = (("PPO from pixels", "pg", COLOURS[0]), ("TRPO from memory", "trpo", COLOURS[1]))
THEIRS = (
    ("DQN, Nature CNN", ("DQN", "Nature CNN"), "#999999", "-"),
    ("IQN, Nature CNN", ("IQN", "Nature CNN"), COLOURS[2], "-"),
    ("Rainbow, Nature CNN", ("Rainbow", "Nature CNN"), COLOURS[3], "-"),
    ("IQN, Impala CNN", ("IQN", "Impala CNN (JAX)"), COLOURS[2], ":"),
    ("Rainbow, Impala CNN", ("Rainbow", "Impala CNN (JAX)"), COLOURS[3], ":"),
)
LONGEST = 6e6
"""Agent steps that the figure shows."""


def learners() -> mpl.figure.Figure:
    """Mean returns of both default learners over agent steps and over minutes, a thin line a seed."""
    with mpl.rc_context(STYLE):
        figure = new_figure(3.4, 9.0)
        left, right = figure.subplots(1, 2, sharey=True)
        for label, name, colour in OURS:
            side = runs(name)
            _draw(left, *side.curves, colour, f"{label}, {len(side.runs)} seeds")
            for run in side.runs:
                right.plot(run.windows.seconds_w / 60, run.windows.known_w, color=colour, linewidth=0.9, alpha=0.7)
        label_steps(left)
        right.set_xlabel("minutes of training, 2 workers")
        left.set_ylabel("mean return in windows\nof 250,000 agent steps")
        for axes in (left, right):
            axes.set_xlim(left=0)
        figure.legend(loc="outside lower left", ncols=2)
    return figure


def beside_others() -> mpl.figure.Figure:
    """The same over steps, over Dopamine's agents."""
    with mpl.rc_context(STYLE):
        figure = new_figure(5.2, 7.4)
        axes = figure.add_subplot()
        for label, (agent, network), colour, line in THEIRS:
            end_w, return_nw = others(agent, network).curves
            shown = end_w <= LONGEST
            axes.plot(end_w[shown], return_nw.mean(axis=0)[shown], color=colour, linestyle=line, label=label)
        for label, name, colour in OURS:
            side = runs(name)
            _draw(axes, *side.curves, colour, f"{label}, this project")
        label_steps(axes)
        axes.set_xlim(0, LONGEST)
        axes.set_ylabel("mean return in windows of 250,000 agent steps")
        figure.legend(loc="outside lower left", ncols=2)
    return figure


def _draw(axes: mpl.axes.Axes, end_w: np.ndarray, return_nw: np.ndarray, colour: str, label: str) -> None:
    for return_w in return_nw:
        axes.plot(end_w, return_w, color=colour, linewidth=0.7, alpha=0.45)
    axes.plot(end_w, return_nw.mean(axis=0), color=colour, linewidth=2, label=label)
    draw_band(axes, end_w, *mean_interval(return_nw), colour)


def main() -> None:
    """Write docs/reports/records_figures."""
    page, folder = Page(), REPORTS / "records_figures"
    page.show(learners=learners(), beside_others=beside_others())
    folder.mkdir(exist_ok=True)
    for name, picture in page.pictures.items():
        with replacing(folder / name) as file:
            file.write(picture)


if __name__ == "__main__":
    main()
