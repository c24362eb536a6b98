"""What of a trial can be played again, and whether it then is, bit for bit, what was recorded.

A trial can begin again at each of its checkpoints, and at its beginning, which its settings and its seed make. A fork
begins with another trial's checkpoint.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from experiments.disk.experiments import Experiment
from experiments.disk.trial import Trial
from experiments.plan.identity import SPEED_ONLY, completed
from trainables.checkpoints import STATE, State
from trainables.metrics import METRIC
from trainables.saved import Checkpoint

PERF = "perf/"  # family of metrics of times and rates, which are others each time

NOT_COMPARED = {
    *("time_this_iter_s", "time_total_s", "time_since_restore", "timestamp", "date"),
    *("iterations_since_restore", "timesteps_since_restore"),  # how often the trial was started
    *("pid", "hostname", "node_ip", "trial_id"),  # where it ran, and what Tune called it
    "done",  # whether the budget, or a scheduler, ended the trial there
}
"""Fields of a row that are no results. All others are compared, also those to come."""


class Stretch(NamedTuple):
    """Iterations of a trial that can be played again."""

    trial: Trial
    start: Checkpoint | None  # the checkpoint after which the iterations begin; None: the trial's beginning
    first: int
    last: int
    end: Checkpoint | None  # the checkpoint of the last iteration, if one is kept
    rows: list[dict[str, Any]]  # of these iterations, as recorded; some may be lost

    def cut(self, count: int) -> "Stretch":
        """The stretch as far as its first ``count`` rows go."""
        rows = self.rows[:count]
        if len(rows) == len(self.rows):
            return self
        return self._replace(rows=rows, last=rows[-1]["training_iteration"], end=None)

    @property
    def origin(self) -> str:
        """Where it begins, in words."""
        if self.start is None:
            return "the beginning"
        return self.start.folder.name

    def __str__(self) -> str:
        if self.first == self.last:
            return f"iteration {self.last} from {self.origin}"
        return f"iterations {self.first} to {self.last} from {self.origin}"


class Recorded(NamedTuple):
    """What of a trial can be played again."""

    trial: Trial
    stretches: list[Stretch]  # by iteration
    wrong: list[str]  # what contradicts the trial's rows or settings
    notes: list[str]  # what cannot be played again, and why


def recorded(experiment: Experiment, trial: Trial) -> Recorded:
    """All that can be played again of a trial."""
    points, wrong, notes = _points(trial)
    copied = trial.copied_at
    if copied:
        notes.append(f"Tune's population based training had it copy another trial after iteration {copied}")
    if experiment.spec.keep_checkpoints == 0 and not wrong:
        wrong += _missing(trial, {*points}, experiment.spec.checkpoint_frequency)
    if not experiment.spec.fork_of and not copied:
        points.setdefault(0, None)
    begin = min(points, default=trial.iterations)  # of a trial that has left none, nothing can be played
    if any(row["training_iteration"] <= begin for row in trial.rows):
        notes.append(f"iterations up to {begin} cannot be played again: where they began is not kept")
    return Recorded(trial, _stretches(trial, points), wrong, notes)


def _stretches(trial: Trial, points: Mapping[int, Checkpoint | None]) -> list[Stretch]:
    """A trial's rows from each point, by its iteration, to the next one, or from the last point on."""
    found, starts = [], sorted(points)
    ends = [*starts[1:], trial.iterations]
    for start, last in zip(starts, ends, strict=False):  # without starts there is one end more
        rows = [row for row in trial.rows if start < row["training_iteration"] <= last]
        if rows:
            found.append(Stretch(trial, points[start], start + 1, last, points.get(last), rows))
    return found


def _points(trial: Trial) -> tuple[dict[int, Checkpoint | None], list[str], list[str]]:
    """The trial's checkpoints by iteration, what is wrong with some, and notes on those that a kill cut off."""
    found: dict[int, Checkpoint | None] = {}
    wrong: list[str] = []
    notes: list[str] = []
    for checkpoint in trial.checkpoints.all:
        if checkpoint.reason:
            if (checkpoint.folder / STATE).is_file():
                wrong.append(checkpoint.reason)
            else:  # a kill cut it off: the state is written last
                notes.append(checkpoint.reason)
            continue
        if checkpoint.iteration <= trial.copied_at:  # it may be of another trial, or of a past that the trial lost
            continue
        name, latest = checkpoint.folder.name, max(found, default=0)
        complaint = _contradiction(trial, checkpoint)
        if complaint:
            wrong.append(f"{name} {complaint}")
        elif checkpoint.iteration < latest:
            wrong.append(f"{name} is of iteration {checkpoint.iteration}, and one before it of iteration {latest}")
        found[checkpoint.iteration] = checkpoint
    return found, wrong, notes


def _contradiction(trial: Trial, checkpoint: Checkpoint) -> str | None:
    """What in a checkpoint contradicts its trial's settings or rows, in words; None if nothing does.

    A fork's trial begins with a checkpoint of its origin, whose settings may be others.
    """
    state = checkpoint.state
    if state.learner != trial.learner:
        return f"is of learner {state.learner}, its trial of {trial.learner}"
    if not trial.began_with(checkpoint):
        other = _other_setting(trial, state)
        if other:
            return other
    rows = {row["training_iteration"]: row for row in trial.rows}
    row = rows.get(state.iteration)
    if row is None:
        return None
    counts: dict[str, float] = {**checkpoint.counters}
    if state.episodes.recent_returns and not row.get("diverged"):  # such a row has the worst return
        counts[METRIC] = checkpoint.score
    for name, value in counts.items():
        if row.get(name) != value:
            return f"has {name}={value} after iteration {state.iteration}, the row there {row.get(name)}"
    return None


def _other_setting(trial: Trial, state: State) -> str | None:
    """The first setting that a checkpoint has otherwise than its trial; None if there is none."""
    settings = completed(state.learner, state.config)
    for name, value in trial.config.items():
        if name not in SPEED_ONLY and value != settings.get(name):
            return f"has {name}={settings.get(name)!r}, its trial {name}={value!r}"
    return None


def _missing(trial: Trial, have: set[int], every: int) -> list[str]:
    """The first checkpoint that is missing of a trial that keeps all, one ``every`` so many iterations.

    Only a trial that has used up its budget has saved after its last iteration for sure.
    """
    if not every or not trial.rows:
        return []
    last = trial.iterations - 1
    if trial.facts.used_up:
        last = trial.iterations
    first = -(-trial.rows[0]["training_iteration"] // every) * every  # the first iteration, rounded up
    for iteration in range(first, last + 1, every):
        if iteration not in have:
            return [f"there is no checkpoint of iteration {iteration}, and all were to be kept"]
    return []


def compare_rows(recorded: dict[str, Any], recomputed: dict[str, Any]) -> str | None:
    """The first field of an iteration's row that is not the same, in words; None if there is none."""
    config = recorded.get("config")
    if isinstance(config, dict):
        config = recomputed["config"] | config  # settings that came later had their defaults
    return _compare(recorded | {"config": config}, recomputed)


def compare_states(recorded: State, recomputed: State) -> str | None:
    """The first counter or evaluation in two checkpoints that is not the same; None if there is none."""
    results = {"iteration", "episodes", "evaluation"}
    return _compare(recorded.model_dump(include=results), recomputed.model_dump(include=results))


def compare_arrays(recorded: Mapping[str, np.ndarray], recomputed: Mapping[str, np.ndarray]) -> str | None:
    """The first array that is not the same, bit for bit, and its first value; None if there is none."""
    for name in sorted({*recorded, *recomputed}):
        then, now = _form(recorded, name), _form(recomputed, name)
        if then != now:
            return f"{name}: recorded {then}, recomputed {now}"
        old, new = recorded[name], recomputed[name]
        different = np.flatnonzero((_bytes(old) != _bytes(new)).any(axis=1))
        if len(different):
            first = different[0]
            place = ", ".join(str(int(index)) for index in np.unravel_index(first, old.shape))
            what = f"{name}[{place}], and {len(different) - 1:,} more of its {old.size:,} values"
            return f"{what}: recorded {old.ravel()[first].item()!r}, recomputed {new.ravel()[first].item()!r}"
    return None


def _form(arrays: Mapping[str, np.ndarray], name: str) -> str:
    """An array's type and shape in words."""
    if name not in arrays:
        return "nothing"
    return f"{arrays[name].dtype}{arrays[name].shape}"


def _bytes(array: np.ndarray) -> np.ndarray:
    """An array's bytes (n, k), a row for each of its n values."""
    return np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8)


def _compare(recorded: Mapping[str, Any], recomputed: Mapping[str, Any]) -> str | None:
    """The first result that is not the same, in words; None if there is none."""
    old, new = dict(_digits(recorded)), dict(_digits(recomputed))
    for name in old | new:
        then, now = old.get(name, "nothing"), new.get(name, "nothing")
        no_result = name in NOT_COMPARED or name.startswith(PERF) or name.removeprefix("config.") in SPEED_ONLY
        if then != now and not no_result:
            return f"{name}: recorded {then}, recomputed {now}"
    return None


def _digits(values: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """Values with all their digits, as a file has them, so that equal texts are equal bits; of mappings each one."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _digits(value, f"{within}{name}.")
        else:
            yield f"{within}{name}", json.dumps(value, default=lambda other: other.tolist())
