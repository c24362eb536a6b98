"""Returns in windows of agent steps, as Dopamine reports them, and how many steps a score took.

Dopamine (Castro et al. 2018) plays 250,000 agent steps and reports the mean return of the games that ended in them. The
mean of the last 100 games lags behind that by as many steps as 100 games have.

How many steps a score took, over seeds of which some never came to the score, is censored data. A median over the seeds
that came to it would praise an algorithm for the seeds that it loses. Kaplan and Meier's estimate (1958) counts the
others too: as seeds that had not come to the score when their run ended.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy  # whose parts are loaded as they are first named

from trainables.checks import ConfigError

WINDOW_STEPS = 250_000  # agent steps of Dopamine's windows
MAX_WINDOWS = 10_000  # of a trial: more than any has, unless somebody else wrote its rows
FEWEST = 4  # windows that a run is cut into, at least

SHORT_RUN = 8
"""Windows that a run of less than four windows of ``WINDOW_STEPS`` is cut into, if its iterations are short enough."""

ROUND_SIZES = [digit * 10**power for power in range(5) for digit in (1, 2, 5)] + [100_000, 200_000]
"""Round sizes of windows below ``WINDOW_STEPS``, ascending."""


class Windows(NamedTuple):
    """A trial's windows (w,), as far as they are complete."""

    end_w: np.ndarray  # agent steps at the window's end
    return_w: np.ndarray  # mean return of the games that ended in the window, NaN if none did
    games_w: np.ndarray  # number of these games; not whole where a window ends within an iteration
    seconds_w: np.ndarray  # training time at the window's end, NaN where rows lack times

    @property
    def known_w(self) -> np.ndarray:
        """Mean returns; where no game ended, that of the latest window before in which one did, NaN without any."""
        latest = np.maximum.accumulate(np.where(np.isnan(self.return_w), -1, np.arange(len(self.return_w))))
        return np.append(self.return_w, np.nan)[latest]

    def steps_to(self, score: float) -> float | None:
        """The end of the first window whose mean return is at least ``score``; None if there is none."""
        arrived = self.end_w[self.return_w >= score]
        if not len(arrived):
            return None
        return float(arrived[0])


def windows(rows: Sequence[Mapping[str, Any]], size: int) -> Windows:
    """The windows of ``size`` agent steps of a trial's result rows.

    A row has the number and the mean return of an iteration's games. Where a window ends within an iteration, both
    windows count its games, in proportion to their shares of its steps. Rows that lack these figures count no games.
    Raises ConfigError if there are more than ``MAX_WINDOWS``.
    """

    def column(name: str) -> np.ndarray:
        return np.array([row.get(name, np.nan) for row in rows], float)

    end_n = np.maximum.accumulate(column("timesteps_total"))
    before_n = np.concatenate([[0.0], end_n[:-1]])
    start_n = np.clip(end_n - np.nan_to_num(column("timesteps_this_iter")), before_n, end_n)
    first = last = 0
    if len(rows):
        first, last = int(start_n[0] // size), int(end_n[-1] // size)
    if last - first > MAX_WINDOWS:
        raise ConfigError(f"{last - first:,} windows of {size:,} agent steps: accepted are up to {MAX_WINDOWS:,}")
    if last == first:
        return Windows(*np.empty((4, 0)))
    edges = np.arange(first, last + 1) * float(size)
    steps = np.stack([start_n, end_n], axis=1).ravel()

    def per_window(amount_n: np.ndarray) -> np.ndarray:
        """What of the iterations' amounts falls into each window; an amount is spread evenly over its iteration."""
        after_n = np.cumsum(amount_n)
        so_far = np.stack([after_n - amount_n, after_n], axis=1).ravel()
        return np.diff(np.interp(edges, steps, so_far))

    count_n = np.nan_to_num(np.maximum(column("episodes_this_iter"), 0))
    games_w = per_window(count_n)
    total_w = per_window(count_n * np.nan_to_num(column("episode_reward_batch_mean")))
    return_w = np.divide(total_w, games_w, out=np.full(len(games_w), np.nan), where=games_w > 1e-9)
    seconds_w = np.interp(edges[1:], end_n, column("time_total_s"))
    return Windows(edges[1:], return_w, games_w, seconds_w)


def window_size(trials: Sequence[Sequence[Mapping[str, Any]]]) -> int:
    """A size of windows for several trials' rows: ``WINDOW_STEPS``, or less if a trial is too short for ``FEWEST``.

    A size that is less is the largest of ``ROUND_SIZES`` that cuts the shortest trial into ``SHORT_RUN`` windows, each
    as long as the longest iteration or longer. If there is none it is the least size that is as long as an iteration
    and makes ``FEWEST`` windows; and if iterations are longer than that the largest size that makes ``FEWEST``. Without
    rows it is ``WINDOW_STEPS``. A fork's trial is as long as what it played itself.
    """
    shortest = shortest_run(trials)
    fitting = [size for size in ROUND_SIZES if size * FEWEST <= shortest]
    if not fitting or shortest >= FEWEST * WINDOW_STEPS:
        return WINDOW_STEPS
    iteration = _longest_iteration(trials)
    whole = [size for size in fitting if size >= iteration]
    if not whole:
        return fitting[-1]
    many = [size for size in whole if size * SHORT_RUN <= shortest]
    if not many:
        return whole[0]
    return many[-1]


def shortest_run(trials: Sequence[Sequence[Mapping[str, Any]]]) -> int:
    """Agent steps of the shortest of these trials, by their rows, without those of a fork's origin; 0 without rows."""
    played = []
    for rows in trials:
        if rows:
            first = rows[0]
            before = first["timesteps_total"] - first.get("timesteps_this_iter", first["timesteps_total"])
            played.append(rows[-1]["timesteps_total"] - before)
    return min(played, default=0)


def _longest_iteration(trials: Sequence[Sequence[Mapping[str, Any]]]) -> float:
    """Agent steps of the longest iteration among several trials' rows."""
    longest = 1.0
    for rows in trials:
        for row in rows:
            longest = max(longest, row.get("timesteps_this_iter", 1))
    return longest


SCORES = (-20.0, -15.0, -10.0, -5.0, 0.0, 5.0, 10.0, 14.0, 16.0, 17.0, 18.0, 19.0, 20.0)
"""Scores of Pong that tables name, where a seed comes to them."""

MAX_SCORES = 7  # columns of such a table


class Arrivals(NamedTuple):
    """When a configuration's seeds came to a score. As text: ``2.9 M (3 of 5)``, the median and how many came.

    The text is ``at most 2.9 M (3 of 5)`` where the median is that of forks which had the score as they began,
    ``> 2.9 M (2 of 5)`` where less than half of the seeds came, and ``never (0 of 5)`` where all seeds diverged first.
    """

    score: float
    steps: tuple[float, ...]  # agent steps at the end of the first window at the score, of the seeds that came to it
    ended: tuple[float, ...]  # agent steps at which the runs of other seeds ended; inf for one that diverged
    at_most: tuple[float, ...] = ()  # the same of forks that had the score in their first window, or before they began

    def __str__(self) -> str:
        came = self.steps + self.at_most
        share = f"{len(came)} of {len(came + self.ended)}"
        half = median(came, self.ended)
        if half is None:
            followed = [steps for steps in came + self.ended if math.isfinite(steps)]
            if not followed:
                return f"never ({share})"
            return f"> {millions(max(followed))} ({share})"
        earliest = median(self.steps + (0.0,) * len(self.at_most), self.ended)
        if half != earliest:
            return f"at most {millions(half)} ({share})"
        return f"{millions(half)} ({share})"


def telling(found: Sequence[Sequence[Arrivals]], window: int) -> list[Sequence[Arrivals]]:
    """Of several configurations' arrivals, score by score, those that say something: at most ``MAX_SCORES``.

    A score says something if a seed came to it, and not all seeds in their first window, which has ``window`` agent
    steps. The highest scores are kept.
    """

    def says_something(sides: Sequence[Arrivals]) -> bool:
        came, latest = False, 0.0
        for side in sides:
            came = came or bool(side.steps + side.at_most)
            latest = max(latest, *side.steps, *side.ended, 0.0)
        return came and latest > window

    return [sides for sides in found if says_something(sides)][-MAX_SCORES:]


def median(arrived: Sequence[float], ended: Sequence[float]) -> float | None:
    """The first time at which half of the seeds or fewer have not arrived, by Kaplan and Meier; None if never.

    ``arrived`` are times of arrival; ``ended`` are the times until which the seeds were followed that had not arrived.
    """
    if not arrived:
        return None
    right = [min(end, max(arrived) + 1) for end in ended]  # a seed that was followed longer changes nothing
    waiting = scipy.stats.ecdf(scipy.stats.CensoredData(uncensored=[*arrived], right=right)).sf
    half = np.flatnonzero(waiting.probabilities <= 0.5 + 1e-9)
    if not len(half):
        return None
    return float(waiting.quantiles[half[0]])


def millions(steps: float) -> str:
    """Agent steps in words: ``2.9 M``, ``12,000``."""
    if steps >= 100_000:
        return f"{steps / 1e6:.3g} M"
    return f"{steps:,.0f}"
