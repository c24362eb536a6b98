"""What a configuration is, and a run of it: the only place that says which trials belong together.

A configuration is a learner, the settings that decide results, and where its trials came from: from scratch, or from
where they left the trials of another experiment. With a random seed it is a run, which nothing else can repeat.
"""

import dataclasses
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from experiments.plan.learners import config_class_of

SPEED_ONLY = {"num_workers", "cpus_per_worker", "placement", "game_timeout_s"}
"""Settings that change no result, so trials that differ in them are one configuration."""


class Left(NamedTuple):
    """Where the trials of a fork left those of its origin, from which they started."""

    settings: Hashable  # the origin's, as ``decisive`` has them
    steps: tuple[int, ...]  # agent steps that were behind them; of several seeds each one's, ascending
    seeds: tuple[Any, ...]  # the origin's: with them it is known, whatever it is called and wherever it lies
    past: str  # a digest that tells apart origins that were forks themselves; empty of one from scratch


class ConfigurationKey(NamedTuple):
    """Trials with equal keys are of one configuration, in whatever experiment they are."""

    learner: str
    settings: Hashable  # as ``decisive`` has them
    left: Left | None = None  # of a fork; None from scratch
    fresh: bool = False  # its seeds were drawn after it had been chosen, so its score has no selection bias


def completed(learner: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A trial's settings, with the learner's defaults for those that its record lacks.

    Every record names all settings that the learner has as it is written. A setting that is missing came later, and its
    default is what the learner did without it. Presets do not count: what they change stands in the record. Of a
    learner of one's own that was not imported, only the defaults that all learners have are known.
    """
    whole = dict(config)
    config_class = config_class_of(learner)
    lacking = {field.name for field in dataclasses.fields(config_class)} - whole.keys()
    if lacking:
        defaults = config_class().to_dict()
        for name in sorted(lacking):
            whole[name] = defaults[name]
    return whole


def is_baseline(config: Mapping[str, Any], baseline: Mapping[str, Any] | None) -> bool:
    """Whether a trial's settings are the baseline's: those of the preset that a sweep is around.

    ``baseline`` are the preset's own values of what the sweep varies, as its record has them; None or empty without.
    """
    if not baseline:
        return False
    return all(config.get(name) == value for name, value in baseline.items())


def decisive(config: Mapping[str, Any]) -> Hashable:
    """The settings that decide results, but for the random seed. Values of other types are other values.

    ``config`` has all settings of its learner, as ``completed`` makes it.
    """
    return tuple(sorted((name, repr(value)) for name, value in config.items() if name not in {"seed", *SPEED_ONLY}))
