"""Schedulers that decide about each trial by itself: those of Tune, told what trials did before this program."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler

from experiments.disk.restored import RestoredTrial
from experiments.disk.spec import ExperimentSpec
from experiments.plan.learners import Learner
from experiments.run.tune_trials import trial_number


class FIFO(FIFOScheduler):
    """Stops no trial."""

    def __init__(
        self, learner: Learner, folder: Path, spec: ExperimentSpec, restored: Mapping[str, RestoredTrial]
    ) -> None:
        super().__init__()


class ASHA(ASHAScheduler):
    """Tune's ASHA, whose rungs hold what trials reported before."""

    def __init__(
        self, learner: Learner, folder: Path, spec: ExperimentSpec, restored: Mapping[str, RestoredTrial]
    ) -> None:
        budget = spec.budget
        super().__init__(time_attr=budget.time_attr, max_t=budget.limit, grace_period=spec.interval, reduction_factor=3)
        self._restored = restored

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        """Take a trial in, with its earlier results; what was decided on them was done then."""
        super().on_trial_add(tune_controller, trial)
        if old := self._restored.get(trial_number(trial)):
            for row in old.trial.rows:
                super().on_trial_result(tune_controller, trial, row)
            if not old.trial.goes_on:
                super().on_trial_complete(tune_controller, trial, old.trial.rows[-1])
