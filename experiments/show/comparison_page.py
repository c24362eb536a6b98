"""A comparison as a page: what can be told apart, the figures, the tables, and what the intervals cover."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.analysis.caveats import caveats
from experiments.analysis.comparison import Comparison, Pair, Side
from experiments.analysis.configurations import varied
from experiments.analysis.statistics import MAX_SEEDS, POWER, Estimate, mean_interval
from experiments.disk.experiments import Experiment
from experiments.plan.trial_names import short
from experiments.show.figures import (
    COLOURS,
    GRID_POINTS,
    INK,
    SEED_ALPHA,
    SEED_WIDTH,
    draw_band,
    label_steps,
    label_time,
    legend_below,
    new_figure,
    styled,
)
from experiments.show.origins import add_origins
from experiments.show.page import Page
from experiments.show.report import add_arrivals
from experiments.show.tables import interval_of_next_seed, with_remarks
from experiments.show.text import Rows, code, number, to_markdown
from trainables.texts import counted

METHOD = (
    "Returns are means over the games that ended in a window of {window:,} agent steps, with sampled actions; Dopamine"
    " reports them in windows of 250,000. Measures are among those of Agarwal et al. 2021 (arXiv:2108.13264). Intervals"
    " are Welch's, or Student's paired ones where both sides have the same seeds, and Newcombe's with quantiles of t"
    " for the probability of improvement: with one game and few seeds, bootstraps are too narrow. By simulation, 94 to"
    " 98 in 100 intervals of the difference of two equal algorithms hold 0 with 3, 5 or 10 seeds of each, and 96 or"
    " more those of the probability of improvement 0.5; with three seeds these always do. With unequal numbers of"
    " seeds, as 3 and 10, they can be as few as 79, and where one algorithm loses some of its seeds and the other does"
    " not, 65 in 100 hold the true difference with three seeds and 92 with ten. docs/comparing.md has the table."
)


@styled()
def comparison_page(comparison: Comparison, experiments: Sequence[Experiment]) -> Page:
    """The page about a comparison of configurations in these experiments."""
    page = Page()
    labels = [side.label for side in comparison.sides]
    page.add(f"# {' against '.join(map(code, labels))}")
    for pair in comparison.pairs:
        page.add(verdict(pair, comparison.steps, mark=code))
    for text in caveats(comparison, mark=code):
        page.add(text)
    page.add(differing(comparison))
    page.add("## Learning curves")
    page.show(curves=curves_figure(comparison), differences=differences_figure(comparison))
    page.add("Thin lines are seeds, thick ones their means. Bands are 95% intervals by Student's t, at each point.")
    page.add(f"## At {comparison.steps:,} agent steps")
    page.add(to_markdown(side_table(comparison)))
    page.add(to_markdown(pair_table(comparison.pairs)))
    page.add(_levels(comparison.pairs))
    if comparison.left_out:
        names = ", ".join(code(f"{trial.folder.parent.name}/{trial.name}") for trial in comparison.left_out)
        page.add(f"Left out, because they did not come so far, or no game of theirs had ended: {names}.")
    add_arrivals(page, labels, comparison.sides, comparison.window)
    own = settings_of_one_learner(comparison)
    if own:
        page.add(f"## Settings of one learner alone\n\n{own}")
    page.add("## How it was counted")
    page.add(METHOD.format(window=comparison.window))
    add_origins(page, experiments)
    return page


def verdict(pair: Pair, steps: int, mark: Callable[[str], str] = str) -> str:
    """What can be said of a pair, in a sentence or two. ``mark`` makes of a label what is shown of it."""
    baseline, other = mark(pair.baseline.label), mark(pair.other.label)
    where = f"at {steps:,} agent steps"
    if min(pair.seeds) < 2:
        return (
            f"{baseline} and {other} cannot be told apart with one seed: {where} the second is {pair.mean.value:+.2f}"
            " from the first, and one seed does not say how much is luck. Three seeds of each are the least, five are"
            " better."
        )
    if not pair.told_apart:
        return (
            f"{baseline} and {other} cannot be told apart: {where} the second is {pair.mean.value:+.2f} from the first"
            f" {_in_brackets(pair, pair.mean, '+.2f')}. {_more_seeds(pair)}"
        )
    better, worse, gain = other, baseline, pair.mean
    if pair.mean.value < 0:
        better, worse = baseline, other
        gain = Estimate(-pair.mean.value, -pair.mean.high, -pair.mean.low)
    return f"{better} is better than {worse}: by {gain.value:.2f} {where} {_in_brackets(pair, gain, '.2f')}."


def _in_brackets(pair: Pair, estimate: Estimate, form: str) -> str:
    """An interval and what it rests on: ``(95% interval 9.12 to 10.55; 3 and 3 seeds, paired)``."""
    seeds = f"{pair.seeds[0]} and {pair.seeds[1]} seeds"
    if pair.paired:
        seeds += ", paired"
    return f"({100 * pair.confidence:.3g}% interval {_interval(estimate, form)}; {seeds})"


def _more_seeds(pair: Pair) -> str:
    """How many more seeds of each would show a difference as large as the one that was found."""
    if pair.mean.value == 0:
        return "As far as these seeds show there is none, and more of them would hardly find one."
    if pair.needed is None:
        return f"If it is as large as it looks, more than {MAX_SEEDS:,} seeds of each would be needed to show it."
    have = min(pair.seeds)
    needed = max(pair.needed, have + 1)  # The seeds that there are have not shown it.
    return (
        f"If it is as large as it looks, {needed} seeds of each would show it with probability {POWER:g}:"
        f" {needed - have} more."
    )


def differing(comparison: Comparison) -> str:
    """The settings that all sides have and in which they differ, as a list, and how many settings not all have.

    Where nothing differs, a sentence says so.
    """
    configurations = [side.configuration for side in comparison.sides]
    lines, not_of_all = [], 0
    for name in varied(configurations):
        if not all(name in found.config for found in configurations):
            not_of_all += 1
            continue
        values = [found.config[name] for found in configurations]
        texts = [*map(short, values)]
        if len({*texts}) < len({*map(repr, values)}):  # Three digits do not tell them apart.
            texts = [*map(str, values)]
        lines.append(f"- {code(name)}: {' against '.join(map(code, texts))}")
    if not_of_all:
        learners = " against ".join(dict.fromkeys(code(found.learner) for found in configurations))
        lines.append(f"- learner: {learners}, with {counted(not_of_all, 'setting')} not all have (below)")
    if not lines:
        return "All settings that decide results are the same, but for seeds."
    return "Settings that differ:\n\n" + "\n".join(lines)


def settings_of_one_learner(comparison: Comparison) -> str:
    """Each side's settings that not all sides have, as a list; empty where all have the same ones."""
    configurations = [side.configuration for side in comparison.sides]
    own: dict[str, list[str]] = {}
    for name in varied(configurations):
        have = [side for side in comparison.sides if name in side.configuration.config]
        if len(have) == len(configurations):
            continue
        for side in have:
            text = code(f"{name}={short(side.configuration.config[name])}")
            own.setdefault(side.label, []).append(text)
    return "".join(f"- {code(label)}: {', '.join(texts)}\n" for label, texts in own.items())


def _levels(pairs: Sequence[Pair]) -> str:
    """Which intervals stand in brackets, and what the probability of improvement is."""
    measures = "The probability of improvement is that of a seed to score higher than one of the first configuration."
    if len(pairs) == 1:
        return f"Differences are from the first configuration, with 95% intervals. {measures}"
    return (
        f"Differences are from the first configuration, with intervals of {100 * pairs[0].confidence:.3g}%, so that all"
        f" {len(pairs)} differences of means lie in theirs with a probability of 95% (Bonferroni). {measures}"
    )


def side_table(comparison: Comparison) -> Rows:
    """Each side's seeds, and their mean returns in the window at whose end the sides are compared."""
    rows = []
    for side in comparison.sides:
        by_seed = side.at(comparison.steps)
        returns = np.array([*by_seed.values()])
        rows.append(
            {
                "configuration": side.label,
                "learner": side.configuration.learner,
                "random seeds": with_remarks(by_seed, side.configuration),
                "mean return": number(float(returns.mean()), 2),
                "lowest": number(float(returns.min()), 2),
                "highest": number(float(returns.max()), 2),
                "next seed (95% interval)": interval_of_next_seed(returns, side.configuration.env_id),
            }
        )
    return rows


def pair_table(pairs: Sequence[Pair]) -> Rows:
    """What each side has over the first one."""
    rows = []
    for pair in pairs:
        improvement = ""
        if min(pair.seeds) > 1:
            improvement = _with_interval(pair.improvement, ".2f")
        rows.append(
            {
                "configuration": pair.other.label,
                "difference of means": _with_interval(pair.mean, "+.2f"),
                "probability of improvement": improvement,
            }
        )
    return rows


def _with_interval(estimate: Estimate, form: str) -> str:
    """A figure with its interval, where it has one: ``+9.83 (+9.12 to +10.55)``."""
    interval = _interval(estimate, form)
    if not interval:
        return f"{estimate.value:{form}}"
    return f"{estimate.value:{form}} ({interval})"


def _interval(estimate: Estimate, form: str) -> str:
    """A figure's interval without brackets; empty if the seeds were too few for one."""
    if math.isnan(estimate.low):
        return ""
    return f"{estimate.low:{form}} to {estimate.high:{form}}"


def curves_figure(comparison: Comparison) -> Figure:
    """Mean returns in windows, as far as they are compared: above over agent steps, below over wall-clock time."""
    figure = new_figure(5.6)
    above, below = figure.subplots(2, sharey=True)
    for side, colour in zip(comparison.sides, COLOURS, strict=False):
        over_steps = [curve.returns_at(comparison.steps_k) for curve in side.curves]
        named = f"{side.label}, {counted(len(side.curves), 'seed')}"
        draw_runs(above, comparison.steps_k, np.array(over_steps), colour, named)
        seconds_k, over_time = _over_time(side, comparison.steps)
        draw_runs(below, seconds_k, over_time, colour, None)
    label_steps(above, comparison.sides[0].configuration.env_id)
    label_time(below)
    for axes in (above, below):
        axes.set_xlim(left=0)
        axes.set_ylabel(f"mean return in windows\nof {comparison.window:,} agent steps")
    legend_below(figure)
    return figure


def differences_figure(comparison: Comparison) -> Figure:
    """How much higher the mean returns of the other sides are than the first one's, over agent steps."""
    figure = new_figure(3.2)
    axes = figure.add_subplot()
    axes.axhline(0, color=INK, linewidth=1)
    for pair, colour in zip(comparison.pairs, COLOURS[1:], strict=False):
        label = f"{pair.other.label} \N{MINUS SIGN} {pair.baseline.label}"
        axes.plot(pair.steps_k, pair.mean_k, color=colour, linewidth=2, marker=_marker(pair.mean_k), label=label)
        axes.fill_between(pair.steps_k, pair.low_k, pair.high_k, color=colour, alpha=0.2, linewidth=0)
    label_steps(axes, comparison.sides[0].configuration.env_id)
    axes.set_xlim(left=0)
    axes.set_ylabel("difference of mean returns")
    legend_below(figure)
    return figure


def _over_time(side: Side, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Common seconds of training (k,), and every seed's mean return then (n, k), NaN where it has none."""
    times = [curve.windows.seconds_w[curve.windows.end_w <= steps] for curve in side.curves]
    longest = max((time[-1] for time in times if len(time)), default=0.0)
    # The windows' own ends are among the points, or a run of a single window would have a value at none.
    grid = np.unique(np.concatenate([np.linspace(0, longest, GRID_POINTS), *times]))
    samples = np.full((len(times), len(grid)), np.nan)
    for index, time in enumerate(times):
        if len(time):
            returns = side.curves[index].windows.known_w[: len(time)]
            samples[index] = np.interp(grid, time, returns, left=np.nan, right=np.nan)
    return grid, samples


def draw_runs(axes: Axes, x: np.ndarray, samples: np.ndarray, colour: str, label: str | None) -> None:
    """Draw seeds (n, k) as thin lines; their mean as a thick one, in its band, where all of them have a return."""
    for sample in samples:
        axes.plot(x, sample, color=colour, linewidth=SEED_WIDTH, alpha=SEED_ALPHA, marker=_marker(sample))
    mean = samples.mean(axis=0)
    axes.plot(x, mean, color=colour, linewidth=2, marker=_marker(mean), label=label)
    if len(samples) > 1:
        low, high = mean_interval(samples)
        draw_band(axes, x, low, high, colour)


def _marker(y: np.ndarray) -> str | None:
    """The marker of a curve with a single point, which a line would not show; None for all other curves."""
    if np.isfinite(y).sum() == 1:
        return "o"
    return None
