"""A trial's running statistics and the flat dict that Tune logs: the same keys, in the same order, every iteration.

Ray's CSV header is fixed by the first result, and nested keys break checkpoint scores: hence flat keys with slashes.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trainables.sampling.worker import GameSummary

METRIC, MODE = "episode_reward_mean", "max"
"""What trials are compared by, and which way."""

WINDOW_GAMES = 100
"""Games in ``episode_reward_mean``."""

PAUSE_S = 10.0
"""Seconds without a game between two iterations that are a pause: saving, and Tune's own work, take less."""


@dataclass
class EpisodeStats:
    """Returns and lengths of a trial's games so far; part of its checkpoint."""

    games: int = 0
    steps: int = 0
    running_reward: float | None = None
    recent_returns: list[float] = field(default_factory=list)

    def add(self, games: Sequence[GameSummary]) -> dict[str, float]:
        """Count an iteration's games, in game order, and return the metrics of the episode family."""
        returns, lengths = [game.episode_return for game in games], [game.length for game in games]
        for episode_return in returns:
            # Karpathy 2016's running mean; it starts at the first return.
            previous = episode_return if self.running_reward is None else self.running_reward
            self.running_reward = 0.99 * previous + 0.01 * episode_return
        self.recent_returns = [*self.recent_returns, *returns][-WINDOW_GAMES:]
        self.games += len(returns)
        self.steps += sum(lengths)
        return {
            "episode_reward_mean": float(np.mean(self.recent_returns)),
            "episode_reward_batch_mean": float(np.mean(returns)),
            "episode_reward_max": float(np.max(returns)),
            "episode_reward_min": float(np.min(returns)),
            "running_reward": float(self.running_reward or 0.0),
            "episode_len_mean": float(np.mean(lengths)),
            "episode_len_max": float(np.max(lengths)),
            "episodes_this_iter": len(returns),
            "timesteps_this_iter": sum(lengths),
            "episodes_total": self.games,
            "timesteps_total": self.steps,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain types, for ``state.json``."""
        return dict(vars(self))


class Stopwatch:
    """Wall-clock seconds by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, name: str, since: float | None = None) -> Iterator[None]:
        """Add to ``name`` the time until the block ends, from its start or ``since`` (by ``time.perf_counter``)."""
        start = time.perf_counter() if since is None else since
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def pause(waited: float, games: Sequence[GameSummary], num_workers: int) -> float:
    """What of the seconds between two iterations was a pause, as for disk space: 0 unless it was long.

    In that time the workers may have played, but for no longer than the iteration's games took.
    """
    idle = waited - sum(game.seconds for game in games) / num_workers
    return idle if idle > PAUSE_S else 0.0


def perf_metrics(clock: Stopwatch, games: Sequence[GameSummary], num_workers: int) -> dict[str, float]:
    """Times and rates of the ``perf/`` family, of a ``clock`` that has measured a rollout and an update.

    ``idle_s`` is the time, summed over the workers, in which a rollout was under way but a worker had no game.
    """
    rollout_s, update_s = clock.seconds["rollout"], clock.seconds["update"]
    busy_s = sum(game.seconds for game in games)
    return {
        "perf/workers": float(num_workers),
        "perf/rollout_s": rollout_s,
        "perf/update_s": update_s,
        "perf/idle_s": max(0.0, rollout_s * num_workers - busy_s),
        "perf/steps_per_s": sum(game.length for game in games) / (rollout_s + update_s),
    }
