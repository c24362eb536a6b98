"""A learner of somebody's own (docs/own_learner.md): its module is imported, and what is wrong with it refused."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from experiments.plan.learners import Learner, is_learner
from experiments.plan.own_files import presets_and_spaces
from trainables.algorithms.algorithm import Algorithm
from trainables.checks import ConfigError, unknown
from trainables.config import Config
from trainables.trainable import PongTrainable

SMOKE = {"slots": 2, "segment_length": 500, "updates_per_iteration": 2, "eval_games": 2, "num_workers": 1}
"""The preset ``smoke`` of a module that has none."""


def own_learner(typed: str, module: ModuleType, algorithm: Any) -> Learner:
    """The learner that ``module:Class`` names. Raises ConfigError, in one line, if that is none."""
    _require_algorithm(typed, algorithm)
    name = f"{module.__name__}.{algorithm.__name__}"
    if not is_learner(name):
        raise ConfigError(f"{typed}: accepted are names of ASCII letters, digits and underscores")
    config_class, make = algorithm.config_class, staticmethod(algorithm)
    body = {"__doc__": algorithm.__doc__, "learner": name, "config_class": config_class, "make_algorithm": make}
    trainable = type(algorithm.__name__, (PongTrainable,), body)
    source = Path(module.__file__) if module.__file__ else None
    space = _space(typed, vars(module), config_class)

    def iteration_steps(config: Any, length: int) -> float:
        if config.slots:
            return config.segments_steps
        new = algorithm(config)
        try:
            return new.first_games(new.init(np.random.default_rng(0))) * length
        except ValueError as error:
            raise ConfigError(str(error)) from None

    return Learner(name, lambda: trainable, config_class, space, "batch_size", iteration_steps, typed, source)


def _require_algorithm(typed: str, algorithm: Any) -> None:
    """Raise ConfigError unless this is an Algorithm, whole, with a configuration."""
    if not (isinstance(algorithm, type) and issubclass(algorithm, Algorithm)):
        raise ConfigError(f"{typed}: accepted is a class that derives from trainables.algorithms.algorithm.Algorithm")
    if missing := sorted(algorithm.__abstractmethods__):
        raise ConfigError(f"{typed} lacks {', '.join(missing)}; trainables/algorithms/algorithm.py says what they do")
    config_class: Any = getattr(algorithm, "config_class", None)
    parameters = vars(config_class).get("__dataclass_params__") if isinstance(config_class, type) else None
    if not (parameters and parameters.frozen and issubclass(config_class, Config)):
        raise ConfigError(
            f"{typed}: config_class={config_class!r}: accepted is a class that derives from Config, with the decorator"
            " @dataclass(frozen=True)"
        )


def _space(typed: str, content: Mapping[str, Any], config_class: type[Config]) -> SimpleNamespace:
    """PRESETS, SPACES and MUTATIONS of a module, as those in search_spaces/ have them; each can be left out.

    Raises ConfigError for presets that cannot be, and for names of what is no setting, or none that can change.
    """
    presets, spaces = presets_and_spaces(typed, content)
    presets = {"smoke": SMOKE, **presets, "default": {}}  # the configuration's own defaults
    for preset, settings in {"default": {}, **presets}.items():
        try:
            known = config_class.from_dict(settings).to_dict()
        except ConfigError as error:
            raise ConfigError(f"{typed}: preset {preset!r}: {error}") from None
    around, fixed, mutations = spaces.get("default", {}), config_class.ARCHITECTURE_FIELDS, content.get("MUTATIONS", ())
    for name in (*fixed, *mutations):
        if name not in known:
            raise ConfigError(f"{typed}: ARCHITECTURE_FIELDS, MUTATIONS: {unknown('setting', str(name), known)}")
        if name in fixed and name in mutations:
            raise ConfigError(f"{typed}: MUTATIONS: {name} decides the form of the arrays, and cannot change")
    for preset, settings in presets.items():
        spaces = {preset: {name: words for name, words in around.items() if name not in settings}, **spaces}
    return SimpleNamespace(PRESETS=presets, SPACES=spaces, MUTATIONS=tuple(mutations))
