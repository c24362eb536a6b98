"""Experiments as they lie on disk, running, killed or finished: only text is read, and nothing is unpickled."""

import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.ask.budget import Budget
from experiments.plan.trial_names import number_in_id, number_in_name
from experiments.read.bootstrap import area_under
from experiments.record import folders, lock
from trainables.config import upgraded
from trainables.metrics import METRIC

OVER = ("TERMINATED", "ERROR")
"""What Tune calls trials that it will not touch again unless it is told to."""

ENDED = ("finished", "stopped", "diverged", "failed")
"""States of trials that have come to their end."""


@dataclass(frozen=True)
class TrialResult:
    """A trial's settings and results."""

    folder: Path
    learner: str
    config: dict[str, Any]
    rows: list[dict[str, Any]]  # one per iteration, in order
    state: str  # waiting, running, finished, stopped (before its budget was spent), diverged, failed, interrupted
    error: str | None  # the last line of what went wrong

    @property
    def name(self) -> str:
        """The trial's name, which is also its folder's."""
        return self.folder.name

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
        if not self.over:
            return "interrupted"
        return "failed" if any(trial.state == "failed" for trial in self.trials) else "finished"

    @cached_property
    def best(self) -> TrialResult | None:
        """The trial with the best latest return: the one that Tune names at the end."""
        return max((trial for trial in self.trials if trial.rows), key=lambda trial: trial.last, default=None)


def read_experiment(folder: Path, running: bool | None = None) -> Experiment:
    """Read an experiment; ``running`` says whether a program runs it, by its lock if left out.

    Raises ConfigError if ``experiment.json`` is damaged; everything else may be half there.
    """
    record = folders.read_record(folder)
    running = lock.is_held(folder) if running is None else running
    statuses = _statuses(folder)
    trials = [
        _read_trial(path, record, running, statuses.get(number_in_name(path.name)))
        for path in sorted(folder.iterdir())
        if path.is_dir() and number_in_name(path.name).isdigit()
    ]
    planned = len(record.get("configs", trials))
    over = len(statuses) >= planned and all(status in OVER for status in statuses.values())
    over |= len(trials) >= planned > 0 and all(trial.state in ENDED for trial in trials)
    return Experiment(folder, record, trials, running, over)


def _read_trial(folder: Path, record: dict[str, Any], running: bool, status: str | None) -> TrialResult:
    rows = read_rows(folder / "result.json")
    config = _read_json(folder / "params.json")
    if not isinstance(config, dict):
        configs, number = record.get("configs", []), int(number_in_name(folder.name))
        config = configs[number] if number < len(configs) else {}
    config = upgraded(str(record.get("learner")), config)
    lines = _lines(folder / "error.txt")
    error = lines[-1].strip() if lines else None
    done = bool(rows and rows[-1].get("done"))
    if error and not done and status in (None, "ERROR"):  # else it failed once, and went on
        state = "failed"
    elif done or status in OVER:
        state = _ending(rows, record)
    elif running and status == "PENDING" and not rows:
        state = "waiting"
    else:
        state = "running" if running else "interrupted"
    return TrialResult(folder, record.get("learner", ""), config, rows, state, error if state == "failed" else None)


def _ending(rows: list[dict[str, Any]], record: dict[str, Any]) -> str:
    """How a trial that did not fail came to its end; a scheduler or a sweep's time budget can stop it early."""
    if rows and rows[-1].get("diverged"):
        return "diverged"
    budget = Budget(record.get("iterations"), record.get("timesteps"))
    return "finished" if rows and budget.limits and budget.share(rows[-1]) == 1 else "stopped"


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Tune's rows of results, one per iteration in order.

    After a restore iterations stand there twice, and the last one counts. Rows that were cut off by a kill are left
    out, and so are those without a finite return.
    """
    rows = {row["training_iteration"]: row for row in map(_parse, _lines(path)) if _is_result(row)}
    return [rows[iteration] for iteration in sorted(rows)]


def _is_result(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("training_iteration"), int):
        return False
    value = row.get(METRIC)
    return isinstance(value, int | float) and math.isfinite(value)


def _statuses(folder: Path) -> dict[str, str]:
    """Trials' statuses by number in Tune's newest state file: nothing else says that a time budget ended a trial."""
    paths = sorted(folder.glob("experiment_state-*.json"), key=lambda path: path.stat().st_mtime)
    tune_state: Any = _read_json(paths[-1]) if paths else None
    try:
        trials = [json.loads(pair[0]) for pair in tune_state["trial_data"]]
        return {number_in_id(trial["trial_id"]): trial["status"] for trial in trials}
    except (TypeError, KeyError, IndexError, ValueError):  # none yet, or cut off
        return {}


def _lines(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    except OSError:
        return []


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _read_json(path: Path) -> Any:
    return _parse("\n".join(_lines(path)))
