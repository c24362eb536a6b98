"""Experiments as they lie on disk, running, killed or finished: only text is read, and nothing is unpickled."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from experiments.plan.learners import LEARNERS, is_learner
from experiments.read.rows import tune_statuses
from experiments.read.trial import AT_END, ENDED, OVER, TIME_IS_UP, Trial, rank, read_trial, together
from experiments.record import folders, lock
from experiments.record.decisions import (
    Decision,
    Exchange,
    WinnerGames,
    dropped,
    mean,
    read_decisions,
    read_exchanges,
    read_winner,
)
from experiments.record.spec import ALL_DONE, TIME_BUDGET, ExperimentSpec, find
from trainables.checks import ConfigError, unknown


@dataclass(frozen=True)
class Experiment:
    """An experiment's specification, its trials, and what was decided about them."""

    folder: Path
    spec: ExperimentSpec
    trials: list[Trial]
    running: bool  # a program holds its lock
    over: bool  # every trial has come to its end
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
    def state(self) -> str:
        """Running now, interrupted, time is up, failed (ended, with a failed trial) or finished."""
        if self.running:
            return "running"
        if not self.settled:
            return "interrupted"
        if self.spec.ended == TIME_BUDGET and not self.over:
            return TIME_IS_UP
        return "failed" if any(trial.state == "failed" for trial in self.trials) else "finished"

    @property
    def settled(self) -> bool:
        """Whether it has come to its end: that of all its trials, or of its time budget."""
        return self.over or (not self.running and self.spec.ended in (ALL_DONE, TIME_BUDGET))

    @property
    def goes_on(self) -> bool:
        """Whether its trials go on with ``--resume``: not with a confirmation, for which scores stay as they are."""
        return not self.over and not (self.spec.confirm and self.state == TIME_IS_UP)

    @property
    def left(self) -> list[Trial]:
        """The trials with which ``--resume`` goes on: neither at their end nor stopped at a rung."""

        def over(trial: Trial) -> bool:
            done = trial.state in ENDED and bool(trial.rows) and trial.rows[-1].get("done")
            return done or dropped(self.decisions, trial.number) is not None

        return [trial for trial in self.trials if not over(trial)]

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
        return all(trial.state in AT_END for trial in self.furthest)

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
            return any(trial.state != "failed" for trial in trials), -math.inf if at_rung is None else at_rung

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
        over = len(left) == 1 or all(trial.state in AT_END for trial in leading)
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
    statuses, decisions, exchanges = tune_statuses(folder), read_decisions(folder), read_exchanges(folder)
    trials = [
        read_trial(path, int(key) if spec.command else index, spec, running, statuses.get(key), decisions, exchanges)
        for index, (key, path) in enumerate(folders.trial_folders(folder).items())
    ]
    planned = len(spec.configs)
    known = len(statuses) >= planned and all(status in OVER for status in statuses.values())
    over = all(trial.state in ENDED for trial in trials) and (known or len(trials) >= planned > 0)
    return Experiment(folder, spec, trials, running, over, decisions, exchanges, read_winner(folder))


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
