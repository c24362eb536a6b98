"""Schedulers by name: who stops a trial early, or changes it on the way.

Tune forgets what a scheduler knows when a program ends. Here a trial that had results before brings them along, so
ASHA's rungs are after ``--resume`` what they were. ``halving.py`` and ``population.py`` have the others.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, TrialScheduler

from experiments.ask.budget import Budget
from experiments.plan.learners import Learner
from experiments.read.restored import RestoredTrial
from experiments.record.spec import ExperimentSpec
from experiments.run.halving import Halving
from experiments.run.population import Population
from experiments.run.tune_trials import trial_number


def decision_interval(budget: Budget, scheduler: str = "fifo") -> int:
    """How often a scheduler decides: pbt ten times in a budget, asha from a fifth of it on.

    A sweep's trials have 1 M steps each. At a tenth of them good and bad settings have returns of -20 to -18.5, in an
    order that is luck; at a fifth they are up to 3 points apart.
    """
    return max(1, budget.limits[budget.time_attr] // (5 if scheduler == "asha" else 10))


def make_scheduler(
    learner: Learner, folder: Path, spec: ExperimentSpec, restored: Mapping[str, RestoredTrial]
) -> TrialScheduler:
    """The scheduler that ``spec`` names.

    Halving (Jamieson and Talwalkar 2016) and ASHA (Li et al. 2020) stop trials that lag, PBT (Jaderberg et al. 2017)
    copies those that lead, FIFO neither.
    """
    time_attr = spec.budget.time_attr
    if spec.scheduler == "asha":
        return RememberingASHA(
            restored,
            time_attr=time_attr,
            max_t=spec.budget.limits[time_attr],
            grace_period=spec.interval,
            reduction_factor=3,
        )
    if spec.scheduler == "halving":
        return Halving(learner, folder, spec)
    if spec.scheduler == "pbt":
        return Population(learner, folder, spec)
    return FIFOScheduler()


class RememberingASHA(ASHAScheduler):
    """ASHA whose rungs hold what trials reported before."""

    def __init__(self, restored: Mapping[str, RestoredTrial], **options: Any) -> None:
        super().__init__(**options)
        self._restored = restored

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        """Take a trial in, with its earlier results; what was decided on them was done then."""
        super().on_trial_add(tune_controller, trial)
        if old := self._restored.get(trial_number(trial)):
            for row in old.rows:
                super().on_trial_result(tune_controller, trial, row)
            if old.over:
                super().on_trial_complete(tune_controller, trial, old.rows[-1])
