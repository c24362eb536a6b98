"""The learners that experiments know: ours, and somebody's own, which docs/own_learner.md writes."""

import dataclasses
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from experiments.ask.budget import Budget
from experiments.plan.own_files import imported, require_pages
from search_spaces import pong_pg, pong_trpo
from trainables.algorithms.algorithm import Algorithm
from trainables.checks import ConfigError, unknown
from trainables.config import Config, PGConfig, TRPOConfig
from trainables.sampling.evaluation import measure
from trainables.sampling.rollout import GameNumber
from trainables.trainable import PongPG, PongTrainable, PongTRPO

GAME_STEPS = 1000
"""Agent steps of a short game of Pong."""

SMOKE = {"slots": 2, "segment_length": 500, "updates_per_iteration": 2, "eval_games": 2, "num_workers": 1}
"""The preset ``smoke`` of a module that has none."""


@dataclass(frozen=True, eq=False)
class Learner:
    """What the programs need to know of a learner."""

    name: str
    trainable: type[PongTrainable]
    config_class: type[Config]
    space: Any  # PRESETS, SPACES, MUTATIONS: a module of search_spaces/, or what stands for it
    batch_field: str  # the setting that --batch-size of a sweep means
    iteration_steps: Callable[[Any, int], float]  # for a config and the length of a game
    typed: str = ""  # one's own as module:Class, as the user named it
    source: Path | None = None  # its file

    @property
    def word(self) -> str:
        """How a command line names it."""
        return self.typed or self.name

    @property
    def module(self) -> str:
        """One's own module, by its name among those that are imported; empty for ours."""
        return self.name.rpartition(".")[0]

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
"""Learners of one's own that this program's command line named, by name."""

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
    found = LEARNERS.get(name) or IMPORTED.get(name)
    return found.word if found else ":".join(name.rsplit(".", 1))


def import_typed(text: str | None) -> None:
    """Import the learner that a user typed, if one was. Raises as ``learner_typed`` does."""
    if text:
        learner_typed(text)


def learner_typed(text: str) -> Learner:
    """The learner that a user typed: one of ours by its name, one's own as ``module:Class``, which is imported.

    ``text`` has to come from the command line: to import is to run. Raises ConfigError, in one line, if it is none.
    """
    if ":" not in text:
        if text not in LEARNERS:
            raise ConfigError(f"{unknown('learner', text, LEARNERS)}; one's own: module:Class")
        return LEARNERS[text]
    module, algorithm = imported(text)
    _require_algorithm(text, algorithm)
    name = f"{module.__name__}.{algorithm.__name__}"
    if not is_learner(name):
        raise ConfigError(f"{text}: accepted are names of ASCII letters, digits and underscores")
    config_class, make = algorithm.config_class, staticmethod(algorithm)
    body = {"__doc__": algorithm.__doc__, "learner": name, "config_class": config_class, "make_algorithm": make}
    trainable = type(algorithm.__name__, (PongTrainable,), body)
    source = Path(module.__file__) if module.__file__ else None
    space = _space(text, module, config_class)

    def iteration_steps(config: Any, length: int) -> float:
        if config.slots:
            return config.segments_steps
        new = algorithm(config)
        try:
            return new.first_games(new.init(np.random.default_rng(0))) * length
        except ValueError as error:
            raise ConfigError(str(error)) from None

    IMPORTED[name] = Learner(name, trainable, config_class, space, "batch_size", iteration_steps, text, source)
    return IMPORTED[name]


def _require_algorithm(typed: str, algorithm: Any) -> None:
    """Raise ConfigError unless this is an Algorithm, whole, with a configuration whose defaults are possible."""
    if not (isinstance(algorithm, type) and issubclass(algorithm, Algorithm)):
        raise ConfigError(f"{typed}: accepted is a class that derives from trainables.algorithms.algorithm.Algorithm")
    if missing := sorted(algorithm.__abstractmethods__):
        raise ConfigError(f"{typed} lacks {', '.join(missing)}; trainables/algorithms/algorithm.py says what they do")
    config_class = getattr(algorithm, "config_class", None)
    if not (isinstance(config_class, type) and issubclass(config_class, Config)):
        raise ConfigError(f"{typed}: config_class={config_class!r}: accepted is a class that derives from Config")
    parameters = vars(config_class).get("__dataclass_params__")
    if not (parameters and parameters.frozen):
        raise ConfigError(f"{typed}: {config_class.__name__} needs the decorator @dataclass(frozen=True)")
    known = {field.name for field in dataclasses.fields(config_class)}
    if strange := {*config_class.ARCHITECTURE_FIELDS} - known:
        raise ConfigError(f"{typed}: ARCHITECTURE_FIELDS: {unknown('setting', min(strange), known)}")
    try:
        config_class()
    except ConfigError as error:
        raise ConfigError(f"{typed}: the defaults of {config_class.__name__}: {error}") from None


def _space(typed: str, module: ModuleType, config_class: type[Config]) -> SimpleNamespace:
    """PRESETS, SPACES and MUTATIONS of a module, as those in search_spaces/ have them; each can be left out.

    Raises ConfigError if one of them has another form, or is not of the learner's settings.
    """
    presets, spaces = require_pages(typed, vars(module))
    mutations = getattr(module, "MUTATIONS", ())
    if not isinstance(mutations, tuple | list) or not all(isinstance(name, str) for name in mutations):
        raise ConfigError(
            f'{typed}: MUTATIONS={mutations!r}: accepted are names of settings, as ("learning_rate", "gamma")'
        )
    presets = {"smoke": SMOKE, **presets, "default": {}}  # the configuration's own defaults
    around = spaces.get("default", {})
    for preset, settings in presets.items():
        spaces = {preset: {name: domain for name, domain in around.items() if name not in settings}, **spaces}
    known = config_class().to_dict()
    for where, names in {
        "MUTATIONS": mutations,
        **{f"SPACES[{preset!r}]": spaces[preset] for preset in spaces},
    }.items():
        if strange := [name for name in names if name not in known]:
            raise ConfigError(f"{typed}: {where}: {unknown('setting', str(strange[0]), known)}")
    if fixed := [name for name in mutations if name in config_class.ARCHITECTURE_FIELDS]:
        raise ConfigError(f"{typed}: MUTATIONS: {fixed[0]} decides the form of the arrays, and cannot change")
    for preset, settings in presets.items():
        try:
            config_class.from_dict(settings)
        except ConfigError as error:
            raise ConfigError(f"{typed}: PRESETS[{preset!r}]: {error}") from None
    return SimpleNamespace(PRESETS=presets, SPACES=spaces, MUTATIONS=tuple(mutations))
