"""Experiments as pandas frames: a row a trial, a result row or a window; docs/reference.md explains the columns."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.analysis.windows import WINDOW_STEPS, windows
from experiments.disk.experiments import Experiment
from experiments.disk.trial import Trial
from experiments.plan.identity import ConfigurationKey
from experiments.plan.learners import IMPORTED, LEARNERS, config_class_of
from trainables.checks import ConfigError
from trainables.texts import printable

if TYPE_CHECKING:
    import pandas as pd

MAX_COLUMNS = 1000  # of a frame: more than any experiment has, unless somebody else wrote its rows
CONFIG = "config/"  # what the names of columns of settings begin with, as in Ray Tune's own frames
NAMES = ("experiment", "trial", "configuration", "learner")  # columns that say of which trial a row is

BOOKKEEPING = {
    *("pid", "should_checkpoint", "timestamp"),
    *("time_since_restore", "iterations_since_restore", "timesteps_since_restore"),
}
"""What Ray Tune writes into a row for itself."""


class Frames:
    """Experiments' results. Each method makes a new frame, with a column for each setting."""

    def __init__(self, *experiments: Experiment) -> None:
        self.experiments = experiments

    def trials(self) -> "pd.DataFrame":
        """A row for each trial: how it ended and what it came to."""

        def summary(experiment: Experiment, trial: Trial) -> Iterator[dict[str, Any]]:
            git = experiment.spec.origin.git
            found: dict[str, Any] = {"state": trial.state, "git_revision": git and git.revision}
            if trial.rows:
                for name in ("training_iteration", "timesteps_total", "episodes_total", "time_total_s"):
                    found[name] = trial.last_row.get(name)
            found["timesteps_before"] = trial.steps_before
            found["score_last"] = trial.last
            found["score_best"] = trial.best
            found["steps_per_s"] = trial.speed
            yield found

        return self._frame(summary)

    def rows(self) -> "pd.DataFrame":
        """A row for each iteration, with all its metrics that are numbers."""

        def numbers(_: Experiment, trial: Trial) -> Iterable[dict[str, Any]]:
            return map(_numbers, trial.rows)

        return self._frame(numbers)

    def windows(self, steps: int = WINDOW_STEPS) -> "pd.DataFrame":
        """A row for each whole window of ``steps`` agent steps. Raises ConfigError for too many."""
        columns = ("window_end", "return_mean", "games", "time_total_s")

        def whole(_: Experiment, trial: Trial) -> Iterator[dict[str, Any]]:
            for end, return_mean, games, seconds in zip(*windows(trial.rows, steps), strict=True):
                yield dict(zip(columns, (int(end), return_mean, games, seconds), strict=True))

        return self._frame(whole, columns)

    def _frame(
        self, records_of: Callable[[Experiment, Trial], Iterable[dict[str, Any]]], always: Iterable[str] = ()
    ) -> "pd.DataFrame":
        """A frame with a line for each record of each trial: the ``NAMES``, the record, the trial's settings.

        Without any record the frame has the columns ``NAMES`` and those in ``always``.
        """
        import pandas as pd  # 0.5 s, which no program without frames should wait for

        records = []
        for experiment in self.experiments:
            numbers: dict[ConfigurationKey, int] = {}
            for trial in experiment.trials:
                number = numbers.setdefault(trial.key, len(numbers))
                named = dict(zip(NAMES, (experiment.name, printable(trial.name), number, trial.learner), strict=True))
                settings = _settings(trial)
                for record in records_of(experiment, trial):
                    records.append(named | record | settings)
        columns = {}
        for name in _names(records, always):
            columns[name] = _column([record.get(name) for record in records])
        return pd.DataFrame(columns)


def _names(records: Iterable[Mapping[str, Any]], always: Iterable[str]) -> list[str]:
    """The names of a frame's columns, settings last. Raises ConfigError for too many."""
    found = dict.fromkeys([*NAMES, *always])
    for record in records:
        found |= dict.fromkeys(record)
    if len(found) > MAX_COLUMNS:
        raise ConfigError(f"{len(found):,} metrics and settings: accepted are up to {MAX_COLUMNS:,}")
    return sorted(found, key=_is_setting)  # which keeps the order otherwise


def _is_setting(column: str) -> bool:
    return column.startswith(CONFIG)


def _settings(trial: Trial) -> dict[str, Any]:
    """A trial's settings by their columns: those that its learner has, or all if the learner's code is not imported."""
    known = list(trial.config)
    if trial.learner in LEARNERS | IMPORTED:
        known = [field.name for field in dataclasses.fields(config_class_of(trial.learner))]
    found = {}
    for name in known:
        if name in trial.config:
            found[CONFIG + name] = trial.config[name]
    return found


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a row that are numbers, without Ray Tune's ``BOOKKEEPING``."""
    found = {}
    for name, value in row.items():
        if isinstance(value, int | float) and name not in BOOKKEEPING:
            found[name] = value
    return found


def _column(values: list[Any]) -> Any:
    """A column of one type: truth values, whole numbers, numbers (NaN where there is none), or else texts."""
    kinds = {*map(type, values)}
    if kinds == {bool} or (kinds == {int} and max(map(abs, values)) < 2**63):
        return np.array(values)
    if kinds <= {bool, int, float, np.float64, type(None)} and kinds != {type(None)}:
        return np.array(values, float)
    texts: list[str | None] = []
    for value in values:
        texts.append(None if value is None else str(value))
    return texts
