"""Several seeds of each configuration: trials that differ in nothing else, side by side."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.plan.trial_names import number_of
from trainables.checks import ConfigError
from trainables.config import Config

ON_MEANS = ("halving", "fifo")
"""Schedulers that know what to do with several seeds: one decides on their mean, the other runs them all."""


def require_means(seeds: int, scheduler: str, settings: Mapping[str, Any]) -> None:
    """Raise ConfigError if there are several seeds, and the scheduler decides about each trial alone.

    Raises ConfigError, too, if the seed is one of the ``settings`` that are the same in all trials.
    """
    if seeds > 1 and scheduler not in ON_MEANS:
        raise ConfigError(
            f"--scheduler {scheduler} decides about each trial alone, and here are {seeds} seeds of a configuration:"
            " halving decides on their mean, and fifo runs all"
        )
    if seeds > 1 and "seed" in settings:
        raise ConfigError(f"--set seed={settings['seed']} would make {seeds} seeds of a configuration the same")


def with_seeds(configs: Sequence[Config], seeds: int) -> tuple[list[Config], list[int], list[str]]:
    """Each configuration with as many seeds; all have the same ones, from that of the first one on.

    Returns the trials' configurations, which of these each is a seed of, and notes. What was drawn more than once runs
    once, since its trials would be the same.
    """
    found: dict[str, Config] = {}
    for config in configs:
        found.setdefault(repr(dataclasses.replace(config, seed=0)), config)
    first, again = configs[0].seed, len(configs) - len(found)
    trials = [dataclasses.replace(config, seed=first + index) for config in found.values() for index in range(seeds)]
    note = f"{again} of {len(configs)} configurations were drawn before, and run once: they would have the same seeds."
    return trials, [index // seeds for index in range(len(trials))], [note] if again else []


def in_words(trials: Sequence[int]) -> str:
    """The numbers of trials: ``00000 to 00002`` where more than two follow each other."""
    first, last = trials[0], trials[-1]
    if len(trials) > 2 and [*trials] == [*range(first, last + 1)]:
        return f"{number_of(first)} to {number_of(last)}"
    return ", ".join(map(number_of, trials))
