"""The learners that experiments know, each with its trainable, configuration and search space."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from search_spaces import pong_pg, pong_trpo
from trainables.base import PongTrainable
from trainables.checks import ConfigError, unknown
from trainables.config import Config, PGConfig, TRPOConfig
from trainables.learning.policies import BernoulliPolicy
from trainables.learning.running_stats import Moments
from trainables.pong_pg import PongPG
from trainables.pong_trpo import PongTRPO
from trainables.sampling.frames import NUM_PIXELS
from trainables.sampling.memory_worker import FilteredWeights, TrajectoryWorker
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


def _pg_iteration_seconds(config: PGConfig) -> float:
    """Play one real game with an untrained policy and multiply."""
    worker = PongPG.worker_factory(config)()
    theta = BernoulliPolicy(NUM_PIXELS, config.hidden_size).mlp.init(np.random.default_rng(0))
    start = time.perf_counter()
    worker.play_block(theta, [GameNumber(0, 0, 0)])
    return config.batch_size * (time.perf_counter() - start)


def _trpo_iteration_seconds(config: TRPOConfig) -> float:
    """Play one real game with an untrained policy and scale it to the steps of a batch.

    Raises ConfigError if the environment has another form than the learner takes.
    """
    try:
        worker = TrajectoryWorker(config.env_id, config.hidden_sizes)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    weights = FilteredWeights(
        worker.policy.init(np.random.default_rng(0)), Moments.empty(worker.policy.num_inputs).filter()
    )
    start = time.perf_counter()
    game = worker.play(weights, GameNumber(0, 0, 0))
    return config.timesteps_per_batch / game.summary.length * (time.perf_counter() - start)


PG = Learner("pg", PongPG, PGConfig, pong_pg, "batch_size", _pg_iteration_seconds)
TRPO = Learner("trpo", PongTRPO, TRPOConfig, pong_trpo, "timesteps_per_batch", _trpo_iteration_seconds)
LEARNERS = {learner.name: learner for learner in (PG, TRPO)}
