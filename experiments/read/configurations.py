"""The trials of each configuration, in one experiment or several, and those of them by which it is judged."""

import textwrap
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.plan.identity import ConfigurationKey
from experiments.plan.trial_names import BASELINE, SHORT, short
from experiments.read.experiments import Experiment
from experiments.read.standings import Standing, by_latest
from experiments.read.trial import Trial
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
        """Also those that were stopped earlier, for what is looked at where they still were, or needs no end."""
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
        counts = {"diverged": sum(trial.diverged for trial in self.judged_by)}
        counts |= {"without": len(self.trials) - len(self.judged_by), "stopped earlier": len(self.stopped)}
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count)

    def label(self, varied: Sequence[str]) -> str:
        """The configuration by the settings in which it differs from others: ``lr=2e-3 h=200``."""
        words = [f"{SHORT.get(name, name)}={short(self.config.get(name))}" for name in varied]
        label = textwrap.shorten(printable(" ".join(words or [self.learner])), MAX_LABEL, placeholder=" ...")
        more = [
            text for text in (BASELINE * self.is_baseline, printable(self.origin), "fresh seeds" * self.fresh) if text
        ]
        return label + "".join(f" ({text})" for text in more)


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
    (experiment, first), trials = runs[0], [trial for _, trial in runs]
    last = max(trial.stopped_at for trial in trials)
    stopped = [trial for trial in trials if trial.stopped_at < last and not trial.failed]
    kept = [trial for trial in trials if trial not in stopped]
    config = {name: value for name, value in first.config.items() if name != "seed"}
    origin = ""
    if first.key.left and (fork_of := experiment.spec.fork_of):
        steps = first.key.left.steps
        at = " to ".join(f"{end:,}" for end in dict.fromkeys((steps[0], steps[-1])))
        origin = f"forked from {fork_of.name} at {at} steps"
    return Configuration(first.learner, config, kept, first.key.fresh, stopped, origin)


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
    names = dict.fromkeys(name for config in configs for name in config)
    different = [name for name in names if len({repr(config.get(name)) for config in configs}) > 1]
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
    sizes = {tuple(repr(config.get(name)) for name in ITERATION) for config in configs}
    if not all(value.isdecimal() for size in sizes for value in size):
        return False
    found = [(int(slots) * int(length), int(updates)) for slots, length, updates in sizes]  # steps of an update
    steps = [update * updates for update, updates in found]
    return len({size[:-1] for size in sizes}) == len(sizes) and max(steps) - min(steps) <= max(found)[0]
