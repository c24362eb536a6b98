"""A trial's running statistics and the flat dict that Tune logs: the same keys, in the same order, every iteration.

Ray's CSV header is fixed by the first result, and nested keys break checkpoint scores: hence flat keys with slashes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from trainables.sampling.rollout import GameSummary

METRIC, MODE = "episode_score", "max"
"""What trials are compared by, and which way: the mean return of the games that ended in the last ``SCORE_STEPS``."""

SCORE_STEPS = 100_000
"""Agent steps in whose games a policy is judged. Who plays long rallies needs 8,000 steps a game: its last 100 games
are those of earlier policies, and tell less of how a trial will end (docs/schedulers.md)."""

FEWEST_GAMES, MOST_GAMES = 10, 100
"""Games in the score, however many steps they took. The most are also those of ``episode_reward_mean``, as Stable-
Baselines3 and others report it."""

PAUSE_S = 10.0
"""Seconds without a game between two iterations that are a pause: saving, and Tune's own work, take less."""

WORST_RETURN = -21.0
"""Pong's. In an environment whose games can be worse, the worst game of the iteration takes its place."""

BEFORE_THE_FIRST_GAME = {
    "episode_reward_batch_mean": WORST_RETURN,
    "episode_reward_max": WORST_RETURN,
    "episode_reward_min": WORST_RETURN,
    "episode_len_mean": 0.0,
    "episode_len_max": 0.0,
}
"""Metrics of the games that ended in an iteration, as they are before any has."""

POINTS_HALF_LIFE = 500
"""Points after which an earlier one counts half in ``EpisodeStats.points_lost``."""

Count = Annotated[int, Field(ge=0, lt=10**15)]
"""Of games, steps or iterations: more than anybody trains is refused."""

Points = Annotated[FiniteFloat, Field(ge=0)]


@dataclass
class Played:
    """What an update, or an iteration, has played."""

    games: list[GameSummary] = field(default_factory=list)  # that ended
    steps: int = 0
    won: float = 0.0  # points
    lost: float = 0.0
    strokes: int = 0  # returns of the ball by our paddle
    seconds: float = 0.0  # that workers spent playing

    def add(self, other: "Played") -> None:
        """Count another part of it, which follows."""
        self.games += other.games
        self.steps += other.steps
        self.won += other.won
        self.lost += other.lost
        self.strokes += other.strokes
        self.seconds += other.seconds


class EpisodeStats(BaseModel):
    """Returns and lengths of a trial's games so far; part of its checkpoint."""

    model_config = ConfigDict(strict=True, extra="forbid")

    games: Count = 0
    steps: Count = 0
    running_reward: FiniteFloat | None = None
    recent_returns: list[FiniteFloat] = []  # of the last games
    recent_ends: list[Count] = []  # the agent steps behind the update in which each of them ended
    won: Points = 0.0  # of the latest points, earlier ones less and less
    lost: Points = 0.0
    latest: dict[str, FiniteFloat] = {}  # metrics of the last iteration in which a game ended

    @property
    def points_lost(self) -> float:
        """Share of the latest points that were lost; 1 before any."""
        return self.lost / (self.won + self.lost) if self.won + self.lost else 1.0

    @property
    def scored_returns(self) -> list[float]:
        """Returns of the games that ended in the last ``SCORE_STEPS``, or of the last ``FEWEST_GAMES`` if more."""
        games = sum(end > self.steps - SCORE_STEPS for end in self.recent_ends)
        return self.recent_returns[-max(FEWEST_GAMES, games) :]

    @property
    def score(self) -> float:
        """Mean of the ``scored_returns``; minus infinity before the first game."""
        return float(np.mean(self.scored_returns)) if self.recent_returns else -math.inf

    def add(self, played: Played) -> None:
        """Count what was played, game by game."""
        self.steps += played.steps
        for game in played.games:
            # Karpathy 2016's running mean; it starts at the first return.
            previous = game.episode_return if self.running_reward is None else self.running_reward
            self.running_reward = 0.99 * previous + 0.01 * game.episode_return
            self.recent_returns = [*self.recent_returns, game.episode_return][-MOST_GAMES:]
            self.recent_ends = [*self.recent_ends, self.steps][-MOST_GAMES:]
        self.games += len(played.games)
        kept = 0.5 ** ((played.won + played.lost) / POINTS_HALF_LIFE)
        self.won, self.lost = kept * self.won + played.won, kept * self.lost + played.lost

    def metrics(self, played: Played) -> dict[str, float]:
        """The metrics of the episode family, of an iteration's play, which was added before.

        Where no game ended, those of its games are the last ones; before the first, the worst that there are.
        """
        if played.games:
            return_g, length_g = np.array(played.games, np.float64).T
            values = return_g.mean(), return_g.max(), return_g.min(), length_g.mean(), length_g.max()
            self.latest = dict(zip(BEFORE_THE_FIRST_GAME, map(float, values), strict=True))
        return {
            METRIC: self.score if self.recent_returns else WORST_RETURN,
            "episode_reward_mean": float(np.mean(self.recent_returns or [WORST_RETURN])),
            **BEFORE_THE_FIRST_GAME | self.latest,
            "running_reward": WORST_RETURN if self.running_reward is None else self.running_reward,
            "steps_per_point": played.steps / max(1.0, played.won + played.lost),
            "strokes_per_point": played.strokes / max(1.0, played.won + played.lost),
            "episodes_this_iter": len(played.games),
            "timesteps_this_iter": played.steps,
            "episodes_total": self.games,
            "timesteps_total": self.steps,
        }


def diverged_metrics(metrics: dict[str, float]) -> dict[str, float]:
    """What an iteration reports in which something was no longer finite: the worst score, and 0 for what is not.

    A NaN would blind schedulers to all other trials, and the last score may be a good one.
    """
    finite = {name: value if math.isfinite(value) else 0.0 for name, value in metrics.items()}
    return finite | {METRIC: min(WORST_RETURN, finite["episode_reward_min"])}


def has_ended_a_game(row: Mapping[str, Any]) -> bool:
    """Whether a game had ended by a trial's row: until then its score is the lowest that there is, and says nothing."""
    return row.get("episodes_total") != 0


def score_of(row: Mapping[str, Any]) -> float:
    """What a trial's row counts in every comparison: its score, or if it diverged the lowest that there is."""
    return min(WORST_RETURN, float(row[METRIC])) if row.get("diverged") else float(row[METRIC])


def pause(waited: float, played_s: float, num_workers: int) -> float:
    """What of the seconds between two iterations was a pause, as for disk space: 0 unless it was long.

    In that time the workers may have played ahead, but for no longer than those games took.
    """
    idle = waited - played_s / num_workers
    return idle if idle > PAUSE_S else 0.0


def perf_metrics(rollout_s: float, update_s: float, played: Played, num_workers: int) -> dict[str, float]:
    """Times and rates of the ``perf/`` family, of the seconds of an iteration's rollouts and updates.

    ``idle_s`` is the time, summed over the workers, in which a rollout was under way but a worker had no game.
    """
    return {
        "perf/workers": float(num_workers),
        "perf/rollout_s": rollout_s,
        "perf/update_s": update_s,
        "perf/idle_s": max(0.0, rollout_s * num_workers - played.seconds),
        "perf/steps_per_s": played.steps / (rollout_s + update_s),
    }
