"""Trials that differ in seed and parallelism alone are one configuration: how good it is, and how sure that is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from experiments.ask.words import short
from experiments.plan.trial_names import SHORT
from experiments.read.bootstrap import probability_of_higher_mean
from experiments.read.trials import Experiment, TrialResult

SPEED_ONLY = {"num_workers", "cpus_per_worker", "placement", "game_timeout_s"}
"""Settings that change no result, so trials that differ in them are one configuration."""

UNITS = {"timesteps_total": "steps", "training_iteration": "iterations"}
"""What the metrics count by which trials are compared."""


@dataclass(frozen=True)
class Configuration:
    """A configuration and its trials, one a seed."""

    learner: str
    config: dict[str, Any]  # without the seed
    trials: list[TrialResult]
    fresh: bool  # seeds that were drawn after the configuration had been chosen, so that its score is fair

    @property
    def seeds(self) -> list[int]:
        """The trials' seeds."""
        return [trial.config.get("seed", 0) for trial in self.trials]

    @property
    def scores(self) -> np.ndarray:
        """The latest mean return of every seed that has results (n,)."""
        return np.array([trial.last for trial in self.trials if trial.rows])

    def scores_at(self, clock: str, value: float) -> np.ndarray:
        """Every seed's ``score_at`` (n,)."""
        return np.array([trial.score_at(clock, value) for trial in self.trials if trial.rows])

    @property
    def score(self) -> float:
        """Mean over seeds; minus infinity without results, so that it ranks last."""
        return float(self.scores.mean()) if len(self.scores) else -np.inf

    def label(self, varied: Sequence[str]) -> str:
        """The configuration by the settings in which it differs from others: ``lr=2e-3 h=200``."""
        words = [f"{SHORT.get(name, name)}={short(self.config.get(name))}" for name in varied]
        return " ".join(words or [self.learner]) + (" (fresh seeds)" if self.fresh else "")


def group(experiments: Iterable[Experiment]) -> list[Configuration]:
    """All trials by learner and configuration, the best group first.

    Runs of one configuration and seed are the same run, so only the longest counts. Fresh seeds of a confirmation stay
    apart from the sweep's: the sweep's were chosen for their luck, too.
    """
    found: dict[str, tuple[Configuration, dict[Any, TrialResult]]] = {}
    for experiment in experiments:
        fresh = bool(experiment.record.get("confirms"))
        for trial in experiment.trials:
            config = without_seed(trial.config)
            decisive = sorted(item for item in config.items() if item[0] not in SPEED_ONLY)
            key = repr((experiment.learner, fresh, decisive))
            _, by_seed = found.setdefault(key, (Configuration(experiment.learner, config, [], fresh), {}))
            seed = trial.config.get("seed")
            if seed not in by_seed or trial.iterations > by_seed[seed].iterations:
                by_seed[seed] = trial
    groups = [Configuration(g.learner, g.config, list(by_seed.values()), g.fresh) for g, by_seed in found.values()]
    return sorted(groups, key=lambda g: g.score, reverse=True)


def varied(groups: Iterable[Configuration]) -> list[str]:
    """Settings that are not the same in all of these groups, in the order in which trials' names have them."""
    configs = [g.config for g in groups]
    names = configs[0] if configs else {}
    different = [name for name in names if len({repr(config.get(name)) for config in configs}) > 1]
    order = list(SHORT)
    return sorted(different, key=lambda name: order.index(name) if name in order else len(order))


def without_seed(config: dict[str, Any]) -> dict[str, Any]:
    """The settings that make a configuration."""
    return {name: value for name, value in config.items() if name != "seed"}


class Confirmation(NamedTuple):
    """What fresh seeds say of a configuration that a sweep had chosen."""

    chosen: Configuration  # as the sweep has it
    end: int  # where the sweep's trial ended; both scores are taken there
    unit: str  # steps or iterations
    sweep: float  # mean return of the last 100 games
    fresh: np.ndarray  # the same of each fresh seed (n,)
    final: np.ndarray  # and where the fresh seeds ended (n,), which is later if the sweep's trial was stopped early

    @property
    def where(self) -> str:
        """The end, as people say it."""
        return f"{self.end / 1e6:.2f} M steps" if self.unit == "steps" else f"{self.end} {self.unit}"

    @property
    def drop(self) -> float:
        """By how much the sweep flattered it: the selection bias, as far as these seeds show it."""
        return self.sweep - float(self.fresh.mean())


def candidates(sweep: Experiment, count: int) -> list[Configuration]:
    """The best configurations of those that have results."""
    return [g for g in group([sweep]) if len(g.scores)][:count]


def confirmations(sweep: Experiment, confirm: Experiment) -> list[Confirmation]:
    """Scores in the sweep beside those of fresh seeds, the sweep's best first."""
    clock = "timesteps_total" if sweep.record.get("timesteps") else "training_iteration"
    fresh = {repr(sorted(g.config.items())): g for g in group([confirm])}
    found = []
    for chosen in candidates(sweep, len(sweep.trials)):
        again = fresh.get(repr(sorted(chosen.config.items())))
        if again is not None and len(again.scores):
            end = min(trial.rows[-1][clock] for trial in chosen.trials if trial.rows)
            before, after = chosen.scores_at(clock, end), again.scores_at(clock, end)
            found.append(Confirmation(chosen, end, UNITS[clock], float(before.mean()), after, again.scores))
    return found


def verdict(found: Sequence[Confirmation]) -> str:
    """Which of two or more configurations is best by its fresh seeds, and how sure that is."""
    best, next_best = sorted(found, key=lambda c: float(c.final.mean()), reverse=True)[:2]
    names = varied(c.chosen for c in found)
    probability = probability_of_higher_mean(best.final, next_best.final)
    return (
        f"By the end of its fresh seeds {best.chosen.label(names)} is best, and beats {next_best.chosen.label(names)}"
        f" with probability {probability:.2f} (bootstrap over seeds)."
    )
