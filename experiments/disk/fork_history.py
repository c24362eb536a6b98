"""Where the trials of a fork come from: which runs they left, and at how many agent steps."""

import hashlib
import json
from typing import Any

from experiments.disk.spec import ExperimentSpec, Start
from experiments.plan.identity import Left, completed, decisive


def left_of(spec: ExperimentSpec, number: int) -> Left | None:
    """Where a trial of a fork, and the other seeds of its configuration, left their origin; None from scratch."""
    start = spec.start(number)
    if not start:
        return None
    steps, seeds = set(), set()
    for other in _forked_together(spec, number, start):
        steps.add(other.steps)
        seeds.add(_settings(spec, other)["seed"])
    settings = decisive(_settings(spec, start))
    return Left(settings, tuple(sorted(steps)), tuple(sorted(seeds, key=repr)), start.past)


def past_of(spec: ExperimentSpec, number: int) -> str:
    """A digest of where a trial of a fork, and the other seeds of its configuration, left their origin.

    A fork of this fork records it, since origins that were forked elsewhere are other origins, though their settings,
    seeds and steps be the same. Empty from scratch.
    """
    start = spec.start(number)
    if not start:
        return ""
    starts = []
    for other in _forked_together(spec, number, start):
        starts.append(json.dumps(other.model_dump(), sort_keys=True))
    return hashlib.sha256("\n".join(sorted(starts)).encode()).hexdigest()  # the same one for all of these seeds


def _forked_together(spec: ExperimentSpec, number: int, start: Start) -> list[Start]:
    """The starts of the trials of a fork that are seeds of one configuration; ``start`` is that of trial ``number``.

    The record names the trials. Where it names none, they are those that drew the same settings, if they left at equal
    steps. Of these, trials to which the fork gave one seed are not seeds of one configuration: only their origins tell
    them apart.
    """
    assert spec.fork_of
    starts = spec.fork_of.starts
    named = next(trials for trials in spec.configurations if number in trials)
    if len(named) > 1:
        return [starts[trial] for trial in named]
    left, found = decisive(_settings(spec, start)), [start]
    for config, other in zip(spec.configs, starts, strict=True):
        if config.get("seed") == spec.configs[number].get("seed") or other.steps != start.steps:
            continue
        if decisive(_settings(spec, other)) == left:
            found.append(other)
    return found


def _settings(spec: ExperimentSpec, start: Start) -> dict[str, Any]:
    """All settings of the run that a trial left."""
    return completed(spec.learner, start.config)
