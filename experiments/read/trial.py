"""A trial as it lies on disk: its settings, its rows, how it ended, and how it ranks among others."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.ask.budget import Budget
from experiments.ask.schedulers import SCHEDULERS
from experiments.plan.identity import ConfigurationKey, completed, decisive
from experiments.plan.learners import config_class_of
from experiments.read.forks import left_of
from experiments.read.rows import lines, read_rows
from experiments.read.windows import area_under
from experiments.record.decisions import Decision, Exchange, dropped, mean, passed
from experiments.record.folders import ERROR, PARAMS, RESULTS, checkpoint_folders
from experiments.record.models import Settings, read_model
from experiments.record.spec import TIME_BUDGET, ExperimentSpec
from trainables import checkpoints
from trainables.checks import ConfigError, check_settings
from trainables.metrics import METRIC, score_of

OVER = ("TERMINATED", "ERROR")  # what Tune calls trials that it will not touch again unless it is told to
AT_END = ("finished", "diverged", "failed")  # states of trials that have no more to play
ENDED = (*AT_END, "stopped")  # or were stopped before the end of their budget, as others were better
TIME_IS_UP = "time is up"  # the time budget ended it: --resume goes on, as where something else interrupted it
STATES = ("running", "failed", "finished", "diverged", "stopped", "paused", "waiting", TIME_IS_UP, "interrupted")
"""What a trial's state is called wherever it is shown, the most telling first."""


@dataclass(frozen=True)
class Trial:
    """A trial's settings and results."""

    folder: Path
    number: int  # its place in the experiment, counted from 0
    learner: str
    config: dict[str, Any]
    rows: list[dict[str, Any]]  # one per iteration, in order
    state: str  # one of STATES
    error: str | None  # the last line of what went wrong
    rung: int  # rungs of halving at which it was among those that go on
    stopped_at: float  # by a scheduler, as others were better, in what the budget counts; infinity if by none
    key: ConfigurationKey
    forked_at: tuple[int, ...]  # agent steps at which it left its origin, and before that one its own

    @property
    def name(self) -> str:
        """The trial's name, which is also its folder's."""
        return self.folder.name

    @property
    def seed(self) -> int:
        """The random seed."""
        return self.config.get("seed", 0)

    @property
    def iterations(self) -> int:
        """Iterations made."""
        return self.rows[-1]["training_iteration"] if self.rows else 0

    @property
    def steps(self) -> int:
        """Agent steps made."""
        return self.rows[-1]["timesteps_total"] if self.rows else 0

    @property
    def began(self) -> int:
        """Agent steps behind it as its rows begin: 0, or of a fork its origin's."""
        first = self.rows[0] if self.rows else {"timesteps_total": 0}
        return int(first["timesteps_total"] - first.get("timesteps_this_iter", first["timesteps_total"]))

    def curve(self, key: str) -> np.ndarray:
        """A metric of every iteration (n,); NaN where a row lacks it."""
        return np.array([row.get(key, math.nan) for row in self.rows], float)

    @property
    def best(self) -> float:
        """Its highest score."""
        return float(self.curve(METRIC).max()) if self.rows else math.nan

    @property
    def last(self) -> float:
        """Its latest score; the lowest that there is if it diverged."""
        return score_of(self.rows[-1]) if self.rows else math.nan

    @property
    def area(self) -> float:
        """Mean over agent steps, from where it ``began``, of the learning curve; see ``area_under``."""
        return area_under(self.curve(METRIC), self.curve("timesteps_total")) if self.rows else math.nan

    @property
    def speed(self) -> float:
        """Median agent steps per second of an iteration, rollouts and update."""
        return float(np.median(self.curve("perf/steps_per_s"))) if self.rows else math.nan

    @property
    def diverged(self) -> bool:
        """Whether an update gave up on figures that were not finite."""
        return bool(self.rows and self.rows[-1].get("diverged"))

    @property
    def fell(self) -> str | None:
        """What ended it before its time; None if it came to its end, or was stopped."""
        return self.state if self.state in ("diverged", "failed") else None

    def score_at(self, time_attr: str, value: float) -> float:
        """The score in the last row whose ``time_attr`` (iterations, steps) is at most ``value``; NaN without one."""
        return next((score_of(row) for row in self.rows[::-1] if row[time_attr] <= value), math.nan)


def read_trial(
    folder: Path,
    number: int,
    spec: ExperimentSpec,
    running: bool,
    status: str | None,
    decisions: Sequence[Decision],
    exchanges: Sequence[Exchange],
) -> Trial:
    """A trial of an experiment. ``status`` is what Tune called it last. Raises ConfigError for impossible settings."""
    rows = read_rows(folder / RESULTS)
    config = _config(folder, spec, number)
    errors = lines(folder / ERROR)
    done = bool(rows and rows[-1].get("done"))
    out = dropped(decisions, number)
    if done and spec.command:
        over = is_over(rows, spec, saved_iteration(folder))
    else:  # of a Tuner of somebody's own Tune's word alone counts
        over = status in OVER and spec.ended != TIME_BUDGET
    if errors and not done and (status in (None, "ERROR") if out is None else out.score(number) is None):
        state = "failed"  # else it failed once, and went on
    elif out and not done:
        state = "stopped"
    elif over:
        state = ended_as(rows, spec.budget)
    elif running and status in ("PENDING", "PAUSED") and not rows:
        state = "waiting"
    elif running:
        state = "paused" if status == "PAUSED" else "running"
    else:
        state = TIME_IS_UP if spec.ended == TIME_BUDGET else "interrupted"
    scheduler, stopped_at = SCHEDULERS[spec.scheduler], math.inf
    if out:
        stopped_at = out.at
    elif state == "stopped" and not (scheduler.joins_seeds or scheduler.changes_settings):
        stopped_at = rows[-1]["timesteps_total"] if rows else 0  # by itself, as it lagged behind
    copied = any(copy.trial == number for exchange in exchanges for copy in exchange.copies)
    return Trial(
        folder,
        number,
        spec.learner,
        config,
        rows,
        state,
        errors[-1].strip() if state == "failed" else None,
        passed(decisions, number),
        stopped_at,
        ConfigurationKey(
            spec.learner,
            decisive(config),
            left=left_of(spec, number),
            copied=str(folder) if copied else "",
            fresh=spec.confirms is not None,
        ),
        tuple(start.steps for start in spec.starts(number)),
    )


def _config(folder: Path, spec: ExperimentSpec, number: int) -> dict[str, Any]:
    """All settings of a trial: what ``params.json`` says, or if it is damaged, or Tune's own, what was planned.

    Empty where it is damaged, and nobody planned the trial. Raises ConfigError for impossible settings.
    """
    try:
        config = spec.configs[number] if not spec.command else read_model(folder / PARAMS, Settings)
    except ConfigError:
        if number >= len(spec.configs):
            return {}
        config = spec.configs[number]
    try:
        check_settings(config_class_of(spec.learner), config)
    except ConfigError as error:
        raise ConfigError(f"{folder / PARAMS}: {error}") from None
    return completed(spec.learner, config)


def is_over(rows: Sequence[dict[str, Any]], spec: ExperimentSpec, saved: int) -> bool:
    """Whether a trial has come to its end, and needs nothing more.

    Its last row says that it is done; not if that row ends one of the budgets that it had before it was extended,
    and not its present one. At the end of its budget a trial saves once more, so its newest checkpoint, of the
    iteration ``saved`` (0 without one), is that of its last row. A trial that diverged ends anyway.
    """
    if not rows or not rows[-1].get("done"):
        return False
    if spec.budget.share(rows[-1]) == 1:
        return saved >= rows[-1]["training_iteration"]
    return bool(rows[-1].get("diverged")) or not any(earlier.ended(rows) for earlier in spec.earlier_budgets)


def ended_as(rows: Sequence[dict[str, Any]], budget: Budget) -> str:
    """How a trial that did not fail came to its end; a scheduler or a sweep's time budget can stop it early."""
    if rows and rows[-1].get("diverged"):
        return "diverged"
    return "finished" if rows and budget.share(rows[-1]) == 1 else "stopped"


def saved_iteration(folder: Path) -> int:
    """The iteration of a trial's newest whole checkpoint; 0 without one."""
    for path in reversed(checkpoint_folders(folder)):
        try:
            return checkpoints.load_state(path).iteration
        except checkpoints.CheckpointError:
            continue
    return 0


def together(trials: Iterable[Trial]) -> list[list[Trial]]:
    """Trials of one experiment or of several, those of a configuration in one experiment together."""
    found: dict[tuple[Path, ConfigurationKey], list[Trial]] = {}
    for trial in trials:
        found.setdefault((trial.folder.parent, trial.key), []).append(trial)
    return list(found.values())


def arrived(trials: Iterable[Trial]) -> list[Trial]:
    """Those seeds of a configuration that have results; of these none that failed, unless all of them did."""
    played = [trial for trial in trials if trial.rows]
    return [trial for trial in played if trial.state != "failed"] or played


def rank(trials: Iterable[Trial]) -> tuple[bool, float]:
    """By this the best configuration is the greatest: those whose seeds all failed are behind others, then the mean."""
    seeds = arrived(trials)
    return any(trial.state != "failed" for trial in seeds), mean_last(seeds)


def mean_last(trials: Iterable[Trial]) -> float:
    """The mean of the latest returns of the seeds of a configuration that ``arrived``; minus infinity without any."""
    found = mean(trial.last for trial in arrived(trials))
    return -math.inf if found is None else found
