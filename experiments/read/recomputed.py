"""What was recorded, and what was played again: the same, bit for bit, or where the first difference is."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from experiments.plan.learners import learner_named
from experiments.read.configurations import SPEED_ONLY
from trainables.checks import ConfigError

PERF = "perf/"
"""Family of metrics of times and rates, which are others each time."""

NOT_COMPARED = {
    "time_this_iter_s": "a time",
    "time_total_s": "a time",
    "time_since_restore": "a time",
    "timestamp": "a time",
    "date": "a time",
    "iterations_since_restore": "how often the trial was started",
    "timesteps_since_restore": "how often the trial was started",
    "pid": "where it ran",
    "hostname": "where it ran",
    "node_ip": "where it ran",
    "trial_id": "Tune's name of it",
    "done": "whether the budget, or a scheduler, ended the trial there",
}
"""Fields of a row that are no results, each with what it says. All others are compared, also those to come."""


class Difference(NamedTuple):
    """Something that was recorded, and is another thing when it is played again."""

    what: str  # field of a row, array, or entry of a checkpoint's state
    recorded: str
    recomputed: str

    def __str__(self) -> str:
        return f"{self.what}: recorded {self.recorded}, recomputed {self.recomputed}"


def compare_rows(learner: str, recorded: Mapping[str, Any], recomputed: Mapping[str, Any]) -> Difference | None:
    """The first field of an iteration's row that is not the same; None if there is none."""
    return _first(_results(learner, recorded), _results(learner, recomputed))


def compare_states(recorded: Mapping[str, Any], recomputed: Mapping[str, Any]) -> Difference | None:
    """The first counter or evaluation in two checkpoints' states that is not the same; None if there is none."""
    names = ("iteration", "episodes", "evaluation")
    return _first(*({name: state.get(name) for name in names} for state in (recorded, recomputed)))


def compare_arrays(recorded: Mapping[str, np.ndarray], recomputed: Mapping[str, np.ndarray]) -> Difference | None:
    """The first array that is not the same, bit for bit, and its first value; None if there is none."""
    for name in sorted({*recorded, *recomputed}):
        if name not in recorded or name not in recomputed:
            return Difference(name, *("there" if name in arrays else "missing" for arrays in (recorded, recomputed)))
        old, new = recorded[name], recomputed[name]
        if (old.dtype, old.shape) != (new.dtype, new.shape):
            return Difference(name, *(f"{array.dtype}{array.shape}" for array in (old, new)))
        bits = [np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8) for array in (old, new)]
        other = np.flatnonzero((bits[0] != bits[1]).any(axis=1))
        if len(other):
            place = ", ".join(str(int(index)) for index in np.unravel_index(other[0], old.shape))
            what = f"{name}[{place}], and {len(other) - 1:,} more of its {old.size:,} values"
            return Difference(what, *(repr(array.ravel()[other[0]].item()) for array in (old, new)))
    return None


def settings(learner: str, config: Any) -> dict[str, Any]:
    """A trial's settings without those that change no result."""
    if not isinstance(config, Mapping):
        return {}
    try:
        whole = learner_named(learner).config_class.from_dict(config).to_dict()
    except ConfigError:
        whole = dict(config)
    return {name: value for name, value in whole.items() if name not in SPEED_ONLY}


def _results(learner: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The compared part of a row."""
    found = {name: value for name, value in row.items() if not (name in NOT_COMPARED or name.startswith(PERF))}
    return found | {"config": settings(learner, row.get("config"))}


def _first(recorded: Mapping[str, Any], recomputed: Mapping[str, Any]) -> Difference | None:
    for name in [*recorded, *(name for name in recomputed if name not in recorded)]:
        old, new = (_digits(values[name]) if name in values else "nothing" for values in (recorded, recomputed))
        if old == new:
            continue
        inner = [values.get(name) for values in (recorded, recomputed)]
        if all(isinstance(value, Mapping) for value in inner) and (deeper := _first(*inner)):  # type: ignore[arg-type]
            return deeper._replace(what=f"{name}.{deeper.what}")
        return Difference(name, old, new)
    return None


def _digits(value: Any) -> str:
    """A value with all its digits, as a file has them: equal texts are equal bits."""
    return json.dumps(value, sort_keys=True, default=lambda other: other.tolist())
