"""Configurations compared by their seeds at equal agent steps, in windows of steps."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.analysis.configurations import Configuration, by_configuration, varied
from experiments.analysis.statistics import CONFIDENCE, Estimate, difference, probability_of_improvement, seeds_to_tell
from experiments.analysis.windows import SCORES, Arrivals, Windows, telling, window_size, windows
from experiments.disk.experiments import Experiment
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
        return math.inf if self.trial.diverged else float(max(self.windows.end_w, default=0))

    def returns_at(self, end_k: np.ndarray) -> np.ndarray:
        """Mean returns in the windows that end there (k,), or in the last ones before in which a game ended.

        NaN where there is none. A run that diverged keeps the return that it reported then.
        """
        known = np.append(self.windows.known_w, np.nan)  # index -1: before the first
        index = np.searchsorted(self.windows.end_w, end_k, side="right") - 1
        after = self.trial.last if self.trial.diverged else np.nan
        return np.where(end_k <= max(self.windows.end_w, default=0), known[index], after)


class Side(NamedTuple):
    """A configuration in a comparison, and its seeds that have results."""

    label: str
    configuration: Configuration
    curves: list[Curve]  # by seed

    def returns_at(self, end_k: np.ndarray) -> dict[int, np.ndarray]:
        """Each curve's ``returns_at``, of the seeds that have one at the last of these steps."""
        found = {}
        for curve in self.curves:
            return_k = curve.returns_at(end_k)
            if not np.isnan(return_k[-1]):
                found[curve.seed] = return_k
        return found

    def at(self, steps: float) -> dict[int, float]:
        """Mean return by seed, of the seeds that came to ``steps``, in the window that ends there."""
        return {seed: float(return_k[0]) for seed, return_k in self.returns_at(np.array([steps])).items()}

    def arrivals(self, score: float) -> Arrivals:
        """When its seeds came to a score. A fork that has it in its first window with a game may have had it before."""
        exact, at_most, ended = [], [], []
        for curve in self.curves:
            return_w = curve.windows.return_w
            if (steps := curve.windows.steps_to(score)) is None:
                ended.append(curve.end)
            elif curve.trial.began and return_w[~np.isnan(return_w)][0] >= score:
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
        """Whether the difference is sure to have a sign."""
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
    """A configuration and its seeds that have results, in windows of so many agent steps."""
    trials = sorted((trial for trial in configuration.trials if trial.rows), key=lambda trial: trial.seed)
    return Side(label, configuration, [Curve(trial, windows(trial.rows, window)) for trial in trials])


def arrivals(sides: Sequence[Side], window: int) -> list[Sequence[Arrivals]]:
    """When each side's seeds came to scores, score by score, of those that say something."""
    return telling([[one.arrivals(score) for one in sides] for score in SCORES], window)


def compare(groups: Sequence[Sequence[Experiment]], window: int = 0, steps: int = 0, best: int = 0) -> Comparison:
    """Compare the configurations of groups of experiments with the first one; a group's seeds are taken together.

    ``window`` is the windows' size (0: ``window_size``), ``steps`` where to compare (0: where the shortest run ended
    that did not diverge), and ``best`` how many of the best configurations of each group count (0: all). Raises
    ConfigError if there is nothing to compare.
    """
    found = [_with_results(group)[: best or None] for group in groups]
    _require_comparable(groups, found)
    rows = _rows(found)
    size = window or window_size(rows)
    sides: list[Side] = []
    for group, configurations in zip(groups, found, strict=True):
        sides += _sides(group, configurations, size)
    end = (steps // size) * size if steps else _shortest_end(sides)
    if not end or not all(one.at(end) for one in sides):
        shortest = min((row[-1]["timesteps_total"] for row in rows if row), default=0)
        raise ConfigError(
            f"no window of {size:,} agent steps in which a game ended is common to all; the shortest run has"
            f" {shortest:,} steps. Give --window or --steps, or leave that run out"
        )
    grid = np.arange(min(_latest_begin(sides, end), end), end + 1, size)
    confidence = 1 - (1 - CONFIDENCE) / (len(sides) - 1)
    pairs = [_pair(sides[0], other, grid, confidence) for other in sides[1:]]
    return Comparison(sides, pairs, size, grid, _left_out(sides, end))


def _with_results(group: Sequence[Experiment]) -> list[Configuration]:
    """A group's configurations that have scores, the best first."""
    return [configuration for configuration in by_configuration(group) if len(configuration.scores)]


def _rows(found: Sequence[Sequence[Configuration]]) -> list[list[dict[str, Any]]]:
    """The rows of all trials that did not diverge."""
    rows = []
    for configurations in found:
        for configuration in configurations:
            rows += [trial.rows for trial in configuration.trials if not trial.diverged]
    return rows


def _sides(group: Sequence[Experiment], configurations: Sequence[Configuration], size: int) -> list[Side]:
    """A group's configurations as sides, called by its name, and by settings or origins where these tell them apart."""
    names, name = varied(configurations), _name(group)
    sides = []
    for configuration in configurations:
        label = name
        if names or len(configurations) > 1 or configuration.origin:
            label = f"{name}: {configuration.label(names)}"
        sides.append(side(label, configuration, size))
    return sides


def _shortest_end(sides: Sequence[Side]) -> int:
    """Agent steps at which the first run ended that did not diverge; 0 if all diverged, or have no window."""
    ends = []
    for one in sides:
        ends += [curve.end for curve in one.curves if math.isfinite(curve.end)]
    return int(min(ends, default=0))


def _latest_begin(sides: Sequence[Side], end: int) -> int:
    """Agent steps at the end of the first window that all runs have: a fork's is later. ``end`` if none has any."""
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
    return group[0].name + (f" and {len(group) - 1} more" if len(group) > 1 else "")


def _require_comparable(groups: Sequence[Sequence[Experiment]], found: Sequence[Sequence[Configuration]]) -> None:
    """Raise ConfigError unless there are as many configurations as figures have colours, of one environment."""
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
    if len(env_ids := dict.fromkeys(c.env_id for group in found for c in group)) > 1:
        played = " against ".join(f"{printable(env_id)} (an agent step is {agent_step(env_id)})" for env_id in env_ids)
        raise ConfigError(f"{played}: neither steps nor returns are the same there, so no difference is tested")


def _pair(baseline: Side, other: Side, grid: np.ndarray, confidence: float) -> Pair:
    first, second = baseline.returns_at(grid), other.returns_at(grid)
    paired = first.keys() == second.keys() and len(first) > 1  # both are in the order of seeds
    a_k, b_k = (np.array([*each.values()]) for each in (first, second))
    known = ~np.isnan(a_k).any(axis=0) & ~np.isnan(b_k).any(axis=0)
    a_k, b_k = a_k[:, known], b_k[:, known]
    a, b = a_k[:, -1], b_k[:, -1]
    points = [difference(*each, paired, confidence) for each in zip(a_k.T, b_k.T, strict=True)]
    return Pair(
        baseline,
        other,
        (len(a), len(b)),
        paired,
        confidence,
        points[-1],
        probability_of_improvement(a, b, confidence),
        seeds_to_tell(a, b, paired, confidence),
        grid[known],
        *np.array(points, float).T,
    )
