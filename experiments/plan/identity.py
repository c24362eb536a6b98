"""What a configuration is, and a run of it: the only place that says which trials belong together.

A configuration is a learner, the settings that decide results, and where its trials came from: from scratch, or from
where they left the trials of another experiment. With a random seed it is a run, which nothing else can repeat.
"""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

SPEED_ONLY = {"num_workers", "cpus_per_worker", "placement", "game_timeout_s"}
"""Settings that change no result, so trials that differ in them are one configuration."""


class Left(NamedTuple):
    """Where the trials of a fork left those of its origin."""

    settings: Hashable  # the origin's, as ``decisive`` has them
    steps: tuple[int, ...]  # agent steps that were behind them; of several seeds each one's, ascending


class ConfigurationKey(NamedTuple):
    """Trials with equal keys are of one configuration, in whatever experiment they are."""

    learner: str
    settings: Hashable  # as ``decisive`` has them
    left: tuple[Left, ...] = ()  # of a fork, and before it of a fork that this one left; none from scratch
    copied: str = ""  # a trial that went on with the results of another one is like no other: its folder
    fresh: bool = False  # its seeds were drawn after it had been chosen, so its score has no selection bias


def decisive(config: Mapping[str, Any]) -> Hashable:
    """The settings that decide results, but for the random seed. Values of other types are other values."""
    return tuple(sorted((name, repr(value)) for name, value in config.items() if name not in {"seed", *SPEED_ONLY}))
