"""Experiments as they lie on disk, running, killed or finished: only text is read, and nothing is unpickled."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.ask.budget import Budget
from experiments.plan.learners import LEARNERS, config_class_of, is_learner
from experiments.plan.trial_names import number_in_id, number_in_name
from experiments.read.over import ending, is_over, saved_iteration
from experiments.read.rows import lines, read_json, read_rows
from experiments.read.seeds import rank, together
from experiments.read.windows import area_under
from experiments.record import folders, lock, names
from experiments.record.decisions import Decision, dropped, passed, read_decisions
from experiments.record.sound import matches
from experiments.record.spec import ALL_DONE, SETTINGS, TIME_BUDGET, sound_record
from experiments.record.winner import WinnerGames, read_winner
from trainables.checks import ConfigError, check_settings, unknown
from trainables.metrics import METRIC
from trainables.texts import parse_json

OVER = ("TERMINATED", "ERROR")
"""What Tune calls trials that it will not touch again unless it is told to."""

ENDED = ("finished", "stopped", "diverged", "failed")
"""States of trials that have come to their end: that of the budget, or before it."""

AT_END = ("finished", "diverged", "failed")
"""Those of trials that have no more to play; one that a time budget stopped has."""


@dataclass(frozen=True)
class TrialResult:
    """A trial's settings and results."""

    folder: Path
    learner: str
    config: dict[str, Any]
    rows: list[dict[str, Any]]  # one per iteration, in order
    state: str  # waiting, paused (at a rung), running, interrupted, or one of ENDED
    error: str | None  # the last line of what went wrong
    rung: int = 0  # rungs of halving at which it was among those that go on
    configuration: int = 0  # in its experiment, counted from 0; several seeds have the same one

    @property
    def name(self) -> str:
        """The trial's name, which is also its folder's."""
        return self.folder.name

    @property
    def number(self) -> int:
        """Its place in the experiment, counted from 0."""
        return int(number_in_name(self.name))

    @property
    def iterations(self) -> int:
        """Updates made."""
        return self.rows[-1]["training_iteration"] if self.rows else 0

    def curve(self, key: str) -> np.ndarray:
        """A metric of every iteration (n,); NaN where a row lacks it."""
        return np.array([row.get(key, math.nan) for row in self.rows], float)

    @property
    def best(self) -> float:
        """The highest mean return of the last 100 games."""
        return float(self.curve(METRIC).max()) if self.rows else math.nan

    @property
    def last(self) -> float:
        """The latest mean return of the last 100 games."""
        return float(self.rows[-1][METRIC]) if self.rows else math.nan

    @property
    def area(self) -> float:
        """Mean over agent steps of the learning curve; see ``area_under``."""
        return area_under(self.curve(METRIC), self.curve("timesteps_total")) if self.rows else math.nan

    @property
    def speed(self) -> float:
        """Median agent steps per second of an iteration, rollouts and update."""
        return float(np.median(self.curve("perf/steps_per_s"))) if self.rows else math.nan

    @property
    def diverged(self) -> bool:
        """Whether an update gave up on figures that were not finite."""
        return self.state == "diverged"

    def score_at(self, time_attr: str, value: float) -> float:
        """The mean return of the last 100 games in the last row whose ``time_attr`` (iterations, steps) is at most
        ``value``; NaN if there is none."""
        return next((float(row[METRIC]) for row in self.rows[::-1] if row[time_attr] <= value), math.nan)


@dataclass(frozen=True)
class Experiment:
    """An experiment's ``experiment.json`` and trials."""

    folder: Path
    record: dict[str, Any]  # experiment.json: an ExperimentSpec and where it comes from; older ones lack entries
    trials: list[TrialResult]
    running: bool  # a program holds its lock
    over: bool  # every trial has come to its end
    decisions: Sequence[Decision] = ()  # of halving
    played: WinnerGames | None = None  # what the winner's last games returned

    @property
    def name(self) -> str:
        """The experiment's name, which is also its folder's."""
        return self.folder.name

    @property
    def learner(self) -> str:
        """The learner's name."""
        return self.record.get("learner", "")

    @property
    def state(self) -> str:
        """Running now, interrupted, failed (ended, with a failed trial) or finished."""
        if self.running:
            return "running"
        if not self.settled:
            return "interrupted"
        return "failed" if any(trial.state == "failed" for trial in self.trials) else "finished"

    @property
    def settled(self) -> bool:
        """Whether it has come to its end: that of all its trials, or of its time budget."""
        return self.over or (not self.running and self.record.get("ended") in (ALL_DONE, TIME_BUDGET))

    @cached_property
    def furthest(self) -> list[TrialResult]:
        """Of the trials that have results those that went on at most rungs; all of them without halving."""
        played = [trial for trial in self.trials if trial.rows]
        most = max((trial.rung for trial in played), default=0)
        return [trial for trial in played if trial.rung == most]

    @property
    def compared_at_end(self) -> bool:
        """Whether all that went furthest have ended, so that the best is chosen there, and not at their last rung."""
        return all(trial.state in AT_END for trial in self.furthest)

    @cached_property
    def best_seeds(self) -> list[TrialResult]:
        """The seeds of the best configuration, by the mean of their latest returns; under halving of those that went
        furthest, which are compared where they last met."""
        leading = self.furthest
        if self.compared_at_end or not leading[0].rung:
            return max(together(leading), key=rank, default=[])
        kept = self.decisions[leading[0].rung - 1].kept  # the best first
        first = min(leading, key=lambda trial: (trial.state == "failed", kept.index(trial.number)))
        return [trial for trial in leading if trial.configuration == first.configuration]

    @property
    def best(self) -> TrialResult | None:
        """The best seed of the best configuration. A trial that failed is behind all others."""
        return max(self.best_seeds, key=lambda trial: rank([trial]), default=None)

    @property
    def winner(self) -> TrialResult | None:
        """The best trial of a halved sweep, once only one configuration is left, or none that is has more to play."""
        leading = [trial for trial in self.trials if self.best and trial.rung == self.best.rung]
        over = len(together(leading)) == 1 or all(trial.state in AT_END for trial in leading)
        return self.best if self.decisions and over else None


def read_experiment(folder: Path, running: bool | None = None) -> Experiment:
    """Read an experiment; ``running`` says whether a program runs it, by its lock if left out.

    Raises ConfigError if ``experiment.json`` is damaged, if its learner is none of ours, if a setting is impossible, or
    if there are two folders of one trial; everything else may be half there.
    """
    record = sound_record(folder)
    if not is_learner(record.get("learner")):
        raise ConfigError(f"{folder / folders.RECORD}: {unknown('learner', str(record.get('learner')), LEARNERS)}")
    running = lock.is_held(folder) if running is None else running
    statuses, decisions = _statuses(folder), read_decisions(folder)
    trials = [
        _read_trial(path, record, running, statuses.get(number), number, decisions)
        for number, path in names.trials(folder).items()
    ]
    planned = len(record.get("configs", trials))
    over = all(trial.state in ENDED for trial in trials) and (
        (len(statuses) >= planned and all(status in OVER for status in statuses.values())) or len(trials) >= planned > 0
    )
    return Experiment(folder, record, trials, running, over, decisions, read_winner(folder))


def _read_trial(
    folder: Path,
    record: dict[str, Any],
    running: bool,
    status: str | None,
    number: str,
    decisions: Sequence[Decision],
) -> TrialResult:
    rows = read_rows(folder / folders.RESULTS)
    config = _config(folder, record, int(number))
    errors = lines(folder / folders.ERROR)
    error = errors[-1].strip() if errors else None
    budget, before = Budget.of_record(record), Budget.before(record)
    done = bool(rows and rows[-1].get("done"))
    out = dropped(decisions, int(number))
    if error and not done and (status in (None, "ERROR") if out is None else out.score(int(number)) is None):
        state = "failed"  # else it failed once, and went on
    elif out and not done:
        state = "stopped"
    elif is_over(rows, budget, before, saved_iteration(folder)) if done else status in OVER:
        state = ending(rows, budget)
    elif running and status == "PENDING" and not rows:
        state = "waiting"
    elif running and status == "PAUSED":
        state = "paused" if rows else "waiting"
    else:
        state = "running" if running else "interrupted"
    rung, of = passed(decisions, int(number)), record.get("configuration_of") or []
    configuration = of[int(number)] if int(number) < len(of) else int(number)
    error = error if state == "failed" else None
    return TrialResult(folder, record["learner"], config, rows, state, error, rung, configuration)


def _config(folder: Path, record: dict[str, Any], number: int) -> dict[str, Any]:
    """A trial's settings. Raises ConfigError if one is impossible."""
    config, planned = read_json(folder / folders.PARAMS), record.get("configs", [])
    if not matches(config, SETTINGS):
        config = planned[number] if number < len(planned) else {}
    try:
        check_settings(config_class_of(record["learner"]), config)
    except ConfigError as error:
        raise ConfigError(f"{folder / folders.PARAMS}: {error}") from None
    return config


def _statuses(folder: Path) -> dict[str, str]:
    """Trials' statuses by number in Tune's newest state file: nothing else says that a time budget ended a trial."""
    try:
        newest = max(folder.glob(folders.TUNE_STATES), key=lambda path: path.stat().st_mtime, default=None)
        trials = [parse_json(pair[0]) for pair in read_json(newest)["trial_data"]] if newest else []
        return {number_in_id(trial["trial_id"]): trial["status"] for trial in trials}
    except (TypeError, KeyError, IndexError, ValueError, AttributeError, OSError):  # none yet, or cut off
        return {}
