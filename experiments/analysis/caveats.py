"""What a comparison does not say by itself: which of its sides were picked, which run limits it, what scores say."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy  # whose parts are loaded as they are first named

from experiments.analysis.comparison import Comparison, Curve, Pair, Side
from experiments.analysis.rank_correlation import order_says
from trainables.metrics import SCORE_STEPS

MAX_NAMED = 3
"""Runs that are named as those that limit a comparison."""


def caveats(comparison: Comparison, mark: Callable[[str], str] = str) -> list[str]:
    """What a comparison does not say by itself, line by line. ``mark`` makes of a label or name what is shown of it."""
    first = comparison.sides[0].configuration
    found = [order_says(comparison.steps, first.env_id), picked(comparison.sides, mark), limit(comparison, mark)]
    for pair in comparison.pairs:
        found.append(other_order(pair, comparison, mark))
    return [text for text in found if text]


def picked(sides: Sequence[Side], mark: Callable[[str], str] = str) -> str:
    """From how many configurations each side was picked, and what that is worth by luck alone; empty if none was."""
    words, worth = [], {}
    for side in sides:
        count = side.picked_from
        if count == 1:
            words.append(f"{mark(side.label)} was not picked")
        else:
            words.append(f"{mark(side.label)} was picked from {count} configurations by their scores")
            worth[count] = f"the best of {count} is {expected_best(count):.1f}"
    if not worth:
        return ""
    return (
        f"{', '.join(words)}. If luck alone told configurations apart, one would expect that"
        f" {' and '.join(worth.values())} standard deviations above the mean of all. Fresh seeds (--confirm) tell."
    )


def expected_best(count: int) -> float:
    """The expected greatest one of ``count`` independent draws from the standard normal distribution."""
    shares = (np.arange(10_000) + 0.5) / 10_000
    return float(scipy.stats.norm.ppf(shares ** (1 / count)).mean())


def limit(comparison: Comparison, mark: Callable[[str], str] = str) -> str:
    """Which runs ended where the sides are compared, and where the sides would be compared without these runs.

    Empty if no run ended there, if none went further than a window, since last iterations differ in length, or if sides
    ended there with all their seeds, each as planned.
    """
    shortest, longer = _ended_and_longer(comparison)
    if not shortest or not longer:
        return ""
    ended_sides = [side for side in comparison.sides if {curve.end for curve in side.curves} == {comparison.steps}]
    of_ended = [curve for side in ended_sides for curve in side.curves]
    if _as_planned(of_ended) or (_as_planned(shortest) and max(longer) <= comparison.steps + comparison.window):
        return ""
    text = f"They are compared at {comparison.steps:,} agent steps, where {_named(shortest, mark)} ended."
    if ended_sides:
        return f"{text} Without that {mark(ended_sides[0].label)} has no seed."
    return f"{text} --steps {int(min(longer))} leaves that out, and compares at {int(min(longer)):,}."


def _ended_and_longer(comparison: Comparison) -> tuple[list[Curve], list[float]]:
    """The runs that ended where the sides are compared, and where those ended that went further."""
    ended, longer = [], []
    for side in comparison.sides:
        for curve in side.curves:
            if curve.end == comparison.steps:
                ended.append(curve)
            elif comparison.steps < curve.end < math.inf:
                longer.append(curve.end)
    return ended, longer


def _as_planned(curves: Sequence[Curve]) -> bool:
    """Whether there are such runs, and all of them ended as planned."""
    return bool(curves) and all(curve.trial.ended_as_planned for curve in curves)


def _named(curves: Sequence[Curve], mark: Callable[[str], str]) -> str:
    """Runs by experiment, trial and state, the first ``MAX_NAMED`` of them."""
    names = []
    for curve in curves[:MAX_NAMED]:
        trial = curve.trial
        names.append(f"{mark(f'{trial.folder.parent.name}/{trial.name}')} ({trial.state})")
    if len(curves) > MAX_NAMED:
        names.append(f"{len(curves) - MAX_NAMED} more")
    return ", ".join(names)


def other_order(pair: Pair, comparison: Comparison, mark: Callable[[str], str] = str) -> str:
    """Which side is ahead by its score, where the other one is by its returns in windows, and why; else empty."""
    points = pair.other.configuration.score - pair.baseline.configuration.score
    if points * pair.mean.value >= 0:
        return ""
    ahead = pair.baseline
    if points > 0:
        ahead = pair.other
    return (
        f"By its latest score, which a report shows, {mark(ahead.label)} is ahead, by {abs(points):.2f}: a score is of"
        f" the games in the last {SCORE_STEPS:,} agent steps of each seed, and returns here are of the"
        f" {comparison.window:,} up to {comparison.steps:,}."
    )
