"""Experiments as they lie on disk, running, killed or finished: only text is read, and nothing is unpickled."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from experiments.plan.learners import LEARNERS, is_learner
from experiments.read.rows import tune_statuses
from experiments.read.standings import Standing, last_compared, standings, together
from experiments.read.trial import ENDED, OVER, TIME_IS_UP, Trial, read_trial
from experiments.record import folders, lock
from experiments.record.decisions import (
    Decision,
    Exchange,
    WinnerGames,
    dropped,
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
    def standings(self) -> list[Standing]:
        """Its configurations that have results, the best first, as ``read/standings.py`` orders them."""
        return standings(self.trials, self.spec, self.decisions)

    @cached_property
    def last_compared(self) -> list[Standing]:
        """The standings where several configurations were last compared, the best first; empty if they never were."""
        return last_compared(self.standings, self.trials, self.spec, self.decisions) if self.standings else []

    @property
    def leader(self) -> Standing | None:
        """The best configuration; None without results."""
        return next(iter(self.standings), None)

    @property
    def leading(self) -> list[Standing]:
        """The configurations that went on at as many rungs as the best one; all of them without halving."""
        return [each for each in self.standings if each.rung == self.standings[0].rung]

    @property
    def best(self) -> Trial | None:
        """The best seed of the best configuration; None without results."""
        return self.leader.best if self.leader else None

    @property
    def winner(self) -> Trial | None:
        """The best trial of a halved sweep, once one configuration alone is left, or all that are left have ended."""
        decided = len(self.leading) == 1 or all(each.at is None for each in self.leading)
        return self.best if self.decisions and decided else None


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
