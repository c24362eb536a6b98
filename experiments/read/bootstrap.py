"""How sure a mean over a few random seeds is: the bootstrap, which resamples the seeds (Efron 1979).

Intervals are percentile intervals; with three seeds they are rather too narrow than too wide. Every resampling has its
own generator with a fixed seed, so the same data always give the same figures.
"""

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 4000


def mean_interval(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the bootstrap interval of ``samples.mean(axis=0)``; samples (n, ...), one row for each seed, n >= 2.

    Raises ValueError for a single seed: one number says nothing about its spread.
    """
    samples = np.asarray(samples, float)
    if len(samples) < 2:
        raise ValueError("an interval needs two seeds at least")
    from scipy import stats  # 0.4 s, which no program without intervals should wait for

    interval = stats.bootstrap(
        (samples,),
        np.mean,
        axis=0,
        confidence_level=CONFIDENCE,
        n_resamples=RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return interval.low, interval.high


def probability_of_higher_mean(first: np.ndarray, second: np.ndarray) -> float:
    """Share of resamplings of both sets of seeds in which ``first`` (n,) has a higher mean than ``second`` (m,).

    Ties count half, so that two equal sets give 0.5.
    """
    rng = np.random.default_rng(0)
    means = [rng.choice(np.asarray(scores, float), (RESAMPLES, len(scores))).mean(axis=1) for scores in (first, second)]
    difference = means[0] - means[1]
    return float((difference > 0).mean() + (difference == 0).mean() / 2)


def area_under(returns: np.ndarray, steps: np.ndarray) -> float:
    """Mean of a learning curve over its steps, both (n,): the area under it (trapezoids) / the steps that it spans.

    It is in units of the return: high for a trial that learns early, whatever its length.
    """
    if len(returns) == 1:
        return float(returns[0])
    return float(np.trapezoid(returns, steps) / (steps[-1] - steps[0]))
