"""How two sets of seeds' scores differ, and how sure that is.

Differences after Agarwal et al. (2021), "Deep Reinforcement Learning at the Edge of the Statistical Precipice"
(https://arxiv.org/abs/2108.13264), which asks for intervals and probabilities of improvement in place of bare means. It
has many games, and resamples them; here is one game with a few seeds, for which resampling gives intervals that are
much too narrow. Methods were chosen by simulation, which
`tests/experiments/analysis/test_statistics.py` repeats; docs/comparing.md has its table.
"""

import math
import warnings
from typing import NamedTuple

import numpy as np
import scipy  # whose parts are loaded as they are first named

from experiments.disk.decisions import Spread

CONFIDENCE = 0.95
POWER = 0.8
"""Probability with which as many seeds as ``seeds_to_tell`` says would show a difference that is there."""

MAX_SEEDS = 1000
"""Seeds up to which ``seeds_to_tell`` looks for a number that is enough."""


class Estimate(NamedTuple):
    """A figure and the ends of its interval, NaN where the seeds are too few for one."""

    value: float
    low: float = math.nan
    high: float = math.nan

    def excludes(self, value: float) -> bool:
        """Whether the interval is known and does not hold the value."""
        return bool(self.low > value or self.high < value)


def mean_interval(samples: np.ndarray, confidence: float = CONFIDENCE) -> tuple[np.ndarray, np.ndarray]:
    """Ends of Student's interval of ``samples.mean(axis=0)``; samples (n, ...), a row a seed, n >= 2."""
    half = scipy.stats.t.ppf((1 + confidence) / 2, len(samples) - 1) * scipy.stats.sem(samples, axis=0)
    return samples.mean(axis=0) - half, samples.mean(axis=0) + half


def next_interval(scores: np.ndarray) -> tuple[float, float]:
    """Ends of Student's prediction interval of the next seed's score; scores (n,), n >= 2.

    With mean m and standard deviation s of n scores it is m +- t s sqrt(1 + 1/n), where t has n - 1 degrees of freedom:
    in ``CONFIDENCE`` of all cases it holds the next score, if scores are normal (Patterson et al. 2024, JMLR 25:318).
    """
    half = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, len(scores) - 1) * np.std(scores, ddof=1)
    half *= math.sqrt(1 + 1 / len(scores))
    return float(np.mean(scores) - half), float(np.mean(scores) + half)


def difference(first: np.ndarray, second: np.ndarray, paired: bool, confidence: float = CONFIDENCE) -> Estimate:
    """Mean of ``second`` (m,) minus mean of ``first`` (n,), with its t interval.

    It is the paired one of Student, where entry i of both is of the same seed; or the one of Welch (1947). Where no
    scores have any spread it is a point. Raises ValueError if one of the two is empty.
    """
    _require_scores(first, second)
    value = float(np.mean(second) - np.mean(first))
    if min(len(first), len(second)) < 2:
        return Estimate(value)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of scores without spread
        if paired:
            found = scipy.stats.ttest_rel(second, first).confidence_interval(confidence)
        else:
            found = scipy.stats.ttest_ind(second, first, equal_var=False).confidence_interval(confidence)
    if math.isnan(found.low):
        return Estimate(value, value, value)
    return Estimate(value, float(found.low), float(found.high))


def welch_half(first: Spread, second: Spread) -> float:
    """Half of Welch's (1947) interval of the difference of two means, each of two games or more.

    With v = deviation^2 / games of each it is t sqrt(v_1 + v_2), where t has (v_1 + v_2)^2 / (v_1^2 / (games_1 - 1) +
    v_2^2 / (games_2 - 1)) degrees of freedom. 0 if neither deviates.
    """
    v_1, v_2 = first.deviation**2 / first.games, second.deviation**2 / second.games
    if v_1 + v_2 == 0:
        return 0.0
    freedom = (v_1 + v_2) ** 2 / (v_1**2 / (first.games - 1) + v_2**2 / (second.games - 1))
    return float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * math.sqrt(v_1 + v_2))


def _require_scores(first: np.ndarray, second: np.ndarray) -> None:
    """Raise ValueError if one of two sets of scores is empty."""
    for name, scores in (("first", first), ("second", second)):
        if not len(scores):
            raise ValueError(f"the {name} of the two has no scores: which trials were meant?")


def probability_of_improvement(first: np.ndarray, second: np.ndarray, confidence: float = CONFIDENCE) -> Estimate:
    """Probability that a seed of ``second`` (m,) scores higher than one of ``first`` (n,); ties count half.

    The estimate is Mann and Whitney's U / (n m). The interval is Newcombe's (2006, method 5), a score interval with
    Hanley and McNeil's variance, with quantiles of Student's t for those of the normal distribution: with few seeds
    these are too narrow. The probabilities p in it are those with

        |estimate - p| <= t sqrt(V(p)),   V(p) = p (1 - p) (1 + (s - 1) ((1 - p) / (2 - p) + p / (1 + p))) / (n m),

    where s = (n + m) / 2 and t has n + m - 2 degrees of freedom. Raises ValueError if one of them is empty.
    """
    _require_scores(first, second)
    n, m = len(first), len(second)
    estimate = float(scipy.stats.mannwhitneyu(second, first, method="asymptotic").statistic) / (n * m)
    if min(n, m) < 2:
        return Estimate(estimate)
    quantile = scipy.stats.t.ppf((1 + confidence) / 2, n + m - 2)

    def outside(p: float) -> float:
        variance = p * (1 - p) * (1 + ((n + m) / 2 - 1) * ((1 - p) / (2 - p) + p / (1 + p))) / (n * m)
        return (estimate - p) ** 2 - quantile**2 * variance

    tiny = 1e-9  # at 0 and 1 the variance is 0, just inside it is not
    low, high = 0.0, 1.0
    if estimate > 0:
        low = scipy.optimize.brentq(outside, 0.0, min(estimate, 1 - tiny))
    if estimate < 1:
        high = scipy.optimize.brentq(outside, max(estimate, tiny), 1.0)
    return Estimate(estimate, low, high)


def seeds_to_tell(first: np.ndarray, second: np.ndarray, paired: bool, confidence: float = CONFIDENCE) -> int | None:
    """Seeds of each with which the interval leaves out 0 with probability ``POWER``, if differences stay as they are.

    That is, if mean and spread of the scores are those of ``first`` and ``second``: with few seeds a rough guess. None
    if they are more than ``MAX_SEEDS``, or if there is no spread to judge by. By the noncentral t distribution.
    """
    if min(len(first), len(second)) < 2:
        return None
    shift = abs(float(np.mean(second) - np.mean(first)))
    if paired:
        variance, samples = float(np.var(second - first, ddof=1)), 1
    else:
        variance, samples = float(np.var(first, ddof=1) + np.var(second, ddof=1)), 2
    if shift == 0 or variance == 0:
        return None
    n = np.arange(2, MAX_SEEDS + 1)
    freedom = samples * (n - 1)
    limit = scipy.stats.t.ppf((1 + confidence) / 2, freedom)
    enough = scipy.stats.nct.sf(limit, freedom, shift / np.sqrt(variance / n)) >= POWER
    if not enough.any():
        return None
    return int(n[enough][0])
