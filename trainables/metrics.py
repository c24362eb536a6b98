"""A trial's running statistics and the flat dict that Tune logs: the same keys, in the same order, every iteration.

Ray's CSV header is fixed by the first result, and nested keys break checkpoint scores: hence flat keys with slashes.
"""

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from trainables.sampling.rollout import GameSummary
from trainables.sampling.worker import PlayedBlock

METRIC, MODE = "episode_reward_mean", "max"
"""What trials are compared by, and which way."""

WINDOW_GAMES = 100
"""Games in ``episode_reward_mean``."""

PAUSE_S = 10.0
"""Seconds without a game between two iterations that are a pause: saving, and Tune's own work, take less."""


WORST_RETURN = -21.0
"""Pong's. In an environment whose games can be worse, the worst game of the iteration takes its place."""

BATCH_RETURNS = ("episode_reward_batch_mean", "episode_reward_max", "episode_reward_min")
BATCH_LENGTHS = ("episode_len_mean", "episode_len_max")
"""Metrics of the games that ended in an iteration."""

POINTS_HALF_LIFE = 500
"""Points after which an earlier one counts half in ``EpisodeStats.points_lost``."""


@dataclass
class Played:
    """What an update, or an iteration, has played."""

    games: list[GameSummary] = field(default_factory=list)  # that ended
    steps: int = 0
    won: float = 0.0  # points
    lost: float = 0.0
    seconds: float = 0.0  # that workers spent playing

    def count(self, blocks: Iterable[PlayedBlock]) -> Iterator[PlayedBlock]:
        """Count blocks as they pass."""
        for block in blocks:
            self.games += block.games
            self.steps += block.steps
            self.won += block.points[0]
            self.lost += block.points[1]
            self.seconds += block.seconds
            yield block

    def __iadd__(self, other: "Played") -> "Played":
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self


@dataclass
class EpisodeStats:
    """Returns and lengths of a trial's games so far; part of its checkpoint."""

    games: int = 0
    steps: int = 0
    running_reward: float | None = None
    recent_returns: list[float] = field(default_factory=list)
    won: float = 0.0  # of the latest points, earlier ones less and less
    lost: float = 0.0
    latest: dict[str, float] = field(default_factory=dict)  # metrics of the last iteration in which a game ended

    @classmethod
    def of(cls, stored: Any) -> Self:
        """Those of a checkpoint, as ``to_dict`` gave them; the first checkpoints had fewer.

        Raises ValueError, in one line, if they cannot be.
        """
        known = {each.name for each in fields(cls)}
        if not isinstance(stored, dict) or not stored.keys() <= known:
            raise ValueError(f"its counters are damaged: accepted are {', '.join(sorted(known))}")
        if missing := {"games", "steps", "recent_returns"} - stored.keys():
            raise ValueError(f"it lacks counters: {', '.join(sorted(missing))}")
        for name, value in stored.items():
            if not _is_counter(name, value):
                raise ValueError(f"its counters are damaged: {name}={str(value)[:60]!r}")
        return cls(**stored)

    @property
    def points_lost(self) -> float:
        """Share of the latest points that were lost; 1 before any."""
        return self.lost / (self.won + self.lost) if self.won + self.lost else 1.0

    def add(self, played: Played) -> None:
        """Count what was played, game by game."""
        for game in played.games:
            # Karpathy 2016's running mean; it starts at the first return.
            previous = game.episode_return if self.running_reward is None else self.running_reward
            self.running_reward = 0.99 * previous + 0.01 * game.episode_return
            self.recent_returns = [*self.recent_returns, game.episode_return][-WINDOW_GAMES:]
        self.games += len(played.games)
        self.steps += played.steps
        kept = 0.5 ** ((played.won + played.lost) / POINTS_HALF_LIFE)
        self.won, self.lost = kept * self.won + played.won, kept * self.lost + played.lost

    def metrics(self, played: Played) -> dict[str, float]:
        """The metrics of the episode family, of an iteration's play, which was added before.

        Where no game ended, those of its games are the last ones; before the first, the worst that there are.
        """
        if played.games:
            return_g, length_g = np.array(played.games, np.float64).T
            self.latest = {
                "episode_reward_batch_mean": float(return_g.mean()),
                "episode_reward_max": float(return_g.max()),
                "episode_reward_min": float(return_g.min()),
                "episode_len_mean": float(length_g.mean()),
                "episode_len_max": float(length_g.max()),
            }
        of_games = dict.fromkeys(BATCH_RETURNS, WORST_RETURN) | dict.fromkeys(BATCH_LENGTHS, 0.0) | self.latest
        return {
            METRIC: float(np.mean(self.recent_returns or [WORST_RETURN])),
            **{name: of_games[name] for name in BATCH_RETURNS},
            "running_reward": WORST_RETURN if self.running_reward is None else self.running_reward,
            **{name: of_games[name] for name in BATCH_LENGTHS},
            "episodes_this_iter": len(played.games),
            "timesteps_this_iter": played.steps,
            "episodes_total": self.games,
            "timesteps_total": self.steps,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain types, for ``state.json``."""
        return dict(vars(self))


def diverged_metrics(metrics: dict[str, float]) -> dict[str, float]:
    """What an iteration reports in which something was no longer finite: the worst return, and 0 for what is not.

    A NaN would blind schedulers to all other trials, and the last mean of the returns may be a good one.
    """
    finite = {name: value if math.isfinite(value) else 0.0 for name, value in metrics.items()}
    return finite | {METRIC: min(WORST_RETURN, finite["episode_reward_min"])}


def is_metrics(value: Any) -> bool:
    """Whether these are numbers by name."""
    return isinstance(value, dict) and all(map(_is_number, value.values()))


def _is_counter(name: str, value: Any) -> bool:
    """Whether a value can be that of a field of ``EpisodeStats``."""
    if name in ("games", "steps"):
        return type(value) is int and value >= 0
    if name in ("won", "lost"):
        return _is_number(value) and value >= 0
    if name == "recent_returns":
        return isinstance(value, list) and all(map(_is_number, value))
    return is_metrics(value) if name == "latest" else value is None or _is_number(value)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


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


def pause(waited: float, played_s: float, num_workers: int) -> float:
    """What of the seconds between two iterations was a pause, as for disk space: 0 unless it was long.

    In that time the workers may have played ahead, but for no longer than those games took.
    """
    idle = waited - played_s / num_workers
    return idle if idle > PAUSE_S else 0.0


def perf_metrics(clock: Stopwatch, played: Played, num_workers: int) -> dict[str, float]:
    """Times and rates of the ``perf/`` family, of a ``clock`` that has measured an iteration's rollouts and updates.

    ``idle_s`` is the time, summed over the workers, in which a rollout was under way but a worker had no game.
    """
    rollout_s, update_s = clock.seconds["rollout"], clock.seconds["update"]
    return {
        "perf/workers": float(num_workers),
        "perf/rollout_s": rollout_s,
        "perf/update_s": update_s,
        "perf/idle_s": max(0.0, rollout_s * num_workers - played.seconds),
        "perf/steps_per_s": played.steps / (rollout_s + update_s),
    }
