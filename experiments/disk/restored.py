"""What a resume restores: what an experiment's trials have done so far, read from the files that outlive any program.

Tune's own state (``tuner.pkl``, ``experiment_state-*.json``) is not used: after a kill it is older than the
checkpoints, Tune starts again without a word if it is damaged, and to read it is to unpickle it. Rows and checkpoints
are text and arrays, and say all that is needed.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments.disk.decisions import Decision
from experiments.disk.experiments import Experiment, read_experiment, trials_to_play
from experiments.disk.folders import DECISIONS, PARAMS, RECORD
from experiments.disk.spec import ExperimentSpec, ForkOf
from experiments.disk.trial import Trial
from experiments.disk.trial_checkpoints import parameters, to_go_on_from
from experiments.plan.learners import Learner, learner_named
from experiments.plan.trial_names import number_of
from trainables.checks import ConfigError
from trainables.metrics import METRIC, WORST_RETURN
from trainables.saved import Checkpoint, Checkpoints
from trainables.texts import counted


class RestoredTrial(NamedTuple):
    """What a trial goes on from."""

    trial: Trial  # as it stands by what it is to do now, and by what of its checkpoints is usable
    checkpoints: Checkpoints  # usable are those from all of which, arrays too, it can go on

    @property
    def iteration(self) -> int:
        """The iteration of its newest usable checkpoint, after which it goes on; 0 without one."""
        return self.checkpoints.iteration

    @property
    def last_row(self) -> dict[str, Any]:
        """The row after which it goes on, or of a trial that is over its last one; empty before the first."""
        if not self.trial.goes_on:
            return {**self.trial.last_row}
        newest = self.checkpoints.newest
        if newest is None:
            return {}
        return self.row(newest)

    def row(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """The row of a checkpoint's iteration, with the checkpoint's counters.

        Where there is no such row, as of a fork's first checkpoint, one is made of the counters and the score.
        """
        counters = checkpoint.counters
        for row in self.trial.rows:
            if all(row.get(name) == count for name, count in counters.items()):
                return row
        score = checkpoint.score
        if not math.isfinite(score):  # it was saved before the first game had ended
            score = WORST_RETURN
        return counters | {METRIC: score}


def restore(folder: Path, spec: ExperimentSpec) -> dict[str, RestoredTrial]:
    """Every trial that has a folder, by its number (``00003``). ``spec`` may give more to do than the folder says.

    Raises ConfigError if the trials' folders and ``experiment.json`` contradict each other, if a setting is impossible,
    if a fork was cut off before all its checkpoints were there, or if the file of decisions is damaged.
    """
    experiment = read_experiment(folder)
    learner = learner_named(experiment.learner)
    _require_whole(experiment, spec, learner)
    restored = {}
    for trial in experiment.trials:
        if trial.number >= len(spec.configs):
            raise ConfigError(f"{trial.folder} belongs to no trial in {folder / RECORD}")
        config = spec.configs[trial.number]
        _require_same(trial, config)
        restored[number_of(trial.number)] = _restore(trial, spec, config)
    if spec.fork_of:
        begun = [trial for trial in restored.values() if trial.checkpoints.newest]
        if len(begun) < len(spec.configs):
            raise ConfigError(f"{folder} lacks a checkpoint that it was forked from: delete it, and fork again")
    return restored


def _require_whole(experiment: Experiment, spec: ExperimentSpec, learner: Learner) -> None:
    """Raise ConfigError for settings that make no network, and for decisions that do not fit the trials and rungs."""
    for config in spec.configs:
        try:
            parameters(learner.name, learner.config_class.from_dict(config))
        except ConfigError as error:
            raise ConfigError(f"{experiment.folder / RECORD}: {error}") from None
    if len(experiment.decisions) >= len(spec.rungs or [1]):
        raise ConfigError(f"{experiment.folder / DECISIONS} is damaged: it has more rungs than {RECORD}")


def _require_same(trial: Trial, planned: Mapping[str, Any]) -> None:
    """Raise ConfigError if a trial has other settings than those that were planned."""
    changed = []
    for name, value in trial.changed(planned).items():
        changed.append(f"{name}={trial.config.get(name)!r} for {value!r}")
    if changed:
        raise ConfigError(
            f"{trial.folder / PARAMS} differs from {RECORD}: {', '.join(changed)}. A trial keeps its settings; --fork"
            " starts a new one with others"
        )


def _restore(trial: Trial, spec: ExperimentSpec, config: Mapping[str, Any]) -> RestoredTrial:
    """The trial by what ``spec`` asks of it, with the checkpoints from which it can go on."""
    settings = learner_named(trial.learner).config_class.from_dict(config)
    checkpoints = to_go_on_from(trial.folder, settings, spec.learner)
    records = trial.records._replace(spec=spec)
    traces = trial.traces._replace(saved=checkpoints.iteration, running=False)
    return RestoredTrial(dataclasses.replace(trial, records=records, traces=traces), checkpoints)


def plays_on(restored: Mapping[str, RestoredTrial], spec: ExperimentSpec) -> bool:
    """Whether ``--resume`` plays any trial further."""
    trials = [old.trial for old in restored.values()]
    return trials_to_play(trials, len(spec.configs), decisions_of(restored)) > 0


def decisions_of(restored: Mapping[str, RestoredTrial]) -> Sequence[Decision]:
    """What was decided in the experiment whose trials these are; empty without trials."""
    for old in restored.values():
        return old.trial.records.decisions
    return ()


def describe(restored: Mapping[str, RestoredTrial], fork_of: ForkOf | None = None) -> list[str]:
    """Where each trial goes on from, and what could not be used; a line each. A fork's rows begin after its start."""
    lines = []
    for key, found in restored.items():
        name = found.trial.name
        for damaged in found.checkpoints.damaged:
            lines.append(f"  {name}: not used: {damaged.reason}")
        start = 0
        if fork_of:
            start = fork_of.starts[int(key)].iteration
        recorded = {row["training_iteration"] for row in found.trial.rows}
        missing = sorted({*range(start + 1, found.iteration + 1)} - recorded)
        if missing:
            lost = f"{counted(len(missing), 'row')}, the first of iteration {missing[0]}"
            lines.append(f"  {name}: result.json lacks {lost}: these results are lost, and no others")
        if found.trial.goes_on:
            line = f"  {name}: goes on after iteration {found.iteration}"
            again = max(recorded, default=0) - found.iteration
            if again > 0:
                line += f" ({again} later ones had no checkpoint, and are played again)"
            lines.append(line)
    return lines
