"""The learners that experiments know, each with its trainable, configuration and search space."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from experiments.ask.budget import Budget
from search_spaces import pong_pg, pong_trpo
from trainables.checks import ConfigError, unknown
from trainables.config import Config, PGConfig, TRPOConfig
from trainables.sampling.evaluation import measure
from trainables.sampling.rollout import GameNumber
from trainables.trainable import PongPG, PongTrainable, PongTRPO

GAME_STEPS = 1000
"""Agent steps of a short game of Pong."""


class Own(NamedTuple):
    """Where a learner of one's own comes from."""

    typed: str  # module:Class, as the user named it
    module: str  # its name among the modules that are imported
    source: Path | None  # its file


@dataclass(frozen=True)
class Learner:
    """What the programs need to know of a learner."""

    name: str
    trainable: type[PongTrainable]
    config_class: type[Config]
    space: Any  # a module, or what stands for it, with PRESETS, SPACES, MUTATIONS
    batch_field: str  # the setting that --batch-size of a sweep means
    iteration_steps: Callable[[Any, int], float]  # for a config and the length of a game
    own: Own | None = None  # where one's own comes from

    @property
    def word(self) -> str:
        """How a command line names it."""
        return self.own.typed if self.own else self.name

    @property
    def source(self) -> Path | None:
        """The file of one's own."""
        return self.own.source if self.own else None

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

    def most_workers(self, config: Config) -> int:
        """How many rollout actors a trial can use: one for each slot, or for each short game of an update."""
        return config.slots or max(1, int(self.iteration_steps(config, GAME_STEPS) // GAME_STEPS))

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

IMPORTED: dict[str, Learner] = {}
"""Learners of one's own that this program's command line named (``experiments/plan/own.py``), by name."""

OWN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
"""The name of a learner of one's own in records and checkpoints: ``module.Class``. To read it imports nothing."""


def is_learner(name: Any) -> bool:
    """Whether an experiment can be of this learner: one of ours, or somebody's own, imported or not."""
    return name in LEARNERS or (isinstance(name, str) and bool(OWN.fullmatch(name)))


def learner_named(name: str) -> Learner:
    """The learner of an experiment or a checkpoint. Raises ConfigError for one's own that the user has not named."""
    if found := LEARNERS.get(name) or IMPORTED.get(name):
        return found
    if not is_learner(name):
        raise ConfigError(unknown("learner", name, LEARNERS))
    raise ConfigError(f"this needs the code of {name}, a learner of one's own: --learner {typed_as(name)} imports it")


def config_class_of(name: str) -> type[Config]:
    """A learner's configuration; of one's own that was not imported, what all configurations have in common."""
    found = LEARNERS.get(name) or IMPORTED.get(name)
    return found.config_class if found else Config


def typed_as(name: str) -> str:
    """A learner's name as a command line has it: ``module:Class`` for one's own, or as the user typed that."""
    if found := LEARNERS.get(name) or IMPORTED.get(name):
        return found.word
    return ":".join(name.rsplit(".", 1))
