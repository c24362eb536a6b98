"""What an experiment's trials have behind them, read from the files that outlive any program.

Tune has books of its own (``tuner.pkl``, ``experiment_state-*.json``), and they are not used: a kill leaves them behind
the checkpoints, a damaged one makes Tune start again in silence, and to read them is to run what they hold. Every
trial's rows and checkpoints say all there is to know, as text and arrays.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.read.trials import TrialResult, read_experiment
from experiments.record.folders import RECORD
from experiments.record.spec import ExperimentSpec
from trainables import checkpoints
from trainables.checks import ConfigError
from trainables.metrics import METRIC


@dataclass(frozen=True)
class RestoredTrial:
    """A trial before this program."""

    name: str  # its folder's
    config: dict[str, Any]
    rows: list[dict[str, Any]]
    checkpoints: list[tuple[Path, dict[str, Any]]]  # usable ones, oldest first, with the row that each belongs to
    newest_index: int  # the highest number of a checkpoint folder, usable or not; -1 if there is none
    damaged: list[str]  # what is wrong with the others
    over: bool  # it came to its end, and needs nothing more

    @property
    def iteration(self) -> int:
        """Where the trial goes on from: that of its newest usable checkpoint."""
        return self.checkpoints[-1][1]["training_iteration"] if self.checkpoints else 0


def restore(folder: Path, record: ExperimentSpec) -> dict[str, RestoredTrial]:
    """The past of every trial that has one, by its number.

    Raises ConfigError if the trials' folders and the record contradict each other, or if a fork was cut off before all
    its checkpoints were there.
    """
    pasts = {trial.name.partition("_")[0]: _past(trial, record) for trial in read_experiment(folder).trials}
    for number, past in pasts.items():
        if int(number) >= len(record.configs):
            raise ConfigError(f"{folder / past.name} belongs to no trial in {folder / RECORD}")
        if record.scheduler != "pbt":  # which changes settings on the way
            _require_same(record.configs[int(number)], past, folder)
    if record.fork_of and sum(bool(past.checkpoints) for past in pasts.values()) < len(record.configs):
        raise ConfigError(f"{folder} lacks a checkpoint that it was forked from: delete it, and fork again")
    return pasts


def _require_same(config: dict[str, Any], past: RestoredTrial, folder: Path) -> None:
    changed = [
        f"{key}={past.config.get(key)!r} for {value!r}"
        for key, value in config.items()
        if past.config.get(key) != value
    ]
    if changed:
        raise ConfigError(
            f"{folder / past.name / 'params.json'} differs from {RECORD}: {', '.join(changed)}. A trial keeps its"
            " settings; --fork starts a new one with others"
        )


def all_over(pasts: Mapping[str, RestoredTrial], record: ExperimentSpec) -> bool:
    """Whether every trial has come to its end, so that there is nothing to resume."""
    return len(pasts) == len(record.configs) and all(past.over for past in pasts.values())


def describe(pasts: Iterable[RestoredTrial]) -> list[str]:
    """Where each trial goes on from, and what could not be used; a line each."""
    lines = []
    for past in pasts:
        lines += [f"  {past.name}: not used: {reason}" for reason in past.damaged]
        had = {row["training_iteration"] for row in past.rows}
        if lost := [iteration for iteration in range(1, past.iteration) if iteration not in had]:
            lines.append(f"  {past.name}: result.json lacks iterations {lost[0]} to {lost[-1]}; they stay missing")
        if not past.over:
            again = max(had, default=0) - past.iteration
            lines.append(
                f"  {past.name}: goes on after iteration {past.iteration}"
                + (f" ({again} later ones had no checkpoint, and are played again)" if again > 0 else "")
            )
    return lines


def _past(trial: TrialResult, record: ExperimentSpec) -> RestoredTrial:
    usable, damaged, indices = [], [], [-1]
    for path in trial.folder.glob("checkpoint_*"):
        indices.append(int(path.name.rpartition("_")[2]))
        try:
            _, state = checkpoints.load(path, record.learner)
        except checkpoints.CheckpointError as error:
            damaged.append(str(error))
        else:
            usable.append((path, _row(trial.rows, state)))
    usable.sort(key=lambda item: item[1]["training_iteration"])
    over = bool(trial.rows and trial.rows[-1].get("done"))
    over = over and (trial.diverged or not any(budget.ended(trial.rows) for budget in record.budgets_before))
    if over and record.budget.share(trial.rows[-1]) == 1:
        # At its end a trial saves once more: without that checkpoint it is not over.
        over = bool(usable) and usable[-1][1]["training_iteration"] >= trial.iterations
    return RestoredTrial(trial.name, trial.config, trial.rows, usable, max(indices), damaged, over)


def _row(rows: list[dict[str, Any]], state: dict[str, Any]) -> dict[str, Any]:
    """The results of a checkpoint's iteration; from its own counters where they are not on record (a fork's first)."""
    for row in rows:
        if row["training_iteration"] == state["iteration"]:
            return row
    episodes = state["episodes"]
    return {
        "training_iteration": state["iteration"],
        "timesteps_total": episodes["steps"],
        "episodes_total": episodes["games"],
        METRIC: float(np.mean(episodes["recent_returns"])),
    }
