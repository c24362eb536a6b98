"""What an experiment's trials have done so far, read from the files that outlive any program.

Tune's own state (``tuner.pkl``, ``experiment_state-*.json``) is not used: after a kill it is older than the
checkpoints, Tune starts again without a word if it is damaged, and to read it is to unpickle it. Rows and checkpoints
are text and arrays, and say all that is needed.
"""

import dataclasses
import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.plan.learners import learner_named
from experiments.plan.population import mutations
from experiments.plan.trial_names import number_in_name
from experiments.read.loading import load, parameters
from experiments.read.over import is_over
from experiments.read.trials import TrialResult, read_experiment
from experiments.record import names
from experiments.record.decisions import DECISIONS, dropped, read_decisions
from experiments.record.exchanges import read_exchanges
from experiments.record.folders import RECORD
from experiments.record.spec import ExperimentSpec
from trainables import checkpoints
from trainables.checks import ConfigError
from trainables.metrics import METRIC, WORST_RETURN


@dataclass(frozen=True)
class RestoredTrial:
    """A trial as earlier programs left it."""

    name: str  # its folder's
    config: dict[str, Any]
    rows: list[dict[str, Any]]
    checkpoints: list[tuple[Path, dict[str, Any]]]  # usable ones in the order they were made, each with its row
    newest_index: int  # the highest number of a checkpoint folder, usable or not; -1 if there is none
    damaged: list[str]  # why each of the other checkpoints cannot be used
    over: bool  # it came to its end, and needs nothing more

    @property
    def iteration(self) -> int:
        """The iteration of its newest usable checkpoint, after which it goes on; 0 without one."""
        return self.checkpoints[-1][1]["training_iteration"] if self.checkpoints else 0


def restore(folder: Path, spec: ExperimentSpec) -> dict[str, RestoredTrial]:
    """Every trial that has a folder, by its number.

    Raises ConfigError if the trials' folders and ``experiment.json`` contradict each other, if a setting is impossible,
    if a fork was cut off before all its checkpoints were there, or if a file of exchanges or decisions is damaged.
    """
    experiment = read_experiment(folder)
    learner = learner_named(experiment.learner)
    for config in spec.configs:
        try:
            parameters(learner.name, learner.config_class.from_dict(config))
        except ConfigError as error:
            raise ConfigError(f"{folder / RECORD}: {error}") from None
    changing = mutations(learner, spec.swept, spec.space) if spec.scheduler == "pbt" else {}
    read_exchanges(folder)
    decisions = read_decisions(folder)
    if len(decisions) >= len(spec.rungs or [1]) or {len(each.scores) for each in decisions} - {len(spec.configs)}:
        raise ConfigError(f"{folder / DECISIONS} is damaged: it does not fit {RECORD}")
    restored = {}
    for trial in experiment.trials:
        number = number_in_name(trial.name)
        if int(number) >= len(spec.configs):
            raise ConfigError(f"{folder / trial.name} belongs to no trial in {folder / RECORD}")
        config = spec.configs[int(number)]
        _require_same({name: value for name, value in config.items() if name not in changing}, trial, folder)
        found = _restore(trial, spec, config, changing)
        restored[number] = dataclasses.replace(found, over=True) if dropped(decisions, int(number)) else found
    if spec.fork_of and sum(bool(trial.checkpoints) for trial in restored.values()) < len(spec.configs):
        raise ConfigError(f"{folder} lacks a checkpoint that it was forked from: delete it, and fork again")
    return restored


def _require_same(config: dict[str, Any], trial: TrialResult, folder: Path) -> None:
    changed = [
        f"{key}={trial.config.get(key)!r} for {value!r}"
        for key, value in config.items()
        if trial.config.get(key) != value
    ]
    if changed:
        raise ConfigError(
            f"{folder / trial.name / 'params.json'} differs from {RECORD}: {', '.join(changed)}. A trial keeps its"
            " settings; --fork starts a new one with others"
        )


def all_over(restored: Mapping[str, RestoredTrial], spec: ExperimentSpec) -> bool:
    """Whether every trial has come to its end, so that there is nothing to resume."""
    return len(restored) == len(spec.configs) and all(trial.over for trial in restored.values())


def describe(restored: Mapping[str, RestoredTrial], fork_of: Mapping[str, Any] | None = None) -> list[str]:
    """Where each trial goes on from, and what could not be used; a line each.

    The rows of a fork (``fork_of`` in its record) begin after the iteration that it started from.
    """
    lines, starts = [], [*(fork_of or {}).get("iterations", [])]
    for number, trial in restored.items():
        start = starts[int(number)] if int(number) < len(starts) else 0
        lines += [f"  {trial.name}: not used: {reason}" for reason in trial.damaged]
        had = {row["training_iteration"] for row in trial.rows}
        first = next(iteration for iteration in itertools.count(start + 1) if iteration not in had)
        last = next(iteration for iteration in itertools.count(trial.iteration - 1, -1) if iteration not in had)
        if first <= last:
            lines.append(f"  {trial.name}: result.json lacks iterations {first} to {last}; they stay missing")
        if not trial.over:
            again = max(had, default=0) - trial.iteration
            lines.append(
                f"  {trial.name}: goes on after iteration {trial.iteration}"
                + (f" ({again} later ones had no checkpoint, and are played again)" if again > 0 else "")
            )
    return lines


def _restore(
    trial: TrialResult, spec: ExperimentSpec, config: dict[str, Any], changing: Collection[str]
) -> RestoredTrial:
    """What the trial has behind it. Of ``changing`` settings its newest checkpoint says how they are by now."""
    usable, damaged, newest, now = [], [], -1, {name: config[name] for name in changing}
    settings = learner_named(trial.learner).config_class.from_dict(config)
    for path in names.checkpoints(trial.folder):
        newest = checkpoints.number(path)
        try:
            _, state = load(path, settings, spec.learner)
        except checkpoints.CheckpointError as error:
            damaged.append(str(error))
        else:
            usable.append((path, _row(trial.rows, state)))
            now = {name: state.config[name] for name in changing}
    saved = usable[-1][1]["training_iteration"] if usable else 0
    over = is_over(trial.rows, spec.budget, spec.budgets_before, saved)
    return RestoredTrial(trial.name, trial.config | now, trial.rows, usable, newest, damaged, over)


def _row(rows: list[dict[str, Any]], state: checkpoints.State) -> dict[str, Any]:
    """The row that goes with a checkpoint: of its iteration, with its counters. Made from these where there is none.

    A fork's first checkpoint has none. Nor have, under population based training, those that a trial made before it
    copied another one, whose rows then replaced its own.
    """
    counters = {
        "training_iteration": state.iteration,
        "timesteps_total": state.episodes.steps,
        "episodes_total": state.episodes.games,
    }
    same = (row for row in rows if row | counters == row)
    return next(same, counters | {METRIC: float(np.mean(state.episodes.recent_returns or [WORST_RETURN]))})
