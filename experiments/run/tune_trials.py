"""Tune's trials: their names and folders, and exactly the planned ones, each with what it had before this program."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.search import BasicVariantGenerator

from experiments.ask.budget import Budget
from experiments.disk.decisions import dropped
from experiments.disk.restored import RestoredTrial, decisions_of
from experiments.disk.states import Facts, State, state_of
from experiments.plan.trial_names import trial_name
from experiments.run.ray_internals import any_live, give_back
from trainables.metrics import METRIC


def trial_number(trial: Trial) -> str:
    """The trial's number within its experiment: ``00003`` of ``4f2a9_00003``."""
    return trial.trial_id.rpartition("_")[2]


def trial_folder(experiment: Path, trial: Trial) -> Path:
    """A started trial's folder on this machine; ``trial.path`` is where its node saves, which may be a bucket."""
    assert trial.path
    return experiment / Path(trial.path).name


def state_now(trial: Trial, budget: Budget) -> State:
    """The state of a trial that Tune runs, with the ``budget`` of its experiment."""
    result = trial.last_result
    return state_of(
        Facts(
            broke=trial.status == Trial.ERROR,
            over=trial.status == Trial.TERMINATED,
            diverged=bool(result.get("diverged")),
            share=budget.share(result),
            dropped=False,  # Tune terminates such a trial at once
            running=True,
            status=trial.status,
            began=METRIC in result and trial.status != Trial.PENDING,  # A pending trial may have earlier results.
            time_is_up=False,
        )
    )


def kept_first(old: RestoredTrial) -> list[tuple[Path, dict[str, Any]]]:
    """A trial's checkpoints with their rows, of which a fork's first one has the best score, so that Tune keeps it.

    From that one the fork's first iterations can be played again.
    """
    kept = []
    for checkpoint in old.checkpoints.usable:
        row = old.row(checkpoint)
        if old.trial.began_with(checkpoint):
            row = row | {METRIC: math.inf}
        kept.append((checkpoint.folder, row))
    return kept


class TrialName:
    """Names a trial, and its folder, by its number and its swept values; a trial of the ``baseline`` is called so.

    A trial that ran before keeps the name that it has in ``names``, by number.
    """

    def __init__(
        self, swept: Sequence[str], names: Mapping[str, str], baseline: Mapping[str, Any] | None = None
    ) -> None:
        self.swept, self.names, self.baseline = swept, names, baseline

    def __call__(self, trial: Trial) -> str:
        """The trial's name."""
        number = trial_number(trial)
        return self.names.get(number) or trial_name(number, trial.config, self.swept, self.baseline)


class PlannedTrials(BasicVariantGenerator):
    """Makes one trial of each configuration, in order, and gives those that ran before their checkpoints back.

    With ``paused`` it makes all at once, and each waits until the scheduler chooses it. Tune starts others by itself.

    It is finished when all trials are, not when all were made: until then Tune keeps the processes of a trial that ends
    or pauses for the next one.
    """

    def __init__(
        self,
        configs: Sequence[dict[str, Any]],
        restored: Mapping[str, RestoredTrial],
        max_concurrent: int | None = None,
        paused: bool = False,
    ) -> None:
        super().__init__(points_to_evaluate=list(configs), max_concurrent=0 if paused else max_concurrent or 0)
        self._restored, self._paused, self._left = restored, paused, len(configs)

    def is_finished(self) -> bool:
        """Whether no trial will come or go on. Tune's own is true, too, once ``set_finished`` was called."""
        return super().is_finished() or (not self._left and not any_live(self))

    def next_trial(self) -> Trial | None:
        """The next trial, or None if there is none left or no room for it now."""
        trial = super().next_trial() if self._left else None
        if trial is None:
            return None
        self._left -= 1
        if self._paused:
            trial.set_status(Trial.PAUSED)
            trial.init_local_path()  # Without a folder's name Tune fails where it stops a trial that never began.
        ended: str | None = None
        if old := self._restored.get(trial_number(trial)):
            give_back(trial, kept_first(old), old.checkpoints.newest_number, old.last_row)
            if not old.trial.goes_on:
                ended = Trial.ERROR if old.trial.facts.broke else Trial.TERMINATED
        elif dropped(decisions_of(self._restored), int(trial_number(trial))):  # Its folder was deleted.
            ended = Trial.TERMINATED
        if ended:
            trial.set_status(ended)
            self.on_trial_complete(trial.trial_id)  # It takes no place among those that run at once.
        return trial
