"""In which settings configurations differ, and what each of these does to the score by itself."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.analysis.configurations import Configuration, varied
from experiments.disk.experiments import Experiment
from experiments.disk.trial import Trial
from experiments.plan.trial_names import short
from experiments.show.figures import COLOURS, WIDTH, new_figure


def labels(configurations: Sequence[Configuration], among: Sequence[Configuration]) -> list[str]:
    """Configurations by the settings in which those of their learner ``among`` these differ."""
    found = []
    for configuration in configurations:
        same_learner = [other for other in among if other.learner == configuration.learner]
        found.append(configuration.label(varied(same_learner)))
    return found


def marginal_means(values: Sequence[float], scores: Sequence[float]) -> list[tuple[float, float, float]]:
    """Ranges of a setting that hold about equally many trials, three or more: their ends, and their mean scores.

    ``values`` and ``scores`` have one entry a trial. Empty if there are too few trials for two ranges.
    """
    value_n, score_n = np.asarray(values, float), np.asarray(scores, float)
    bins = min(4, len(value_n) // 3)
    if bins < 2:
        return []
    bin_n = np.searchsorted(np.sort(value_n), value_n) * bins // len(value_n)  # by rank; equal values stay together
    found = []
    for index in np.unique(bin_n):
        part = bin_n == index
        found.append((value_n[part].min(), value_n[part].max(), float(score_n[part].mean())))
    return found


def comparable(trials: Sequence[Trial]) -> tuple[int, list[Trial], list[float]]:
    """Agent steps to compare trials at, the trials that have a return there, and their mean returns then.

    As a rule that is as far as all ended trials came. One that ended before another one's first result cannot be
    compared with it: then it is where most trials have a return. The latest returns of trials that a scheduler stopped
    are low because they are early, whatever their settings. A trial that diverged before has its latest return.
    """
    played = [trial for trial in trials if trial.rows]
    steps, most = 0, 0
    for end in sorted(_ends(played)):
        there = 0
        for trial in played:
            there += _has_score(trial, end)
        if there >= most:
            steps, most = end, there
    fair, scores = [], []
    for trial in played:
        if _has_score(trial, steps):
            fair.append(trial)
            scores.append(trial.score_at("timesteps_total", steps))
        elif trial.diverged:
            fair.append(trial)
            scores.append(trial.last)
    return steps, fair, scores


def _ends(trials: Sequence[Trial]) -> list[int]:
    """The agent steps at which trials ended as planned; those that all of them have made if none did."""
    ends = [trial.steps for trial in trials if trial.ended_as_planned]
    return ends or [trial.steps for trial in trials]


def at_first_rung(
    experiments: Sequence[Experiment], trials: Sequence[Trial]
) -> tuple[int, list[Trial], list[float]] | None:
    """What ``comparable`` gives, of trials of one halved sweep: where all of them were first compared.

    A trial ends the iteration in which it comes to a rung, so its first result can be later than another one's last.
    None for other trials, and where rungs are counted in iterations.
    """
    sweep = _sweep_of(trials, experiments)
    if not sweep or not sweep.decisions or sweep.spec.budget.unit != "timesteps":
        return None
    first = sweep.decisions[0]
    compared, scores = [], []
    for trial in trials:
        score = first.scored.get(trial.number)
        if score is None and trial.diverged:
            score = trial.last
        if score is not None:
            compared.append(trial)
            scores.append(score)
    return first.at, compared, scores


def _sweep_of(trials: Sequence[Trial], experiments: Sequence[Experiment]) -> Experiment | None:
    """The experiment that all these trials are of; None if they are of several."""
    folders = {trial.folder.parent for trial in trials}
    for experiment in experiments:
        if {experiment.folder} == folders:
            return experiment
    return None


def _has_score(trial: Trial, steps: int) -> bool:
    """Whether a trial with results has one at so many agent steps: not before its first, nor after its last."""
    return trial.rows[0]["timesteps_total"] <= steps <= trial.rows[-1]["timesteps_total"]


def effects_figures(trials: Sequence[Trial], scores: Sequence[float], names: Sequence[str]) -> list[Figure]:
    """The score of every trial against each of the settings ``names``, with marginal means as bars.

    Each setting has a small figure of its own, so that four stand side by side on a screen, and one on a telephone.
    """
    figures = []
    room = 0.05 * (max(scores) - min(scores) or 1)
    for name in names:
        figure = new_figure(2.5, 0.48 * WIDTH)
        axes = figure.add_subplot()
        values: list[Any] = [trial.config.get(name) for trial in trials]
        if is_range(values):
            _draw_scale(axes, [*map(float, values)], scores)
        else:
            _draw_choices(axes, values, scores)
        axes.set_xlabel(name[:40])
        axes.set_ylabel("score")
        axes.set_ylim(min(scores) - room, max(scores) + room)
        figures.append(figure)
    return figures


def _draw_scale(axes: Axes, values: Sequence[Any], scores: Sequence[float]) -> None:
    """Draw scores over the numbers of a range, and their marginal means."""
    axes.plot(values, scores, "o", color=COLOURS[0], alpha=0.65, markeredgewidth=0)
    for low, high, mean in marginal_means(values, scores):
        axes.plot([low, high], [mean, mean], "-|", color=COLOURS[1], linewidth=2.5, markersize=7)
    if is_logarithmic(values):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(short_tick)
        axes.xaxis.set_minor_formatter(short_tick)
        axes.tick_params(axis="x", which="both", labelrotation=30)
    else:
        axes.locator_params(axis="x", nbins=4)


def _draw_choices(axes: Axes, values: Sequence[Any], scores: Sequence[float]) -> None:
    """Draw scores over choices, those of one choice side by side, and the mean of each choice."""
    choices = in_order(values)
    scores_of = defaultdict(list)
    for value, score in zip(values, scores, strict=True):
        scores_of[value].append(score)
    for position, choice in enumerate(choices):
        there = scores_of[choice]
        spread = np.zeros(1)
        if len(there) > 1:
            spread = np.linspace(-0.12, 0.12, len(there))
        axes.plot(position + spread, there, "o", color=COLOURS[0], alpha=0.65, markeredgewidth=0)
        axes.hlines(np.mean(there), position - 0.28, position + 0.28, color=COLOURS[1], linewidth=2.5)
    axes.set_xticks(range(len(choices)), [short(choice)[:40] for choice in choices])
    axes.set_xlim(-0.6, len(choices) - 0.4)
    axes.grid(visible=False, axis="x")


def is_range(values: Sequence[Any]) -> bool:
    """Whether these numbers, one a trial, were drawn from a range, so that hardly any comes twice.

    Of six trials with four choices at least two have the same one.
    """
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
    return len(set(values)) > 0.75 * len(values) and math.isfinite(max(values) - min(values))


def is_logarithmic(values: Sequence[float]) -> bool:
    """Whether a range's numbers are far enough apart for a logarithmic scale."""
    return min(values) > 0 and 4 < max(values) / min(values) < math.inf


def in_order(choices: Iterable[Any]) -> list[Any]:
    """Each choice once; numbers and texts of numbers by size, ``64-64`` before ``128-128``, other texts after them."""
    return sorted(set(choices), key=_by_size)


def _by_size(choice: Any) -> tuple[int, list[Any]]:
    """What ``in_order`` sorts by."""
    parts = [choice]
    if isinstance(choice, str):
        parts = choice.split("-")
    try:
        return 0, [*map(float, parts)]
    except (TypeError, ValueError):
        return 1, [*map(str, parts)]


def short_tick(value: float, _: float) -> str:
    """A tick of a logarithmic scale, labelled at 1, 2 and 5 only."""
    if f"{value:e}"[0] not in "125":
        return ""
    if 1 <= value < 1e6:
        return f"{value:,.0f}"
    return short(value)
