"""Configurations compared by their seeds at equal agent steps, in windows of steps."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.analysis.configurations import Configuration, varied, with_results
from experiments.analysis.statistics import CONFIDENCE, Estimate, difference, probability_of_improvement, seeds_to_tell
from experiments.analysis.windows import SCORES, Arrivals, Windows, shortest_run, telling, window_size, windows
from experiments.disk.experiments import Experiment
from experiments.disk.folders import display
from experiments.disk.trial import Trial
from trainables.checks import ConfigError
from trainables.sampling.console import agent_step
from trainables.texts import printable

MAX_SIDES = 6  # configurations in a comparison: as many as figures have colours


class Curve(NamedTuple):
    """A seed's run in windows."""

    trial: Trial
    windows: Windows

    @property
    def seed(self) -> int:
        """The random seed."""
        return self.trial.seed

    @property
    def end(self) -> float:
        """Agent steps up to which its return is known: of its last whole window, for ever if it diverged."""
        if self.trial.diverged:
            return math.inf
        return float(max(self.windows.end_w, default=0))

    def returns_at(self, end_k: np.ndarray) -> np.ndarray:
        """Mean returns (k,) in the windows that end at ``end_k`` agent steps.

        Where no game ended in a window, the latest window before it in which one did counts, NaN without any. After the
        end of a run that diverged, its return is the one that it reported as it diverged.
        """
        known = np.append(self.windows.known_w, np.nan)  # index -1: before the first window
        index = np.searchsorted(self.windows.end_w, end_k, side="right") - 1
        after = np.nan
        if self.trial.diverged:
            after = self.trial.last
        return np.where(end_k <= max(self.windows.end_w, default=0), known[index], after)


class Side(NamedTuple):
    """A configuration in a comparison, and its seeds that have results."""

    label: str
    configuration: Configuration
    curves: list[Curve]  # by seed
    picked_from: int = 1  # configurations of which it is one of the best; 1 if all of them are compared

    def returns_at(self, end_k: np.ndarray) -> dict[int, np.ndarray]:
        """Each curve's ``returns_at`` by seed, of the seeds that have a return at the last of ``end_k``."""
        found = {}
        for curve in self.curves:
            return_k = curve.returns_at(end_k)
            if not np.isnan(return_k[-1]):
                found[curve.seed] = return_k
        return found

    def at(self, steps: float) -> dict[int, float]:
        """Mean return by seed, of the seeds that came to ``steps``, in the window that ends there."""
        found = {}
        for seed, return_k in self.returns_at(np.array([steps])).items():
            found[seed] = float(return_k[0])
        return found

    def arrivals(self, score: float) -> Arrivals:
        """When the side's seeds came to a score.

        A fork that has the score in its first window with a game may have had it before.
        """
        exact, at_most, ended = [], [], []
        for curve in self.curves:
            return_w = curve.windows.return_w
            steps = curve.windows.steps_to(score)
            if steps is None:
                ended.append(curve.end)
            elif curve.trial.steps_before and return_w[~np.isnan(return_w)][0] >= score:
                at_most.append(steps)
            else:
                exact.append(steps)
        return Arrivals(score, tuple(sorted(exact)), tuple(ended), tuple(sorted(at_most)))


class Pair(NamedTuple):
    """What a side has over the one that it is compared with, at equal steps."""

    baseline: Side
    other: Side
    seeds: tuple[int, int]  # that came so far, of each
    paired: bool  # the same seeds: entry by entry
    confidence: float  # of its intervals
    mean: Estimate  # difference of mean returns
    improvement: Estimate  # probability that a seed of the other one scores higher
    needed: int | None  # seeds of each that would tell them apart, if they differ as much as it seems
    steps_k: np.ndarray  # where the curve of differences has its points
    mean_k: np.ndarray
    low_k: np.ndarray
    high_k: np.ndarray

    @property
    def told_apart(self) -> bool:
        """Whether the interval of the difference leaves out 0."""
        return self.mean.excludes(0)


class Comparison(NamedTuple):
    """Sides, the first of which is what the others are compared with."""

    sides: list[Side]
    pairs: list[Pair]
    window: int  # agent steps
    steps_k: np.ndarray  # ends of the windows that all have; they are compared at the last one
    left_out: list[Trial]  # seeds that did not come so far, or of which no game had ended

    @property
    def steps(self) -> int:
        """Agent steps at which they are compared."""
        return int(self.steps_k[-1])


def side(label: str, configuration: Configuration, window: int) -> Side:
    """A configuration and its seeds that have results, in windows of ``window`` agent steps."""
    curves = []
    for trial in configuration.trials:
        if trial.rows:
            curves.append(Curve(trial, windows(trial.rows, window)))
    curves.sort(key=lambda curve: curve.seed)
    return Side(label, configuration, curves)


def arrivals(sides: Sequence[Side], window: int) -> list[Sequence[Arrivals]]:
    """When each side's seeds came to scores: score by score, those scores that say something."""
    found = []
    for score in SCORES:
        found.append([one.arrivals(score) for one in sides])
    return telling(found, window)


def compare(groups: Sequence[Sequence[Experiment]], window: int = 0, steps: int = 0, best: int = 0) -> Comparison:
    """Compare the configurations of groups of experiments with the first one; a group's seeds are taken together.

    ``window`` is the windows' size (0: ``window_size``), ``steps`` where to compare (0: where the shortest run ended
    that did not diverge), and ``best`` how many of the best configurations of each group count (0: all). Raises
    ConfigError if there is nothing to compare.
    """
    found = [with_results(group) for group in groups]
    chosen = [configurations[: best or None] for configurations in found]
    _require_comparable(groups, chosen)
    rows = _rows(chosen)
    size = _window(rows, window, steps)
    sides: list[Side] = []
    for name, configurations, among in zip(_names(groups), chosen, found, strict=True):
        sides += _sides(name, configurations, len(among), size)
    end = (steps // size) * size
    if not steps:
        end = _shortest_end(sides)
    if not end or not all(one.at(end) for one in sides):
        raise ConfigError(
            f"no window of {size:,} agent steps in which a game ended is common to all; the shortest run has"
            f" {shortest_run(rows):,} steps. Give --window or --steps, or leave that run out"
        )
    grid = np.arange(min(_latest_begin(sides, end), end), end + 1, size)
    confidence = 1 - (1 - CONFIDENCE) / (len(sides) - 1)  # Bonferroni: all intervals together have CONFIDENCE
    pairs = [_pair(sides[0], other, grid, confidence) for other in sides[1:]]
    return Comparison(sides, pairs, size, grid, _left_out(sides, end))


def _window(runs: Sequence[Sequence[Mapping[str, Any]]], window: int, steps: int) -> int:
    """The windows' size: ``window``, or if that is 0 by those runs that come to ``steps``, if there are any.

    Raises ConfigError if ``steps`` end in the first window.
    """
    long = [rows for rows in runs if rows and rows[-1]["timesteps_total"] >= steps]
    size = window or window_size(long or runs)
    if 0 < steps < size:
        raise ConfigError(
            f"--steps {steps:,} lies before the end of the first window of {size:,} agent steps: give more, or a"
            " smaller --window"
        )
    return size


def _rows(found: Sequence[Sequence[Configuration]]) -> list[Sequence[dict[str, Any]]]:
    """The rows of all trials that did not diverge."""
    rows: list[Sequence[dict[str, Any]]] = []
    for configurations in found:
        for configuration in configurations:
            rows += [trial.rows for trial in configuration.trials if not trial.diverged]
    return rows


def _sides(name: str, configurations: Sequence[Configuration], among: int, size: int) -> list[Side]:
    """Configurations of a group as sides with windows of ``size`` agent steps.

    They are the best ones ``among`` so many, or all. A side is called by its group's ``name``, and by settings or
    origin where these tell configurations apart.
    """
    names = varied(configurations)
    picked_from = 1
    if len(configurations) < among:
        picked_from = among
    sides = []
    for configuration in configurations:
        label = name
        if names or len(configurations) > 1 or configuration.origin:
            label = f"{name}: {configuration.label(names)}"
        sides.append(side(label, configuration, size)._replace(picked_from=picked_from))
    return sides


def _shortest_end(sides: Sequence[Side]) -> int:
    """Agent steps at which the first run ended that did not diverge; 0 if all diverged, or have no window."""
    ends = []
    for one in sides:
        ends += [curve.end for curve in one.curves if math.isfinite(curve.end)]
    return int(min(ends, default=0))


def _latest_begin(sides: Sequence[Side], end: int) -> int:
    """Agent steps at the end of the first window that all runs have; ``end`` if no run has a window.

    A fork's first window is later than that of a run from scratch.
    """
    begins = []
    for one in sides:
        begins += [int(curve.windows.end_w[0]) for curve in one.curves if len(curve.windows.end_w)]
    return max(begins, default=end)


def _left_out(sides: Sequence[Side], end: int) -> list[Trial]:
    """The seeds that did not come to the ``end``, or of which no game had ended by then."""
    found = []
    for one in sides:
        came = one.at(end)
        found += [curve.trial for curve in one.curves if curve.seed not in came]
    return found


def _name(group: Sequence[Experiment]) -> str:
    """What a group is called: by its first experiment, with the number of the others."""
    if len(group) == 1:
        return group[0].name
    return f"{group[0].name} and {len(group) - 1} more"


def _names(groups: Sequence[Sequence[Experiment]]) -> list[str]:
    """What the groups are called; by their folders where two have the same name."""
    names = [_name(group) for group in groups]
    if len({*names}) == len(names):
        return names
    return [display(group[0].folder) for group in groups]


def _require_comparable(groups: Sequence[Sequence[Experiment]], found: Sequence[Sequence[Configuration]]) -> None:
    """Raise ConfigError unless these are two to ``MAX_SIDES`` configurations with results, of one environment."""
    for group, configurations in zip(groups, found, strict=True):
        if not configurations:
            raise ConfigError(f"{_name(group)} has no results yet")
    count = sum(map(len, found))
    if count < 2:
        name = _name(groups[0])
        raise ConfigError(f"one configuration is nothing to compare: name two experiments, as in compare {name} OTHER")
    if count > MAX_SIDES:
        hint = "--best 1 takes the best one of each experiment"
        raise ConfigError(f"{count} configurations: accepted are 2 to {MAX_SIDES}; {hint}")
    played = {}
    for configurations in found:
        for configuration in configurations:
            env_id = configuration.env_id
            played[env_id] = f"{printable(env_id)} (an agent step is {agent_step(env_id)})"
    if len(played) > 1:
        environments = " against ".join(played.values())
        raise ConfigError(f"{environments}: neither steps nor returns are the same there, so no difference is tested")


def _pair(baseline: Side, other: Side, grid: np.ndarray, confidence: float) -> Pair:
    """What a side has over the baseline at the ends of windows on the ``grid``, where all of their seeds have returns.

    Their seeds are those that have a return at the grid's last point.
    """
    first, second = baseline.returns_at(grid), other.returns_at(grid)
    paired = first.keys() == second.keys() and len(first) > 1  # both are in the order of seeds
    a_k, b_k = np.array([*first.values()]), np.array([*second.values()])  # (seeds, points)
    known = ~np.isnan(a_k).any(axis=0) & ~np.isnan(b_k).any(axis=0)
    a_k, b_k = a_k[:, known], b_k[:, known]
    points = []
    for a_at_one, b_at_one in zip(a_k.T, b_k.T, strict=True):
        points.append(difference(a_at_one, b_at_one, paired, confidence))
    mean_k, low_k, high_k = np.array(points, float).T  # (points, 3)
    a, b = a_k[:, -1], b_k[:, -1]  # where the sides are compared
    return Pair(
        baseline=baseline,
        other=other,
        seeds=(len(a), len(b)),
        paired=paired,
        confidence=confidence,
        mean=points[-1],
        improvement=probability_of_improvement(a, b, confidence),
        needed=seeds_to_tell(a, b, paired, confidence),
        steps_k=grid[known],
        mean_k=mean_k,
        low_k=low_k,
        high_k=high_k,
    )
