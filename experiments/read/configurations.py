"""Trials that differ in random seed and parallelism alone are one configuration."""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.plan.trial_names import SHORT, short
from experiments.read.experiments import Experiment
from experiments.read.trial import Trial, arrived, rank
from trainables.texts import printable

SPEED_ONLY = {"num_workers", "cpus_per_worker", "placement", "game_timeout_s"}
"""Settings that change no result, so trials that differ in them are one configuration."""

ITERATION = ("slots", "segment_length", "updates_per_iteration")
"""Whose product is an iteration's agent steps, if it is of segments."""

MAX_LABEL = 200
"""Letters of a configuration's label."""


@dataclass(frozen=True)
class Configuration:
    """A configuration and its trials, one for each random seed."""

    learner: str
    config: dict[str, Any]  # without the seed
    trials: list[Trial]
    fresh: bool  # its seeds were drawn after it had been chosen, so its score has no selection bias

    @property
    def env_id(self) -> str:
        """The environment: agent steps and returns of two of them are not the same things."""
        return str(self.config.get("env_id", "unknown"))

    @property
    def seeds(self) -> list[int]:
        """The trials' seeds."""
        return [trial.seed for trial in self.trials]

    @property
    def arrived(self) -> list[Trial]:
        """The trials that have results; of these no seed that failed, unless all of them did."""
        return arrived(self.trials)

    @property
    def scores(self) -> np.ndarray:
        """The latest mean return of every seed that arrived (n,)."""
        return np.array([trial.last for trial in self.arrived])

    def scores_at(self, time_attr: str, value: float) -> np.ndarray:
        """Every seed's ``score_at`` (n,)."""
        return np.array([trial.score_at(time_attr, value) for trial in self.arrived])

    @property
    def score(self) -> float:
        """Mean over seeds; minus infinity without results, so that it ranks last."""
        return float(self.scores.mean()) if len(self.scores) else -np.inf

    def label(self, varied: Sequence[str]) -> str:
        """The configuration by the settings in which it differs from others: ``lr=2e-3 h=200``."""
        words = [f"{SHORT.get(name, name)}={short(self.config.get(name))}" for name in varied]
        label = printable(" ".join(words or [self.learner]))
        return textwrap.shorten(label, MAX_LABEL, placeholder=" ...") + (" (fresh seeds)" if self.fresh else "")


def by_configuration(experiments: Iterable[Experiment]) -> list[Configuration]:
    """All trials by learner and configuration, the best configuration first, and those that only failed last.

    Runs of one configuration and seed are the same run, so only the longest counts. The fresh seeds of a confirmation
    are a configuration of their own: the sweep's seeds were chosen for their luck, too.
    """
    found: dict[str, tuple[Configuration, dict[Any, Trial]]] = {}
    for experiment in experiments:
        fresh = experiment.spec.confirms is not None
        for trial in experiment.trials:
            config = {name: value for name, value in trial.config.items() if name != "seed"}
            decisive = sorted(item for item in config.items() if item[0] not in SPEED_ONLY)
            key = repr((experiment.learner, fresh, decisive))
            _, by_seed = found.setdefault(key, (Configuration(experiment.learner, config, [], fresh), {}))
            seed = trial.config.get("seed")
            if seed not in by_seed or trial.iterations > by_seed[seed].iterations:
                by_seed[seed] = trial
    for configuration, by_seed in found.values():
        configuration.trials.extend(by_seed.values())
    return sorted((configuration for configuration, _ in found.values()), key=lambda c: rank(c.trials), reverse=True)


def best_configurations(sweep: Experiment, count: int) -> list[Configuration]:
    """At most ``count`` of the configurations that have results: the sweep's best first, then those that halving kept
    longest, and of these those with the highest scores."""
    found = [configuration for configuration in by_configuration([sweep]) if len(configuration.scores)]
    first = {trial.folder for trial in sweep.best_seeds}

    def order(configuration: Configuration) -> tuple[bool, int]:
        trials = configuration.trials
        return not first.isdisjoint(trial.folder for trial in trials), max(trial.rung for trial in trials)

    return sorted(found, key=order, reverse=True)[:count]


def varied(configurations: Iterable[Configuration]) -> list[str]:
    """Settings that are not the same in all of these, or that only some have, in the order of trials' names.

    ``updates_per_iteration`` is left out where it follows from the others, as in a sweep: the same steps an iteration.
    """
    configs = [configuration.config for configuration in configurations]
    names = dict.fromkeys(name for config in configs for name in config)
    different = [name for name in names if len({repr(config.get(name)) for config in configs}) > 1]
    if ITERATION[-1] in different and _iterations_are_alike(configs):
        different.remove(ITERATION[-1])
    order = list(SHORT)
    return sorted(different, key=lambda name: order.index(name) if name in order else len(order))


def _iterations_are_alike(configs: Iterable[Mapping[str, Any]]) -> bool:
    """Whether slots and segments decide the number of updates, and iterations differ by the steps of one at most."""
    found: list[tuple[Any, ...]] = [tuple(map(config.get, ITERATION)) for config in configs]
    if not all(isinstance(value, int) for size in found for value in size):
        return False
    sizes = {*found}
    steps = [math.prod(size) for size in sizes]
    largest = max(math.prod(size[:-1]) for size in sizes)  # steps of an update
    return len({size[:-1] for size in sizes}) == len(sizes) and max(steps) - min(steps) <= largest
