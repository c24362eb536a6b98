"""The learners that experiments know, each with its trainable, configuration and search space."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from experiments.ask.budget import Budget
from search_spaces import pong_pg, pong_trpo
from trainables.checks import ConfigError, unknown
from trainables.config import Config, PGConfig, TRPOConfig
from trainables.sampling.evaluation import measure
from trainables.sampling.rollout import GameNumber
from trainables.trainable import PongPG, PongTrainable, PongTRPO


@dataclass(frozen=True)
class Learner:
    """What the programs need to know of a learner."""

    name: str
    trainable: type[PongTrainable]
    config_class: type[Config]
    space: ModuleType  # PRESETS, SPACES, MUTATIONS
    batch_field: str  # the setting that --batch-size of a sweep means
    iteration_steps: Callable[[Any, int], float]  # for a config and the length of a game

    def seconds(self, config: Config, budget: Budget) -> float:
        """Seconds of one core for a trial at an untrained policy's pace, measured in a real game.

        Raises ConfigError if the environment has another form than the learner takes.
        """
        try:
            trial = self.trainable.untrained(config)
            weights, worker = trial.algorithm.playing_weights(trial.arrays), trial.algorithm.worker_factory()()
        except ValueError as error:
            raise ConfigError(str(error)) from None
        measure(worker, weights, GameNumber(0, 0, 0))  # the first game of a program also compiles
        start = time.perf_counter()
        game = measure(worker, weights, GameNumber(0, 0, 0))
        seconds = (time.perf_counter() - start) / game.length
        steps = {"timesteps_total": 1.0, "training_iteration": self.iteration_steps(config, game.length)}
        return seconds * min(limit * steps[name] for name, limit in budget.limits.items())

    def preset(self, name: str) -> dict[str, Any]:
        """The settings of a preset. Raises ConfigError if there is none of this name."""
        if name not in self.space.PRESETS:
            raise ConfigError(unknown("preset", name, self.space.PRESETS))
        return self.space.PRESETS[name]


PG = Learner(
    "pg",
    PongPG,
    PGConfig,
    pong_pg,
    "batch_size",
    lambda config, length: config.segments_steps or config.batch_size * length,
)
TRPO = Learner(
    "trpo",
    PongTRPO,
    TRPOConfig,
    pong_trpo,
    "timesteps_per_batch",
    lambda config, _: config.segments_steps or config.timesteps_per_batch,
)
LEARNERS = {learner.name: learner for learner in (PG, TRPO)}
