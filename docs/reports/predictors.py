"""What a trial's first rows say of how it ends: by the score, and by what else they hold, alone and together.

Each trial here was trained to its end, whatever its score was meanwhile. Its end is the mean return of the games of its
last 500,000 agent steps. Everything else is computed of the games that ended in the 100,000 steps before a comparison.
"""

import numpy as np
import pandas as pd
from learning_tables import rows_of, table
from scipy.stats import rankdata, spearmanr

from trainables.metrics import SCORE_STEPS

EXPERIMENTS = {
    "predict_trpo": "24 TRPO trials of the default space",
    "confirm_trpo": "9 TRPO confirmations",
    "confirm_pg": "9 PPO confirmations",
    "trpo": "5 TRPO seeds",
    "pg": "5 PPO seeds",
}
AT = (300_000, 400_000, 500_000, 750_000, 1_000_000)
FITTED = ["score", "slope", "agent steps a point", "explained variance"]
SECOND_RUNG = 1_000_000
STEPS_PLAYED = 6_400_000
"""Agent steps until the second rung, of a sweep of twelve trials whose first rung is at 300,000."""


def mean_of(rows: pd.DataFrame, name: str, end: float, steps: float = SCORE_STEPS) -> float:
    """The mean of a metric over the games that ended in so many steps before ``end``."""
    some = rows[(rows["timesteps_total"] > end - steps) & (rows["timesteps_total"] <= end)]
    return np.average(some[name], weights=some["episodes_this_iter"]) if some["episodes_this_iter"].sum() else np.nan


def predictors(rows: pd.DataFrame, at: float) -> dict[str, float]:
    """All that is looked at of a trial after so many agent steps."""
    score = mean_of(rows, "episode_reward_batch_mean", at)
    length, points = mean_of(rows, "episode_len_mean", at), 42 - abs(score)  # of a game to 21
    rows = rows.assign(explained=rows.filter(regex="explained_variance").bfill(axis=1).iloc[:, 0])
    return {
        "score": score,
        "mean of the last 100 games": rows.loc[rows["timesteps_total"] <= at, "episode_reward_mean"].iloc[-1],
        "slope": score - mean_of(rows, "episode_reward_batch_mean", at - SCORE_STEPS),
        "agent steps a point": length / points,
        "explained variance": mean_of(rows, "explained", at),
    }


def trials_of(name: str) -> tuple[list[pd.DataFrame], np.ndarray]:
    """The trials of an experiment that came to its end, and how they ended."""
    trials = [rows.sort_values("timesteps_total") for _, rows in rows_of(name).groupby("trial")]
    end = min(rows["timesteps_total"].max() for rows in trials)
    return trials, np.array([mean_of(rows, "episode_reward_batch_mean", end, 500_000) for rows in trials])


def fitted(found: dict[str, tuple[pd.DataFrame, np.ndarray]], left_out: str) -> np.ndarray:
    """What ranks of ``FITTED``, weighted as suits all other experiments (least squares), make of this one's trials."""

    def ranks(name: str) -> np.ndarray:
        return np.column_stack([rankdata(found[name][0][column]) / len(found[name][0]) - 0.5 for column in FITTED])

    others = [name for name in found if name != left_out]
    ends = np.concatenate([rankdata(found[name][1]) / len(found[name][1]) - 0.5 for name in others])
    weights, *_ = np.linalg.lstsq(np.concatenate([ranks(name) for name in others]), ends)
    return ranks(left_out) @ weights


def correlations() -> str:
    """Spearman's rank correlation with the end, by what is known at a comparison."""
    lines, trials = [], {name: trials_of(name) for name in EXPERIMENTS}
    for at in AT:
        found = {n: (pd.DataFrame([predictors(rows, at) for rows in t]), ends) for n, (t, ends) in trials.items()}
        for name in list(EXPERIMENTS)[:3]:
            known, ends = found[name]
            values = [known[column] for column in known] + [fitted(found, name)]
            cells = [f"{spearmanr(value, ends).statistic:.2f}" for value in values]
            lines.append([f"{at / 1e6:g} M", EXPERIMENTS[name], *cells])
    return table(["agent steps", "trials", *found["predict_trpo"][0], "four of them together"], lines)


def winners() -> str:
    """How the winner ends that halving would choose among trials of the default space, by first rung and by rule."""
    trials, ends = trials_of("predict_trpo")
    lines = [["", f"{len(ends)}", f"{ends.mean():.1f} (a lot); {ends.max():.1f} (the best)", ""]]
    for first in (100_000, 200_000, 300_000, 400_000, 500_000, 750_000):
        begin = min(round(STEPS_PLAYED / (first + (SECOND_RUNG - first) / 3)), len(ends))
        rules = ("score", "mean of the last 100 games")
        known = [{at: [predictors(rows, at)[rule] for rows in trials] for at in (first, SECOND_RUNG)} for rule in rules]
        chosen = [mean_winner(np.array(each[first]), np.array(each[SECOND_RUNG]), ends, begin) for each in known]
        lines.append([f"{first / 1e6:g} M", str(begin), *(f"{mean:.1f}" for mean in chosen)])
    return table(["first rung", "trials that begin", *(f"winner's end, by {rule}" for rule in rules)], lines)


def mean_winner(early: np.ndarray, later: np.ndarray, ends: np.ndarray, begin: int, draws: int = 4000) -> float:
    """The mean end of winners of sweeps of ``begin`` of these trials: a third goes on, and the best of it then wins."""
    rng, won = np.random.default_rng(0), []
    for _ in range(draws):
        drawn = rng.choice(len(ends), begin, replace=False)
        on = drawn[np.argsort(-early[drawn], kind="stable")[: max(1, begin // 3)]]
        won.append(ends[on[np.argmax(later[on])]])
    return float(np.mean(won))
