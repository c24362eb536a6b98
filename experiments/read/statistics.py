"""How two sets of seeds' scores differ, how much a setting explains of scores, and how sure either is.

Differences after Agarwal et al. (2021), "Deep Reinforcement Learning at the Edge of the Statistical Precipice"
(https://arxiv.org/abs/2108.13264), which asks for intervals, interquartile means and probabilities of improvement in
place of bare means. It has many games, and resamples them; here is one game with a few seeds, for which resampling
gives intervals that are much too narrow. Methods were chosen by simulation, which
`tests/experiments/read/test_statistics.py` repeats; docs/comparing.md has its table.

Importance is the share Var(E[score | setting]) / Var(score): Sobol's (1993) first index, and the importance of a single
setting in functional ANOVA (Hutter et al. 2014, https://proceedings.mlr.press/v32/hutter14.html). Hutter et al. take
the expectation from a random forest, which has no interval. Here it is a regression on the setting alone, as the draws
of a sweep are independent of each other: on groups of equal values, or on Legendre polynomials of the setting's rank
(Sudret 2008), so that a logarithm changes nothing. The estimate is Kelley's (1935), without the bias of R squared; the
interval is that of the noncentral F distribution (Steiger 2004). docs/reading_results.md has what it covers.
"""

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy  # whose parts are loaded as they are first named

from experiments.read.configurations import Configuration
from experiments.read.trial import Trial
from experiments.record.decisions import Spread

CONFIDENCE = 0.95
POWER = 0.8  # probability with which as many seeds as ``seeds_to_tell`` says would show a difference that is there

MAX_SEEDS = 1000

TRIM = 0.25  # share of the scores that the interquartile mean leaves out at each end


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


def difference(
    first: np.ndarray, second: np.ndarray, paired: bool, confidence: float = CONFIDENCE, trim: float = 0.0
) -> Estimate:
    """Mean of ``second`` (m,) minus mean of ``first`` (n,), with its t interval.

    It is the paired one of Student, where entry i of both is of the same seed; or the one of Welch (1947), and with a
    share to ``trim`` at each end that of Yuen (1974). Where no scores have any spread it is a point. Raises ValueError
    if one of the two is empty.
    """
    _require_scores(first, second)
    value = float(scipy.stats.trim_mean(second, trim) - scipy.stats.trim_mean(first, trim))
    if min(len(scores) - 2 * int(trim * len(scores)) for scores in (first, second)) < 2:
        return Estimate(value)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of scores without spread
        if paired:
            found = scipy.stats.ttest_rel(second, first).confidence_interval(confidence)
        else:
            test = scipy.stats.ttest_ind(second, first, equal_var=False, trim=trim)
            found = test.confidence_interval(confidence)
    return Estimate(value, value, value) if math.isnan(found.low) else Estimate(value, *map(float, found))


def welch_half(first: Spread, second: Spread, confidence: float = CONFIDENCE) -> float:
    """Half of Welch's (1947) interval of the difference of two means, each of two games or more.

    With v = deviation^2 / games of each it is t sqrt(v_1 + v_2), where t has (v_1 + v_2)^2 / (v_1^2 / (games_1 - 1) +
    v_2^2 / (games_2 - 1)) degrees of freedom. 0 if neither deviates.
    """
    v_1, v_2 = first.deviation**2 / first.games, second.deviation**2 / second.games
    if v_1 + v_2 == 0:
        return 0.0
    freedom = (v_1 + v_2) ** 2 / (v_1**2 / (first.games - 1) + v_2**2 / (second.games - 1))
    return float(scipy.stats.t.ppf((1 + confidence) / 2, freedom) * math.sqrt(v_1 + v_2))


def _require_scores(first: np.ndarray, second: np.ndarray) -> None:
    for name, scores in (("first", first), ("second", second)):
        if not len(scores):
            raise ValueError(f"the {name} of the two has no scores: which trials were meant?")


def interquartile_mean(scores: np.ndarray) -> float:
    """Mean of the middle half of the scores (n,); of fewer than four it is the mean."""
    return float(scipy.stats.trim_mean(scores, TRIM))


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
    low = scipy.optimize.brentq(outside, 0.0, min(estimate, 1 - tiny)) if estimate > 0 else 0.0
    high = scipy.optimize.brentq(outside, max(estimate, tiny), 1.0) if estimate < 1 else 1.0
    return Estimate(estimate, low, high)


def seeds_to_tell(first: np.ndarray, second: np.ndarray, paired: bool, confidence: float = CONFIDENCE) -> int | None:
    """Seeds of each with which the interval leaves out 0 with probability ``POWER``, if differences stay as they are.

    That is, if mean and spread of the scores are those of ``first`` and ``second``: with few seeds a rough guess. None
    if they are more than ``MAX_SEEDS``, or if there is no spread to judge by. By the noncentral t distribution.
    """
    if min(len(first), len(second)) < 2:
        return None
    shift = abs(float(np.mean(second) - np.mean(first)))
    variance = np.var(np.subtract(second, first), ddof=1) if paired else sum(np.var(s, ddof=1) for s in (first, second))
    if shift == 0 or variance == 0:
        return None
    n = np.arange(2, MAX_SEEDS + 1)
    degrees = (n - 1) * (1 if paired else 2)
    limit = scipy.stats.t.ppf((1 + confidence) / 2, degrees)
    enough = scipy.stats.nct.sf(limit, degrees, shift / np.sqrt(variance / n)) >= POWER
    return int(n[enough][0]) if enough.any() else None


MIN_CONFIGURATIONS = 20
"""With so many, the interval of a setting that explains nothing ends at 43% on average; with fewer, still later."""

MAX_GROUPS = 4  # values of a number that are groups; one with more values is a range
DEGREE = 4  # of the polynomials: with 2 or 3, half of the intervals miss what a peak in the middle of a range explains

NEARLY_ALL = 1 - 1e-6
"""The largest share that an interval is computed for; beyond, the distribution cannot be evaluated."""


def importances(
    configurations: Iterable[Configuration], trials: Sequence[Trial], scores: Sequence[float], names: Iterable[str]
) -> tuple[int, dict[str, Estimate]]:
    """How many configurations have a score, and the importance of each of the settings ``names``, the largest first.

    ``scores`` are those of the ``trials``, at equal steps. Seeds of a configuration count as one, with their mean.
    """
    found = {trial.folder: score for trial, score in zip(trials, scores, strict=True) if np.isfinite(score)}
    each = [(c.config, [found[t.folder] for t in c.all_trials if t.folder in found]) for c in configurations]
    scored = [(config, float(np.mean(seeds))) for config, seeds in each if seeds]
    means = [score for _, score in scored]
    estimates = {name: importance([config.get(name) for config, _ in scored], means) for name in names}
    return len(scored), dict(sorted(estimates.items(), key=lambda item: -np.nan_to_num(item[1].value, nan=-1.0)))


def importance(values: Sequence[Any], scores: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The share of the variance of ``scores`` (n,) that a setting's ``values`` (n,) explain, with its interval.

    NaN where that cannot be said: scores or values without spread, too many choices, fewer than
    ``MIN_CONFIGURATIONS``. Scores are finite.
    """
    score_n = np.asarray(scores, float)
    terms = _terms(values)
    if len(score_n) < MIN_CONFIGURATIONS or terms is None or np.ptp(score_n) == 0:
        return Estimate(np.nan)
    residual_n = score_n - terms @ np.linalg.lstsq(terms, score_n)[0]
    explained = 1 - residual_n.var() / score_n.var()
    return _estimate(float(explained), len(score_n), terms.shape[1] - 1, confidence)


def _terms(values: Sequence[Any]) -> np.ndarray | None:
    """Regressors (n, 1 + degrees of freedom), a constant among them; None if values are all the same, or too many."""
    names_n = np.array([repr(value) for value in values])
    distinct, group_n = np.unique(names_n, return_inverse=True)
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if numeric and len(distinct) > MAX_GROUPS:
        rank_n = 2 * (scipy.stats.rankdata(np.array(values, float)) - 0.5) / len(values) - 1
        return np.polynomial.legendre.legvander(rank_n, DEGREE)
    if not 1 < len(distinct) <= max(MAX_GROUPS, len(values) // 3):
        return None
    return np.eye(len(distinct))[group_n]


def _estimate(explained: float, trials: int, degrees: int, confidence: float) -> Estimate:
    """From R squared. An estimate of less than none is none, in the interval as well."""
    rest = trials - 1 - degrees
    value = max(0.0, 1 - (1 - explained) * (trials - 1) / rest)
    explained = min(explained, NEARLY_ALL)
    ratio = max(1.0, explained / degrees / ((1 - explained) / rest))

    def share(probability: float) -> float:
        """With which a ratio as small as this one, or smaller, has the given probability."""

        def beyond(noncentrality: float) -> float:
            return float(scipy.special.ncfdtr(degrees, rest, noncentrality, ratio)) - probability

        if beyond(0.0) <= 0:
            return 0.0
        top = float(trials)
        while beyond(top) > 0:
            top *= 2
        noncentrality = scipy.optimize.brentq(beyond, 0.0, top)
        return float(noncentrality / (noncentrality + trials))

    return Estimate(value, share((1 + confidence) / 2), share((1 - confidence) / 2))
