"""Evaluation apart from training: what is measured now and then, and how sure it is."""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from trainables.sampling.evaluation import EvaluatedGame

FILM = "evaluation.gif"
"""The last evaluation's first game, in a checkpoint's folder."""


def mean_with_interval(returns: Sequence[float]) -> tuple[float, float, float]:
    """The mean of n returns and its 95% confidence interval (mean, low, high), Student's t.

        mean -+ t * s / sqrt(n),    t the 97.5% quantile for n - 1 degrees of freedom, s the sample deviation

    It speaks of this policy's games. What another seed of training would have given lies outside of it. Where all
    returns are equal the interval is a point, which says little if n is small.
    """
    mean = float(np.mean(returns))
    half = float(stdtrit(len(returns) - 1, 0.975) * np.std(returns, ddof=1) / np.sqrt(len(returns)))
    return mean, mean - half, mean + half


def summarise(iteration: int, sampled: Sequence[EvaluatedGame], greedy: Sequence[EvaluatedGame]) -> dict[str, float]:
    """The metrics of the ``eval/`` family."""
    metrics: dict[str, float] = {}
    for name, games in (("sampled", sampled), ("greedy", greedy)):
        mean, low, high = mean_with_interval([game.episode_return for game in games])
        metrics |= {
            f"eval/return_{name}_mean": mean,
            f"eval/return_{name}_ci95_low": low,
            f"eval/return_{name}_ci95_high": high,
        }
    lengths = [game.length for game in (*sampled, *greedy)]
    return metrics | {"eval/episode_len_mean": float(np.mean(lengths)), "eval/iteration": iteration}
