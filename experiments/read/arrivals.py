"""How many agent steps a score took, over seeds of which some never came to it: censored data.

A median over those that arrived would praise an algorithm for the seeds that it loses. Kaplan and Meier's estimate
(1958) counts the others too: as not arrived yet when their run ended.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SCORES = (-20.0, -15.0, -10.0, -5.0, 0.0, 5.0, 10.0, 14.0, 16.0, 17.0, 18.0, 19.0, 20.0)
"""Scores of Pong that tables name, where a seed comes to them."""

MAX_SCORES = 7
"""Columns of such a table."""


class Arrivals(NamedTuple):
    """When a configuration's seeds came to a score. As text: ``2.9 M (3 of 5)``, the median and how many came."""

    score: float
    steps: tuple[float, ...]  # agent steps at the end of the first window at the score, of those that arrived
    ended: tuple[float, ...]  # agent steps at which the others' runs ended; inf for one that diverged

    def __str__(self) -> str:
        share = f"{len(self.steps)} of {len(self.steps + self.ended)}"
        if (half := median(self.steps, self.ended)) is not None:
            return f"{millions(half)} ({share})"
        followed = [steps for steps in self.steps + self.ended if math.isfinite(steps)]
        return f"> {millions(max(followed))} ({share})" if followed else f"never ({share})"


def telling(found: Sequence[Sequence[Arrivals]], window: int) -> list[Sequence[Arrivals]]:
    """Of several configurations' arrivals, score by score, those that say something: at most ``MAX_SCORES``.

    Some seed came there, and not all of them in their first window of so many steps. The highest scores are kept.
    """
    late = [
        sides
        for sides in found
        if any(side.steps for side in sides) and max(t for side in sides for t in side.steps + side.ended) > window
    ]
    return late[-MAX_SCORES:]


def median(arrived: Sequence[float], ended: Sequence[float]) -> float | None:
    """The first time at which Kaplan and Meier's share of those still waiting is a half or less; None if it never is.

    ``arrived`` are times of arrival; ``ended`` are the times until which others were followed, who had not arrived.
    """
    if not arrived:
        return None
    from scipy import stats  # 0.4 s, which no program without intervals should wait for

    right = [min(end, max(arrived) + 1) for end in ended]  # whether anybody was followed longer changes nothing
    waiting = stats.ecdf(stats.CensoredData(uncensored=[*arrived], right=right)).sf
    half = np.flatnonzero(waiting.probabilities <= 0.5 + 1e-9)
    return float(waiting.quantiles[half[0]]) if len(half) else None


def millions(steps: float) -> str:
    """Agent steps in words: ``2.9 M``, ``12,000``."""
    return f"{steps / 1e6:.3g} M" if steps >= 100_000 else f"{steps:,.0f}"
