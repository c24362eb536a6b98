"""A trial as it lies on disk: its settings, its rows, and how it ended."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.ask.schedulers import SCHEDULERS
from experiments.disk.decisions import Decision, dropped, passed
from experiments.disk.folders import ERROR, PARAMS, RESULTS
from experiments.disk.fork_history import left_of
from experiments.disk.models import Settings, read_model
from experiments.disk.rows import lines, read_rows
from experiments.disk.spec import ExperimentSpec
from experiments.disk.states import Facts, HasState, Records, Traces, facts_of
from experiments.disk.trial_checkpoints import of_trial
from experiments.plan.identity import ConfigurationKey, completed, decisive, is_baseline
from experiments.plan.learners import config_class_of
from trainables.checks import ConfigError, check_settings
from trainables.metrics import METRIC, score_of
from trainables.saved import Checkpoint, Checkpoints


@dataclass(frozen=True)
class Trial(HasState):
    """A trial's settings and results. It knows its experiment's records, from which its state follows."""

    folder: Path
    number: int  # its place in the experiment, counted from 0
    config: dict[str, Any]
    rows: list[dict[str, Any]]  # one per iteration, in order
    records: Records
    traces: Traces

    @property
    def name(self) -> str:
        """The trial's name, which is also its folder's."""
        return self.folder.name

    @property
    def learner(self) -> str:
        """The learner's name."""
        return self.records.spec.learner

    @property
    def seed(self) -> int:
        """The random seed."""
        return self.config.get("seed", 0)

    @property
    def is_baseline(self) -> bool:
        """Whether it has the preset's own values of what its sweep varies."""
        return is_baseline(self.config, self.records.spec.baseline)

    @property
    def iterations(self) -> int:
        """Iterations made."""
        return self.rows[-1]["training_iteration"] if self.rows else 0

    @property
    def steps(self) -> int:
        """Agent steps made."""
        return self.rows[-1]["timesteps_total"] if self.rows else 0

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """Its checkpoints. Raises ConfigError if one is a link, or if the folder cannot be read."""
        return of_trial(self.folder)

    def began_with(self, checkpoint: Checkpoint) -> bool:
        """Whether it is the one with which a fork's trial began: its origin's, and nothing that it learned itself."""
        return checkpoint.steps == self.forked_at

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
    def scored(self) -> bool:
        """Whether a game had ended by its last row; before the first its score is the lowest that there is."""
        return bool(self.rows) and self.rows[-1].get("episodes_total") != 0

    @property
    def speed(self) -> float:
        """Median agent steps per second of an iteration, rollouts and update."""
        return float(np.median(self.curve("perf/steps_per_s"))) if self.rows else math.nan

    @property
    def diverged(self) -> bool:
        """Whether an update gave up on figures that were not finite."""
        return bool(self.rows and self.rows[-1].get("diverged"))

    @cached_property
    def facts(self) -> Facts:
        """What decides its state."""
        return facts_of(self.number, self.rows, self.records, self.traces)

    @property
    def error(self) -> str | None:
        """The last line of the error that ended it; None unless one did."""
        return self.traces.error if self.facts.broke else None

    @property
    def dropped(self) -> Decision | None:
        """The decision of halving at which it was not among those that go on; None if it still is."""
        return dropped(self.records.decisions, self.number)

    @property
    def rung(self) -> int:
        """Rungs of halving at which it was among those that go on."""
        return passed(self.records.decisions, self.number)

    @property
    def stopped_at(self) -> float:
        """Where a scheduler stopped it, as others were better, in what the budget counts; infinity if none did."""
        if self.dropped:
            return self.dropped.at
        scheduler = SCHEDULERS[self.records.spec.scheduler]
        return math.inf if scheduler.joins_seeds or not self.stopped else self.steps  # where it lagged behind

    @cached_property
    def key(self) -> ConfigurationKey:
        """What makes it a trial of its configuration."""
        spec = self.records.spec
        return ConfigurationKey(
            spec.learner,
            decisive(self.config),
            left=left_of(spec, self.number),
            fresh=spec.confirms is not None,
        )

    @property
    def forked_at(self) -> int | None:
        """Agent steps at which it left its origin; None from scratch."""
        start = self.records.spec.start(self.number)
        return start.steps if start else None

    def score_at(self, time_attr: str, value: float) -> float:
        """The score in the last row whose ``time_attr`` (iterations, steps) is at most ``value``; NaN without one."""
        return next((score_of(row) for row in self.rows[::-1] if row[time_attr] <= value), math.nan)


NO_CAUSE = "The actor never ran"
"""A line that Ray's errors of an actor may end with, below the one that says what killed it."""


def read_trial(folder: Path, number: int, records: Records, status: str | None, running: bool) -> Trial:
    """A trial of an experiment. ``status`` is what Tune called it last. Raises ConfigError for impossible settings."""
    rows = read_rows(folder / RESULTS)
    config = _config(folder, records.spec, number)
    *_, error = ["", *(line for line in lines(folder / ERROR) if NO_CAUSE not in line)]
    saved = of_trial(folder).iteration if rows and rows[-1].get("done") else 0  # it counts at a trial's end alone
    return Trial(folder, number, config, rows, records, Traces(error.strip(), saved, status, running))


def _config(folder: Path, spec: ExperimentSpec, number: int) -> dict[str, Any]:
    """All settings of a trial: what ``params.json`` says, or if it is damaged, or Tune's own, what was planned.

    Empty where it is damaged, and nobody planned the trial. Raises ConfigError for impossible settings.
    """
    try:
        config = spec.configs[number] if not spec.is_ours else read_model(folder / PARAMS, Settings)
    except ConfigError:
        if number >= len(spec.configs):
            return {}
        config = spec.configs[number]
    try:
        check_settings(config_class_of(spec.learner), config)
    except ConfigError as error:
        raise ConfigError(f"{folder / PARAMS}: {error}") from None
    return completed(spec.learner, config)
