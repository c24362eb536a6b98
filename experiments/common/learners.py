"""The learners that experiments know, each with its trainable, configuration and search space."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from search_spaces import pong_pg, pong_trpo
from trainables.base import PongTrainable
from trainables.checks import ConfigError, unknown
from trainables.config import Config, PGConfig, TRPOConfig
from trainables.pong_pg import PongPG
from trainables.pong_trpo import PongTRPO
from trainables.sampling.evaluation import measure
from trainables.sampling.rollout import GameNumber


@dataclass(frozen=True)
class Learner:
    """What the programs need to know of a learner."""

    name: str
    trainable: type[PongTrainable]
    config_class: type[Config]
    space: ModuleType  # PRESETS, SPACES, MUTATIONS
    batch_field: str  # the setting that --batch-size of a sweep means
    iteration_seconds: Callable[[Any], float]  # of one core, for a config: measured, not guessed

    def preset(self, name: str) -> dict[str, Any]:
        """The settings of a preset. Raises ConfigError if there is none of this name."""
        if name not in self.space.PRESETS:
            raise ConfigError(unknown("preset", name, self.space.PRESETS))
        return self.space.PRESETS[name]


def _seconds_per_step(trainable: type[PongTrainable], config: Config) -> tuple[float, int]:
    """A real game of an untrained policy: seconds per agent step, and how many steps it had."""
    weights = trainable.playing_weights(trainable.untrained(config).get_arrays())
    worker = trainable.worker_factory(config)()
    start = time.perf_counter()
    game = measure(worker, weights, GameNumber(0, 0, 0))
    return (time.perf_counter() - start) / game.length, game.length


def _pg_iteration_seconds(config: PGConfig) -> float:
    """So many games."""
    seconds, length = _seconds_per_step(PongPG, config)
    return config.batch_size * length * seconds


def _trpo_iteration_seconds(config: TRPOConfig) -> float:
    """So many steps. Raises ConfigError if the environment has another form than the learner takes."""
    try:
        seconds, _ = _seconds_per_step(PongTRPO, config)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return config.timesteps_per_batch * seconds


PG = Learner("pg", PongPG, PGConfig, pong_pg, "batch_size", _pg_iteration_seconds)
TRPO = Learner("trpo", PongTRPO, TRPOConfig, pong_trpo, "timesteps_per_batch", _trpo_iteration_seconds)
LEARNERS = {learner.name: learner for learner in (PG, TRPO)}
