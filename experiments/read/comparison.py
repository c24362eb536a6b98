"""Configurations compared by their seeds at equal agent steps, in windows of steps."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from experiments.read.configurations import Configuration, by_configuration, varied
from experiments.read.experiments import Experiment
from experiments.read.statistics import (
    CONFIDENCE,
    Estimate,
    difference,
    interquartile_difference,
    probability_of_improvement,
    seeds_to_tell,
)
from experiments.read.trial import Trial
from experiments.read.windows import SCORES, Arrivals, Windows, telling, window_size, windows
from trainables.checks import ConfigError
from trainables.sampling.console import agent_step
from trainables.texts import printable

MAX_SIDES = 6
"""Configurations in a comparison: as many as figures have colours."""


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

    def begins_at(self, score: float) -> bool:
        """Whether it is a fork that has the score in its first window with a game: it may have come to it before."""
        known_w = self.windows.return_w[~np.isnan(self.windows.return_w)]
        return self.trial.began > 0 and bool((known_w[:1] >= score).any())

    def returns_at(self, steps: np.ndarray) -> np.ndarray:
        """Mean returns in the windows that end at ``steps`` (k,), or in the last ones before in which a game ended.

        NaN where there is none. A run that diverged keeps the return that it reported then.
        """
        index = np.searchsorted(self.windows.end_w, steps, side="right") - 1
        known = np.append(self.windows.known_w, np.nan)  # index -1: before the first
        last = float(max(self.windows.end_w, default=0))
        after = np.where(self.trial.diverged, self.trial.last, np.nan)
        return np.where(np.asarray(steps) <= last, known[index], after)


class Side(NamedTuple):
    """A configuration in a comparison, and its seeds that have results."""

    label: str
    configuration: Configuration
    curves: list[Curve]

    def at(self, steps: float) -> dict[int, float]:
        """Mean return by seed, of the seeds that came to ``steps``, in the window that ends there."""
        found = {curve.seed: float(curve.returns_at(np.array([steps]))[0]) for curve in self.curves}
        return {seed: found[seed] for seed in sorted(found) if not math.isnan(found[seed])}

    def arrivals(self, score: float) -> Arrivals:
        """When its seeds came to a score."""
        found = [(curve, curve.windows.steps_to(score)) for curve in self.curves]
        ended = tuple(curve.end for curve, steps in found if steps is None)
        came = [(steps, curve.begins_at(score)) for curve, steps in found if steps is not None]
        exact, at_most = (sorted(steps for steps, before in came if before == which) for which in (False, True))
        return Arrivals(score, tuple(exact), ended, tuple(at_most))


class Pair(NamedTuple):
    """What a side has over the one that it is compared with, at equal steps."""

    baseline: Side
    other: Side
    seeds: tuple[int, int]  # that came so far, of each
    paired: bool  # the same seeds: entry by entry
    confidence: float  # of its intervals
    mean: Estimate  # difference of mean returns
    interquartile: Estimate  # difference of interquartile means
    improvement: Estimate  # probability that a seed of the other one scores higher
    area: Estimate  # difference of mean returns over all steps until then: high for a side that learns earlier
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
    return Side(label, configuration, [Curve(t, windows(t.rows, window)) for t in configuration.trials if t.rows])


def arrivals(sides: Sequence[Side], window: int) -> list[Sequence[Arrivals]]:
    """When each side's seeds came to scores, score by score, of those that say something."""
    return telling([[one.arrivals(score) for one in sides] for score in SCORES], window)


def compare(groups: Sequence[Sequence[Experiment]], window: int = 0, steps: int = 0, best: int = 0) -> Comparison:
    """Compare the configurations of groups of experiments with the first one; a group's seeds are taken together.

    ``window`` is the windows' size (0: ``window_size``), ``steps`` where to compare (0: where the shortest run ended
    that did not diverge), and ``best`` how many of the best configurations of each group count (0: all). Raises
    ConfigError if there is nothing to compare.
    """
    found = [_configurations(group, best) for group in groups]
    if not (all(found) and 2 <= sum(map(len, found)) <= MAX_SIDES):
        raise ConfigError(_wrong_count(groups, found))
    if len(env_ids := dict.fromkeys(c.env_id for group in found for c in group)) > 1:
        played = " against ".join(f"{printable(env_id)} (an agent step is {agent_step(env_id)})" for env_id in env_ids)
        raise ConfigError(f"{played}: neither steps nor returns are the same there, so no difference is tested")
    rows = [trial.rows for group in found for c in group for trial in c.trials if not trial.diverged]
    size = window or window_size(rows)
    sides = [one for group, experiments in zip(found, groups, strict=True) for one in _sides(group, experiments, size)]
    curves = [curve for one in sides for curve in one.curves]
    ends = [curve.end for curve in curves if math.isfinite(curve.end)]
    end = int((steps // size) * size if steps else min(ends, default=0))
    if not end or not all(one.at(end) for one in sides):
        shortest = min((row[-1]["timesteps_total"] for row in rows if row), default=0)
        raise ConfigError(
            f"no window of {size:,} agent steps in which a game ended is common to all; the shortest run has"
            f" {shortest:,} steps. Give --window or --steps, or leave that run out"
        )
    begins = [int(curve.windows.end_w[0]) for curve in curves if len(curve.windows.end_w)]
    begin = max(begins, default=end)  # a fork's is later
    grid = np.arange(min(begin, end), end + 1, size)
    pairs = [_pair(sides[0], other, grid, 1 - (1 - CONFIDENCE) / (len(sides) - 1)) for other in sides[1:]]
    left_out = [curve.trial for one in sides for curve in one.curves if curve.seed not in one.at(end)]
    return Comparison(sides, pairs, size, grid, left_out)


def _configurations(group: Sequence[Experiment], best: int) -> list[Configuration]:
    return [found for found in by_configuration(group) if len(found.scores)][: best or None]


def _wrong_count(groups: Sequence[Sequence[Experiment]], found: Sequence[Sequence[Configuration]]) -> str:
    """One line: there is too little to compare, or too much."""
    for experiments, configurations in zip(groups, found, strict=True):
        if not configurations:
            return f"{_name(experiments)} has no results yet"
    count = sum(map(len, found))
    if count < 2:
        return f"one configuration is nothing to compare: name two experiments, as in compare {_name(groups[0])} OTHER"
    return f"{count} configurations: accepted are 2 to {MAX_SIDES}; --best 1 takes the best one of each experiment"


def _name(experiments: Sequence[Experiment]) -> str:
    more = len(experiments) - 1
    return experiments[0].name + (f" and {more} more" if more else "")


def _sides(found: Sequence[Configuration], experiments: Sequence[Experiment], size: int) -> list[Side]:
    names = varied(found)
    told = bool(names) or len(found) > 1  # by settings, or by where they came from
    labels = [f"{_name(experiments)}: {c.label(names)}" if told or c.origin else _name(experiments) for c in found]
    return [side(label, c, size) for label, c in zip(labels, found, strict=True)]


def _pair(baseline: Side, other: Side, grid: np.ndarray, confidence: float) -> Pair:
    first, second = baseline.at(grid[-1]), other.at(grid[-1])
    paired = first.keys() == second.keys() and len(first) > 1
    a, b = np.array([*first.values()]), np.array([*second.values()])
    a_k, b_k = _samples(baseline, first, grid), _samples(other, second, grid)
    known = ~np.isnan(a_k).any(axis=0) & ~np.isnan(b_k).any(axis=0)
    points = [difference(a_k[:, k], b_k[:, k], paired, confidence) for k in np.flatnonzero(known)]
    mean_k, low_k, high_k = np.array(points, float).T
    return Pair(
        baseline,
        other,
        (len(a), len(b)),
        paired,
        confidence,
        difference(a, b, paired, confidence),
        interquartile_difference(a, b, confidence),
        probability_of_improvement(a, b, confidence),
        difference(a_k[:, known].mean(axis=1), b_k[:, known].mean(axis=1), paired, confidence),
        seeds_to_tell(a, b, paired, confidence),
        grid[known],
        mean_k,
        low_k,
        high_k,
    )


def _samples(one: Side, seeds: Iterable[int], grid: np.ndarray) -> np.ndarray:
    """Mean returns (n, k) of these seeds, in their order, in the windows that end at ``grid``."""
    by_seed = {curve.seed: curve for curve in one.curves}
    return np.array([by_seed[seed].returns_at(grid) for seed in seeds])
