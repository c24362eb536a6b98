"""A learner of one's own: an ``Algorithm`` in a module that the command line names; docs/own_learner.md writes one."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from experiments.ask.imports import imported
from experiments.plan.learners import IMPORTED, LEARNERS, Learner, Own, is_learner
from experiments.plan.pages import require_pages
from trainables.algorithms.algorithm import Algorithm
from trainables.checks import ConfigError, unknown
from trainables.config import Config
from trainables.trainable import PongTrainable

SMOKE = {"slots": 2, "segment_length": 500, "updates_per_iteration": 2, "eval_games": 2, "num_workers": 1}
"""The preset ``smoke`` of a module that has none."""


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
    config_class = algorithm.config_class
    name = f"{module.__name__}.{algorithm.__name__}"
    if not is_learner(name):
        raise ConfigError(f"{text}: accepted are names of ASCII letters, digits and underscores")
    trainable = type(
        algorithm.__name__,
        (PongTrainable,),
        {
            "__doc__": algorithm.__doc__,
            "learner": name,
            "config_class": config_class,
            "make_algorithm": staticmethod(algorithm),
        },
    )

    def iteration_steps(config: Any, length: int) -> float:
        if config.slots:
            return config.segments_steps
        new = algorithm(config)
        try:
            return new.first_games(new.init(np.random.default_rng(0))) * length
        except ValueError as error:
            raise ConfigError(str(error)) from None

    own = Own(text, module.__name__, Path(module.__file__) if module.__file__ else None)
    learner = Learner(name, trainable, config_class, _space(text, module), "batch_size", iteration_steps, own)
    _require_sound(learner)
    IMPORTED[name] = learner
    return learner


def import_typed(text: str | None) -> None:
    """Import the learner that a user typed, if one was. Raises as ``learner_typed`` does."""
    if text:
        learner_typed(text)


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


@dataclass(frozen=True, eq=False)
class _Page:
    """What stands for a module of ``search_spaces/``. Like a module it is equal to itself alone."""

    PRESETS: Mapping[str, Any]
    SPACES: Mapping[str, Any]
    MUTATIONS: tuple[str, ...]


def _space(typed: str, module: ModuleType) -> _Page:
    """PRESETS, SPACES and MUTATIONS of a module, as those in search_spaces/ have them; each can be left out.

    Raises ConfigError if one of them has another form.
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
        inherited = {name: domain for name, domain in around.items() if name not in settings}
        spaces = {preset: inherited, **spaces}
    return _Page(presets, spaces, tuple(mutations))


def _require_sound(learner: Learner) -> None:
    """Raise ConfigError unless the presets, spaces and mutations of a learner are of its settings."""
    known, page = learner.config_class().to_dict(), learner.space
    named = {"MUTATIONS": page.MUTATIONS, **{f"SPACES[{preset!r}]": space for preset, space in page.SPACES.items()}}
    for where, names in named.items():
        if strange := [name for name in names if name not in known]:
            raise ConfigError(f"{learner.word}: {where}: {unknown('setting', str(strange[0]), known)}")
    if fixed := [name for name in page.MUTATIONS if name in learner.config_class.ARCHITECTURE_FIELDS]:
        raise ConfigError(f"{learner.word}: MUTATIONS: {fixed[0]} decides the form of the arrays, and cannot change")
    for preset, settings in page.PRESETS.items():
        try:
            learner.config_class.from_dict(settings)
        except ConfigError as error:
            raise ConfigError(f"{learner.word}: PRESETS[{preset!r}]: {error}") from None
