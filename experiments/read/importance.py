"""How much of the variance of trials' scores each setting explains by itself, and how sure that is.

The share Var(E[score | setting]) / Var(score) is Sobol's (1993) first index, and the importance of a single setting in
functional ANOVA (Hutter et al. 2014, https://proceedings.mlr.press/v32/hutter14.html). Hutter et al. take the
expectation from a random forest, which has no interval. Here it is a regression on the setting alone, as the draws of a
sweep are independent of each other: on groups of equal values, or on Legendre polynomials of the setting's rank (Sudret
2008), so that a logarithm changes nothing. The estimate is Kelley's (1935), without the bias of R squared; the interval
is that of the noncentral F distribution (Steiger 2004). docs/reading_results.md has what it covers, by simulation.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.read.configurations import Configuration
from experiments.read.differences import CONFIDENCE, Estimate
from experiments.read.trials import TrialResult

MIN_CONFIGURATIONS = 20
"""With so many, the interval of a setting that explains nothing ends at 43% on average; with fewer, still later."""

MAX_GROUPS = 4
"""Values of a number that are groups; one with more values is a range."""

DEGREE = 4
"""Of the polynomials: with 2 or 3, half of the intervals miss what a peak in the middle of a range explains."""

NEARLY_ALL = 1 - 1e-6
"""The largest share that an interval is computed for; beyond, the distribution cannot be evaluated."""


def importances(
    configurations: Sequence[Configuration],
    trials: Sequence[TrialResult],
    scores: Sequence[float],
    names: Sequence[str],
) -> tuple[int, dict[str, Estimate]]:
    """How many configurations have a score, and the importance of each of the settings ``names``, the largest first.

    ``scores`` are those of the ``trials``, at equal steps. Seeds of a configuration count as one, with their mean.
    """
    found = {trial.folder: score for trial, score in zip(trials, scores, strict=True) if np.isfinite(score)}
    scored = [
        (configuration.config, float(np.mean(seeds)))
        for configuration in configurations
        if (seeds := [found[trial.folder] for trial in configuration.trials if trial.folder in found])
    ]
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
        from scipy import stats

        rank_n = 2 * (stats.rankdata(np.array(values, float)) - 0.5) / len(values) - 1
        return np.polynomial.legendre.legvander(rank_n, DEGREE)
    if not 1 < len(distinct) <= max(MAX_GROUPS, len(values) // 3):
        return None
    return np.eye(len(distinct))[group_n]


def _estimate(explained: float, trials: int, degrees: int, confidence: float) -> Estimate:
    """From R squared. An estimate of less than none is none, in the interval as well."""
    from scipy import optimize, special

    rest = trials - 1 - degrees
    value = max(0.0, 1 - (1 - explained) * (trials - 1) / rest)
    explained = min(explained, NEARLY_ALL)
    ratio = max(1.0, explained / degrees / ((1 - explained) / rest))

    def share(probability: float) -> float:
        """With which a ratio as small as this one, or smaller, has the given probability."""

        def beyond(noncentrality: float) -> float:
            return float(special.ncfdtr(degrees, rest, noncentrality, ratio)) - probability

        if beyond(0.0) <= 0:
            return 0.0
        top = float(trials)
        while beyond(top) > 0:
            top *= 2
        noncentrality = optimize.brentq(beyond, 0.0, top)
        return float(noncentrality / (noncentrality + trials))

    return Estimate(value, share((1 + confidence) / 2), share((1 - confidence) / 2))
