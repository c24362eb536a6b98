"""Experiments as they lie on disk, running, killed or finished: only text is read, and nothing is unpickled."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from experiments.plan.learners import LEARNERS, is_learner
from experiments.read.rows import tune_statuses
from experiments.read.states import ExperimentState, Records, state_of_experiment
from experiments.read.trial import Trial, rank, read_trial, together
from experiments.record import folders, lock
from experiments.record.decisions import (
    Decision,
    Exchange,
    WinnerGames,
    mean,
    read_decisions,
    read_exchanges,
    read_winner,
)
from experiments.record.spec import ExperimentSpec, find
from trainables.checks import ConfigError, unknown


@dataclass(frozen=True)
class Experiment:
    """An experiment's specification, its trials, and what was decided about them."""

    folder: Path
    spec: ExperimentSpec
    trials: list[Trial]
    running: bool  # a program holds its lock
    decisions: Sequence[Decision] = ()  # of halving
    exchanges: Sequence[Exchange] = ()  # of population based training
    played: WinnerGames | None = None  # what the winner's last games returned

    @property
    def name(self) -> str:
        """The experiment's name, which is also its folder's."""
        return self.folder.name

    @property
    def learner(self) -> str:
        """The learner's name."""
        return self.spec.learner

    @property
    def all_ended(self) -> bool:
        """Whether all trials that were planned began, and have ended."""
        return 0 < len(self.spec.configs) <= len(self.trials) and all(trial.has_ended for trial in self.trials)

    @cached_property
    def state(self) -> ExperimentState:
        """What has become of it, whatever the confirmation that it promises has come to."""
        return state_of_experiment([t.state for t in self.trials], self.all_ended, self.running, self.spec.ended)

    @property
    def has_ended(self) -> bool:
        """Whether it came to an end, that of its trials or of its time budget, so that its scores can be confirmed."""
        return self.state.has_ended

    @property
    def can_be_confirmed(self) -> bool:
        """Whether the confirmation that it promised can begin; from then on its scores stay as they are."""
        return bool(self.spec.confirm) and self.has_ended and any(trial.rows for trial in self.trials)

    @property
    def goes_on(self) -> bool:
        """Whether ``--resume`` plays its trials further; if it promised a confirmation, that goes on instead."""
        return self.trials_to_play > 0 and not self.can_be_confirmed

    @property
    def trials_to_play(self) -> int:
        """How many trials have more to play: those that did not begin, and those that go on."""
        return trials_to_play(self.trials, len(self.spec.configs))

    @property
    def joined(self) -> bool:
        """Whether several trials are seeds of one configuration."""
        return len(together(self.trials)) < len(self.trials)

    @cached_property
    def furthest(self) -> list[Trial]:
        """Of the trials that have results those that went on at most rungs; all of them without halving."""
        played = [trial for trial in self.trials if trial.rows]
        most = max((trial.rung for trial in played), default=0)
        return [trial for trial in played if trial.rung == most]

    @property
    def compared_at_end(self) -> bool:
        """Whether all that went furthest have ended, so that the best is chosen there, and not at their last rung."""
        return all(trial.played_out for trial in self.furthest)

    @cached_property
    def best_seeds(self) -> list[Trial]:
        """The seeds of the best configuration, by the mean of their latest returns; under halving of those that went
        furthest, which are compared where they last met."""
        leading = self.furthest
        if self.compared_at_end or not leading[0].rung:
            return max(together(leading), key=rank, default=[])
        scores = self.decisions[leading[0].rung - 1].scores

        def there(trials: Sequence[Trial]) -> tuple[bool, float]:
            at_rung = mean(scores[trial.number] for trial in trials)
            return any(not trial.failed for trial in trials), -math.inf if at_rung is None else at_rung

        return max(together(leading), key=there)

    @property
    def best(self) -> Trial | None:
        """The best seed of the best configuration. A trial that failed is behind all others."""
        return max(self.best_seeds, key=lambda trial: rank([trial]), default=None)

    @property
    def winner(self) -> Trial | None:
        """The best trial of a halved sweep, once only one configuration is left, or none that is has more to play."""
        leading = [trial for trial in self.trials if self.best and trial.rung == self.best.rung]
        numbers = {trial.number for trial in leading}
        left = [trials for trials in self.spec.configurations if numbers & {*trials}]  # as halving decides about them
        over = len(left) == 1 or all(trial.played_out for trial in leading)
        return self.best if self.decisions and over else None


def read_experiment(folder: Path, running: bool | None = None) -> Experiment:
    """Read an experiment; ``running`` says whether a program runs it, by its lock if left out.

    Raises ConfigError if one of its own files is damaged, if its learner is none of ours, if a setting is impossible,
    or if there are two folders of one trial; everything else may be half there.
    """
    spec = ExperimentSpec.read(folder)
    if not is_learner(spec.learner):
        raise ConfigError(f"{folder / folders.RECORD}: {unknown('learner', spec.learner, LEARNERS)}")
    running = lock.is_held(folder) if running is None else running
    statuses = tune_statuses(folder)
    records = Records(spec, read_decisions(folder), read_exchanges(folder))
    trials = []
    for index, (key, path) in enumerate(folders.trial_folders(folder).items()):
        number = int(key) if spec.command else index
        trials.append(read_trial(path, number, records, statuses.get(key), running))
    return Experiment(folder, spec, trials, running, records.decisions, records.exchanges, read_winner(folder))


def trials_to_play(trials: Sequence[Trial], planned: int) -> int:
    """How many trials of those ``planned`` have more to play, where these have begun."""
    return max(0, planned - len(trials)) + sum(trial.goes_on for trial in trials)


def read_group(storage_path: Path, names: str) -> list[Experiment]:
    """An experiment by name or path, or several joined by commas. Raises ConfigError, listing what there is."""
    try:
        return [read_experiment(find(storage_path, names))]
    except ConfigError:
        if "," not in names:
            raise
    return [read_experiment(find(storage_path, name)) for name in names.split(",")]


def read_all(storage_path: Path) -> tuple[list[Experiment], dict[str, str]]:
    """The experiments in a storage folder, and by name what is wrong with those that cannot be understood."""
    experiments, damaged = [], {}
    for name in folders.existing(storage_path):
        try:
            experiments.append(read_experiment(find(storage_path, name)))
        except ConfigError as error:
            damaged[name] = str(error)
    return experiments, damaged
