"""The trials of each configuration, in one experiment or several, and those of them by which it is judged."""

import textwrap
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.disk.experiments import Experiment
from experiments.disk.standings import Standing, by_latest
from experiments.disk.trial import Trial
from experiments.plan.identity import ConfigurationKey
from experiments.plan.trial_names import BASELINE, SHORT, short
from trainables.texts import printable

ITERATION = ("slots", "segment_length", "updates_per_iteration")  # their product is an iteration's steps, of segments
MAX_LABEL = 200  # letters


@dataclass(frozen=True)
class Configuration:
    """A configuration and its trials, one for each random seed, by which it is judged."""

    learner: str
    config: dict[str, Any]  # without the seed
    trials: list[Trial]  # that halving kept longest, and those that failed
    fresh: bool  # its seeds were drawn after it had been chosen, so its score has no selection bias
    stopped: list[Trial] = field(default_factory=list)  # earlier, while others of the same settings went on
    origin: str = ""  # where it came from, in words; empty from scratch

    @property
    def env_id(self) -> str:
        """The environment: agent steps and returns of two of them are not the same things."""
        return str(self.config.get("env_id", "unknown"))

    @property
    def is_baseline(self) -> bool:
        """Whether it has the preset's own values of what a sweep varies."""
        return any(trial.is_baseline for trial in self.all_trials)

    @property
    def seeds(self) -> list[int]:
        """The trials' seeds."""
        return [trial.seed for trial in self.trials]

    @property
    def all_trials(self) -> list[Trial]:
        """All trials, with those that halving stopped earlier; for early curves, and for speeds."""
        return self.trials + self.stopped

    @property
    def standing(self) -> Standing:
        """Its trials by their latest results."""
        return by_latest(self.trials)

    @property
    def judged_by(self) -> list[Trial]:
        """The trials by which it is judged."""
        return self.standing.judged_by

    @property
    def scores(self) -> np.ndarray:
        """The latest mean return of every seed that arrived (n,)."""
        return np.array([trial.last for trial in self.judged_by])

    @property
    def score(self) -> float:
        """Its score over the seeds; minus infinity without results."""
        return self.standing.score

    @property
    def remarks(self) -> str:
        """What its score does not say of its trials: how many diverged, failed or have no results, were stopped."""
        counts = Counter(diverged=sum(trial.diverged for trial in self.judged_by))
        counts["without"] = len(self.trials) - len(self.judged_by)
        counts["stopped earlier"] = len(self.stopped)
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count)

    def label(self, varied: Sequence[str]) -> str:
        """The configuration by the settings in which it differs from others: ``lr=2e-3 h=200``."""
        words = [f"{SHORT.get(name, name)}={short(self.config.get(name))}" for name in varied]
        label = textwrap.shorten(printable(" ".join(words or [self.learner])), MAX_LABEL, placeholder=" ...")
        if self.is_baseline:
            label += f" ({BASELINE})"
        if self.origin:
            label += f" ({printable(self.origin)})"
        if self.fresh:
            label += " (fresh seeds)"
        return label


def by_configuration(experiments: Iterable[Experiment]) -> list[Configuration]:
    """All trials by configuration, the best configuration first, and those that only failed last.

    Two runs of one seed are the same run, so only the longer one counts. The fresh seeds of a confirmation are a
    configuration of their own: the sweep's seeds were chosen for their luck, too. Of trials that halving treated apart,
    though they have the same settings, those count that it kept longest.
    """
    runs: dict[ConfigurationKey, dict[Hashable, tuple[Experiment, Trial]]] = {}
    for experiment in experiments:
        for trial in experiment.trials:
            of_one, run = runs.setdefault(trial.key, {}), (trial.seed, trial.forked_at)
            if run not in of_one or trial.iterations > of_one[run][1].iterations:
                of_one[run] = experiment, trial
    found = [_configuration([*each.values()]) for each in runs.values()]
    return sorted(found, key=lambda configuration: configuration.standing.order, reverse=True)


def _configuration(runs: Sequence[tuple[Experiment, Trial]]) -> Configuration:
    """Its trials apart: those that were among the last of their sweep, and those that it stopped before."""
    experiment, first = runs[0]
    last = max(trial.stopped_at for _, trial in runs)
    kept: list[Trial] = []
    stopped: list[Trial] = []
    for _, trial in runs:
        earlier = trial.stopped_at < last and not trial.failed
        (stopped if earlier else kept).append(trial)
    config = dict(first.config)
    config.pop("seed", None)
    return Configuration(first.learner, config, kept, first.key.fresh, stopped, _origin(experiment, first))


def _origin(experiment: Experiment, trial: Trial) -> str:
    """Where the trials of a fork's configuration come from; empty from scratch."""
    left, fork_of = trial.key.left, experiment.spec.fork_of
    if not left or not fork_of:
        return ""
    first, last = left.steps[0], left.steps[-1]
    at = f"{first:,}" if first == last else f"{first:,} to {last:,}"
    return f"forked from {fork_of.name} at {at} steps"


def best_configurations(sweep: Experiment, count: int) -> list[Configuration]:
    """At most ``count`` of the configurations that have results, in the order of the sweep's standings.

    Where halving treated trials of equal settings apart, the best of them says where their configuration stands.
    """
    places: dict[ConfigurationKey, int] = {}
    for place, standing in enumerate(sweep.standings):
        places.setdefault(standing.trials[0].key, place)
    found = [configuration for configuration in by_configuration([sweep]) if len(configuration.scores)]
    return sorted(found, key=lambda configuration: places[configuration.trials[0].key])[:count]


def varied(configurations: Iterable[Configuration]) -> list[str]:
    """Settings that are not the same in all of these, or that only some have, in the order of trials' names.

    ``updates_per_iteration`` is left out where it follows from the others, as in a sweep: the same steps an iteration.
    """
    configs = [configuration.config for configuration in configurations]
    values: dict[str, set[str]] = {}
    for config in configs:
        for name in config:
            values.setdefault(name, set())
    for name, found in values.items():
        found.update(repr(config.get(name)) for config in configs)
    different = [name for name, found in values.items() if len(found) > 1]
    if ITERATION[-1] in different and _iterations_are_alike(configs):
        different.remove(ITERATION[-1])
    order = [*SHORT, *different]
    return sorted(different, key=order.index)


def labelled(configurations: Iterable[Configuration], among: Sequence[Configuration]) -> list[str]:
    """Their labels, by the settings in which the configurations of their learner ``among`` these differ."""
    names = {}
    for learner in {each.learner for each in among}:
        names[learner] = varied([each for each in among if each.learner == learner])
    return [each.label(names[each.learner]) for each in configurations]


def _iterations_are_alike(configs: Iterable[Mapping[str, Any]]) -> bool:
    """Whether slots and segments decide the number of updates, and iterations differ by the steps of one at most."""
    updates_of: dict[tuple[int, int], int] = {}  # by slots and segment length
    for config in configs:
        sizes: list[Any] = [config.get(name) for name in ITERATION]
        if not all(isinstance(size, int) and not isinstance(size, bool) for size in sizes):
            return False
        slots, length, updates = sizes
        if updates_of.setdefault((slots, length), updates) != updates:
            return False
    steps = [slots * length * updates for (slots, length), updates in updates_of.items()]
    longest_update = max(slots * length for slots, length in updates_of)
    return max(steps) - min(steps) <= longest_update
