"""What of an experiment can be played again: from one checkpoint of a trial to the next, and what is no such stretch.

A trial begins with its settings and its seed, so it has a checkpoint more than its folder: iteration 0. A fork begins
with another trial's checkpoint, and under population based training a trial goes on with another one's results.
"""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.plan.trial_names import number_in_name
from experiments.read.experiments import Experiment
from experiments.read.policies import load_state
from experiments.read.recomputed import settings
from experiments.read.trial import Trial
from experiments.record.decisions import Copy
from experiments.record.folders import checkpoint_folders
from trainables import checkpoints
from trainables.checkpoints import STATE, CheckpointError, State
from trainables.metrics import METRIC


class Point(NamedTuple):
    """A moment of a trial at which it can begin again."""

    folder: Path | None  # of the checkpoint; None: the very beginning
    iteration: int
    config: dict[str, Any]

    def __str__(self) -> str:
        return self.folder.name if self.folder else "the beginning"


class Stretch(NamedTuple):
    """A part of a trial between two points; of the last one the end is not kept."""

    trial: Trial
    start: Point
    rows: list[dict[str, Any]]  # recorded, of the iterations after its start up to its end
    end: Point | None

    def first(self, count: int) -> "Stretch":
        """Its first rows."""
        return self if count >= len(self.rows) else self._replace(rows=self.rows[:count], end=None)


class Kept(NamedTuple):
    """What a trial has kept of what it was."""

    trial: Trial
    points: list[Point]  # by iteration
    wrong: list[str]  # what contradicts the trial's rows or settings
    notes: list[str]  # what cannot be played again, and why

    @property
    def stretches(self) -> list[Stretch]:
        """All that can be played again."""
        ends: list[Point | None] = [*self.points[1:], None]
        found = []
        for start, end in zip(self.points, ends, strict=True):
            last = end.iteration if end else math.inf
            rows = [row for row in self.trial.rows if start.iteration < row["training_iteration"] <= last]
            found.append(Stretch(self.trial, start, rows, end))
        return [stretch for stretch in found if stretch.rows]


def kept(experiment: Experiment, trial: Trial) -> Kept:
    """The points at which a trial can begin again. Raises ConfigError as ``read_exchanges`` does."""
    copy = _last_copy(experiment, trial)
    points, wrong, notes = _checkpoints(experiment, trial, copy)
    if not (copy or experiment.spec.fork_of):
        points[:0] = [Point(None, 0, trial.config)]
    unknown = min((point.iteration for point in points), default=trial.iterations)
    if unknown and any(row["training_iteration"] <= unknown for row in trial.rows):
        why = f"they are those of trial {copy.donor}, which it copied" if copy else "where they began is not kept"
        notes.append(f"iterations up to {unknown} cannot be played again: {why}")
    return Kept(trial, sorted(points, key=lambda point: point.iteration), wrong, notes)


def _last_copy(experiment: Experiment, trial: Trial) -> Copy | None:
    """The latest exchange at which the trial went on with another one's checkpoint."""
    number = int(number_in_name(trial.name))
    copies = [copy for exchange in experiment.exchanges for copy in exchange.copies]
    return next((copy for copy in copies[::-1] if copy.trial == number), None)


def _checkpoints(experiment: Experiment, trial: Trial, copy: Copy | None) -> tuple[list[Point], list[str], list[str]]:
    """The trial's checkpoints since ``copy``, what is wrong with some, and those that were cut off."""
    found: dict[int, Point] = {}
    wrong: list[str] = []
    notes: list[str] = []
    latest = 0
    for path in checkpoint_folders(trial.folder):
        if copy and checkpoints.number(path) < copy.target:
            continue
        try:
            state = load_state(path)
        except CheckpointError as error:
            (wrong if (path / STATE).is_file() else notes).append(str(error))
            continue
        complaint = _contradiction(trial, state)
        if not complaint and state.iteration < latest:
            complaint = f"is of iteration {state.iteration}, and one before it of iteration {latest}"
        if complaint:
            wrong.append(f"{path.name} {complaint}")
        latest = max(latest, state.iteration)
        found[state.iteration] = Point(path, state.iteration, state.config)
    if experiment.spec.keep_checkpoints == 0 and not (copy or wrong):
        wrong += _missing(experiment, trial, {*found})
    return [*found.values()], wrong, notes


def _contradiction(trial: Trial, state: State) -> str | None:
    """What a checkpoint says otherwise than its trial's settings and rows."""
    mine, its = settings(trial.learner, trial.config), settings(trial.learner, state.config)
    if state.learner != trial.learner:
        return f"is of learner {state.learner}, its trial of {trial.learner}"
    for name in mine:
        if mine[name] != its.get(name):
            return f"has {name}={its.get(name)!r}, its trial {name}={mine[name]!r}"
    iteration, episodes = state.iteration, state.episodes
    row = next((row for row in trial.rows if row["training_iteration"] == iteration), None)
    if row is None:
        return None
    recent = episodes.recent_returns
    counts: dict[str, float] = {"timesteps_total": episodes.steps, "episodes_total": episodes.games}
    counts |= {METRIC: float(np.mean(recent))} if recent else {}
    for name, value in counts.items():
        if row.get(name) != value:
            return f"has {name}={value} after iteration {iteration}, the row there {row.get(name)}"
    return None


def _missing(experiment: Experiment, trial: Trial, have: set[int]) -> list[str]:
    """The first checkpoint that should be there, where all are kept; a trial may have ended before its last one."""
    every, last = experiment.spec.checkpoint_frequency, trial.iterations - (trial.state != "finished")
    first = min((row["training_iteration"] for row in trial.rows), default=1)
    due = range(-(-first // every) * every, last + 1, every) if every else ()
    lacking = [iteration for iteration in due if iteration not in have]
    return [f"there is no checkpoint of iteration {lacking[0]}, and all were to be kept"] if lacking else []
