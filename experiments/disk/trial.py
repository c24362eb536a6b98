"""A trial as it lies on disk: its settings, its rows, and how it ended."""

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.ask.schedulers import SCHEDULERS
from experiments.disk.decisions import Decision, dropped, passed
from experiments.disk.folders import ERROR, PARAMS, RESULTS
from experiments.disk.models import Settings, read_model
from experiments.disk.rows import lines, read_rows
from experiments.disk.spec import ExperimentSpec, left_of
from experiments.disk.states import Facts, HasState, Records, Traces, facts_of
from experiments.disk.trial_checkpoints import of_trial
from experiments.disk.tunes_own import copied_at
from experiments.plan.identity import ConfigurationKey, completed, decisive, is_baseline
from experiments.plan.learners import config_class_of
from trainables.checks import ConfigError, check_settings
from trainables.metrics import METRIC, has_ended_a_game, score_of
from trainables.saved import Checkpoint, Checkpoints


@dataclass(frozen=True)
class Trial(HasState):
    """A trial's settings and results. It knows its experiment's records, from which its state follows."""

    folder: Path
    number: int  # its place in the experiment, counted from 0
    config: dict[str, Any]
    rows: Sequence[dict[str, Any]]  # one per iteration, in order
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

    def changed(self, planned: Mapping[str, Any]) -> dict[str, Any]:
        """The settings in which the trial differs from those ``planned``, each with the planned value."""
        found = {}
        for name, value in planned.items():
            if self.config.get(name) != value:
                found[name] = value
        return found

    @property
    def last_row(self) -> Mapping[str, Any]:
        """The row of its last iteration; empty before the first."""
        if not self.rows:
            return {}
        return self.rows[-1]

    @property
    def iterations(self) -> int:
        """Iterations made."""
        return int(self.last_row.get("training_iteration", 0))

    @property
    def steps(self) -> int:
        """Agent steps made."""
        return int(self.last_row.get("timesteps_total", 0))

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """Its checkpoints. Raises ConfigError if one is a link, or if the folder cannot be read."""
        return of_trial(self.folder)

    def began_with(self, checkpoint: Checkpoint) -> bool:
        """Whether a checkpoint is the one with which a fork's trial began: its origin's, before it learned anything."""
        return checkpoint.steps == self.forked_at

    @property
    def steps_before(self) -> int:
        """Agent steps that were made before its rows begin: 0, or of a fork its origin's."""
        if not self.rows:
            return 0
        first = self.rows[0]
        return int(first["timesteps_total"] - first.get("timesteps_this_iter", first["timesteps_total"]))

    def curve(self, key: str) -> np.ndarray:
        """A metric of every iteration (n,); NaN where a row lacks it."""
        return np.array([row.get(key, math.nan) for row in self.rows], float)

    @property
    def best(self) -> float:
        """Its highest score; NaN before the first row."""
        if not self.rows:
            return math.nan
        return float(self.curve(METRIC).max())

    @property
    def last(self) -> float:
        """Its latest score; the lowest that there is if it diverged, NaN before the first row."""
        if not self.rows:
            return math.nan
        return score_of(self.last_row)

    @property
    def scored(self) -> bool:
        """Whether a game had ended by its last row; before the first game its score is the lowest that there is."""
        return bool(self.rows) and has_ended_a_game(self.last_row)

    @property
    def speed(self) -> float:
        """Median agent steps per second of an iteration, rollouts and update; NaN before the first row."""
        if not self.rows:
            return math.nan
        return float(np.median(self.curve("perf/steps_per_s")))

    @property
    def diverged(self) -> bool:
        """Whether an update gave up on figures that were not finite."""
        return bool(self.last_row.get("diverged"))

    @cached_property
    def facts(self) -> Facts:
        """What its files say of what happened to it, which decides its state."""
        return facts_of(self.number, self.rows, self.records, self.traces)

    @property
    def error(self) -> str | None:
        """The last line of the error that ended it; None unless an error did."""
        return self.traces.error if self.facts.broke else None

    @property
    def dropped(self) -> Decision | None:
        """The decision of halving at which it was not among the trials that go on; None if it always was."""
        return dropped(self.records.decisions, self.number)

    @property
    def rung(self) -> int:
        """Rungs of halving at which it was among the trials that go on."""
        return passed(self.records.decisions, self.number)

    @property
    def stopped_at(self) -> float:
        """Where a scheduler stopped it in favour of others; infinity if none did.

        Under halving that is a rung, in what the budget counts, and under a scheduler that decides about each trial
        alone the trial's agent steps.
        """
        if self.dropped:
            return self.dropped.at
        decides_alone = not SCHEDULERS[self.records.spec.scheduler].joins_seeds
        if decides_alone and self.stopped:
            return self.steps
        return math.inf

    @cached_property
    def key(self) -> ConfigurationKey:
        """The key of its configuration, which all of this configuration's trials have."""
        spec = self.records.spec
        return ConfigurationKey(
            spec.learner,
            decisive(self.config),
            left=left_of(spec, self.number),
            fresh=spec.confirms is not None,
        )

    @cached_property
    def copied_at(self) -> int:
        """The iteration by which Tune's population based training had it copy another trial; 0 if it never did."""
        if self.records.spec.is_ours:
            return 0
        return copied_at(self.folder)

    @property
    def forked_at(self) -> int | None:
        """Agent steps at which it left its origin; None from scratch."""
        start = self.records.spec.start(self.number)
        if start is None:
            return None
        return start.steps

    def score_at(self, time_attr: str, value: float) -> float:
        """The score in the last row whose ``time_attr`` (iterations, steps) is at most ``value``; NaN without one."""
        for row in reversed(self.rows):
            if row[time_attr] <= value:
                return score_of(row)
        return math.nan


NO_CAUSE = "The actor never ran"
"""Words of a line that Ray's errors of an actor may end with, below the one that says what killed it."""

ADVICE = " Some common causes include"
"""Words with which Ray's advice begins, behind what is known of a process that was killed."""


def read_trial(folder: Path, number: int, records: Records, status: str | None, running: bool) -> Trial:
    """Read a trial of an experiment. Raises ConfigError for impossible settings.

    ``status`` is what Tune called it last, and ``running`` says whether a program runs its experiment.
    """
    rows = read_rows(folder / RESULTS)
    config = _config(folder, records.spec, number)
    error = ""
    for line in lines(folder / ERROR):
        if NO_CAUSE not in line:
            error = line.partition(ADVICE)[0].strip()
    saved = 0
    if rows and rows[-1].get("done"):  # what a trial has saved decides its state only at the end of its budget
        saved = of_trial(folder).iteration
    return Trial(folder, number, config, rows, records, Traces(error, saved, status, running))


def _config(folder: Path, spec: ExperimentSpec, number: int) -> dict[str, Any]:
    """All settings of a trial: what ``params.json`` says; if that file is damaged, or Tune's own, what was planned.

    Empty where the file is damaged, and nobody planned the trial. Raises ConfigError for impossible settings.
    """
    config: dict[str, Any] | None = None
    if number < len(spec.configs):
        config = spec.configs[number]
    if spec.is_ours:
        with contextlib.suppress(ConfigError):
            config = read_model(folder / PARAMS, Settings)
    if config is None:
        return {}
    try:
        check_settings(config_class_of(spec.learner), config)
    except ConfigError as error:
        raise ConfigError(f"{folder / PARAMS}: {error}") from None
    return completed(spec.learner, config)
