"""The trials of each configuration, in one experiment or several, and those of them by which it is judged."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.disk.experiments import Experiment
from experiments.disk.standings import Standing, by_latest, each_run_once
from experiments.disk.trial import Trial
from experiments.plan.identity import SPEED_ONLY, ConfigurationKey
from experiments.plan.trial_names import BASELINE, SHORT, short
from trainables.texts import printable

UPDATES = "updates_per_iteration"
ITERATION = ("slots", "segment_length", UPDATES)
"""Settings whose product is the number of agent steps of an iteration of segments."""

MAX_LABEL = 200  # letters


@dataclass(frozen=True)
class Configuration:
    """A configuration and its trials, one for each random seed, by which it is judged."""

    learner: str
    config: dict[str, Any]  # without the seed
    trials: list[Trial]  # those that their scheduler kept longest, and those that failed
    fresh: bool  # its seeds were drawn after it had been chosen, so its score has no selection bias
    stopped: list[Trial] = field(default_factory=list)  # by a scheduler, while others of the same settings went on
    origin: str = ""  # where its trials come from, in words; empty from scratch

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
        """All trials, with those that were stopped earlier; for early curves, and for speeds."""
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
        """The latest score of every trial by which it is judged (n,)."""
        return np.array([trial.last for trial in self.judged_by])

    @property
    def score(self) -> float:
        """Its score over the seeds; minus infinity without results."""
        return self.standing.score

    @property
    def remarks(self) -> str:
        """What the score does not say of the trials: how many diverged, failed or have no results, were stopped."""
        judged = {trial.folder for trial in self.judged_by}
        not_judged = [trial for trial in self.trials if trial.folder not in judged]
        counts = {
            "diverged": sum(trial.diverged for trial in self.judged_by),
            "failed": sum(trial.failed for trial in not_judged if trial.rows),
            "without results": sum(not trial.rows for trial in not_judged),
            "stopped earlier": len(self.stopped),
        }
        words = []
        for what, count in counts.items():
            if count:
                words.append(f"{count} {what}")
        return ", ".join(words)

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
    """The configurations of all trials, the best first, and those of which all trials failed last.

    Two runs of one seed are the same run, so only the longer one counts. The fresh seeds of a confirmation are a
    configuration of their own: the sweep's seeds were chosen for their luck, too. Where a scheduler stopped some trials
    of the same settings earlier than others, those count that it kept longest.
    """
    trials_of: dict[ConfigurationKey, list[Trial]] = {}
    for experiment in experiments:
        for trial in experiment.trials:
            trials_of.setdefault(trial.key, []).append(trial)
    found = [_configuration(each_run_once(trials)) for trials in trials_of.values()]
    return sorted(found, key=lambda configuration: configuration.standing.order, reverse=True)


def with_results(experiments: Iterable[Experiment]) -> list[Configuration]:
    """The configurations of these experiments that have scores, the best first."""
    return [configuration for configuration in by_configuration(experiments) if len(configuration.scores)]


def _configuration(runs: Sequence[Trial]) -> Configuration:
    """The configuration of these runs, which are those that were kept longest, and those that were stopped before.

    A run without results was kept no longer than others, if there are any.
    """
    first = runs[0]
    with_rows = [trial for trial in runs if trial.rows]
    last = max(trial.stopped_at for trial in with_rows or runs)
    kept, stopped = [], []
    for trial in runs:
        if trial.stopped_at < last and not trial.failed:
            stopped.append(trial)
        else:
            kept.append(trial)
    config = dict(first.config)
    config.pop("seed", None)
    return Configuration(first.learner, config, kept, first.key.fresh, stopped, _origin(first))


def _origin(trial: Trial) -> str:
    """Where the trials of a fork's configuration come from; empty from scratch."""
    left, fork_of = trial.key.left, trial.records.spec.fork_of
    if not left or not fork_of:
        return ""
    first, last = left.steps[0], left.steps[-1]
    at = f"{first:,}"
    if first != last:
        at += f" to {last:,}"
    return f"forked from {fork_of.name} at {at} steps"


def best_configurations(sweep: Experiment, count: int) -> list[Configuration]:
    """At most ``count`` of the configurations that have results, in the order of the sweep's standings.

    Where halving treated trials of equal settings apart, the best of them says where their configuration stands.
    """
    found = {configuration.trials[0].key: configuration for configuration in with_results([sweep])}
    in_order: dict[ConfigurationKey, Configuration] = {}
    for standing in sweep.standings:
        key = standing.trials[0].key
        if key in found:
            in_order.setdefault(key, found[key])
    return [*in_order.values()][:count]


def varied(configurations: Iterable[Configuration]) -> list[str]:
    """Settings that are not the same in all configurations, or that only some have, in the order of trials' names.

    Those that change the speed alone are left out: what a trial had of them can be other than what it asked for. So is
    ``updates_per_iteration`` where the other settings decide it, as in a sweep, whose iterations have the same number
    of steps.
    """
    configs = [configuration.config for configuration in configurations]
    names: dict[str, None] = {}  # a set that keeps its order
    for config in configs:
        names |= dict.fromkeys(config)
    different = []
    for name in names:
        values = {repr(config.get(name)) for config in configs}
        if len(values) > 1 and name not in SPEED_ONLY:
            different.append(name)
    if UPDATES in different and _iterations_are_alike(configs):
        different.remove(UPDATES)
    order = [*SHORT, *different]
    return sorted(different, key=order.index)


def _iterations_are_alike(configs: Iterable[Mapping[str, Any]]) -> bool:
    """Whether slots and segments decide the number of updates.

    That is so if equal slots and segments come with equal updates, and if the steps of iterations differ by no more
    than those of the longest update.
    """
    updates_of: dict[tuple[int, int], int] = {}  # by slots and segment length
    steps, longest_update = [], 0
    for config in configs:
        sizes: list[Any] = [config.get(name) for name in ITERATION]
        for size in sizes:
            if isinstance(size, bool) or not isinstance(size, int):
                return False
        slots, length, updates = sizes
        if updates_of.setdefault((slots, length), updates) != updates:
            return False
        steps.append(slots * length * updates)
        longest_update = max(longest_update, slots * length)
    return max(steps) - min(steps) <= longest_update
