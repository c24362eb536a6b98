"""The past of a fork's trials: which runs they left, and where."""

from typing import Any

from experiments.plan.identity import Left, completed, decisive
from experiments.record.spec import ExperimentSpec


def left_of(spec: ExperimentSpec, number: int) -> tuple[Left, ...]:
    """Where a trial of a fork left its origin, and before that one its own; empty from scratch."""
    return tuple(_left(spec, number, index) for index in range(len(spec.starts(number))))


def _left(spec: ExperimentSpec, number: int, index: int) -> Left:
    """Where a trial left the run at ``index`` of its past, and with it the other seeds of its configuration."""
    steps, seeds = set(), set()
    for trial in _forked_together(spec, number, index):
        steps.add(spec.starts(trial)[index].steps)
        seeds.add(_settings(spec, trial, index)["seed"])
    return Left(decisive(_settings(spec, number, index)), tuple(sorted(steps)), tuple(sorted(seeds, key=repr)))


def _forked_together(spec: ExperimentSpec, number: int, index: int) -> list[int]:
    """The trials of a fork that are seeds of one configuration, of those that have as long a past.

    The record names them. Where it names none, they are the trials that drew the same settings, if they left at equal
    steps. Of these, trials to which the fork gave one seed are not seeds of one configuration: only their origins tell
    them apart.
    """
    named = next(trials for trials in spec.configurations if number in trials)
    if len(named) > 1:
        return [trial for trial in named if index < len(spec.starts(trial))]
    left, found = _settings(spec, number, index), [number]
    for trial, config in enumerate(spec.configs):
        if index >= len(spec.starts(trial)) or config.get("seed") == spec.configs[number].get("seed"):
            continue
        if spec.starts(trial)[index].steps != spec.starts(number)[index].steps:
            continue
        if decisive(_settings(spec, trial, index)) == decisive(left):
            found.append(trial)
    return found


def _settings(spec: ExperimentSpec, trial: int, index: int) -> dict[str, Any]:
    """All settings of the run at ``index`` of a trial's past."""
    return completed(spec.learner, spec.starts(trial)[index].config)
