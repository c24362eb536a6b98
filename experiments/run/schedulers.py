"""Schedulers by name: who stops a trial early, or changes it on the way.

Tune forgets what a scheduler knows when a program ends. Here a trial that had results before brings them along, so
ASHA's rungs and PBT's scores are after ``--resume`` what they were.
"""

from collections.abc import Mapping
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, PopulationBasedTraining, TrialScheduler

from experiments.ask.budget import Budget
from experiments.read.restored import RestoredTrial
from experiments.record.spec import ExperimentSpec
from experiments.run.ray_internals import give_back_score
from experiments.run.tune_trials import trial_number


def decision_interval(budget: Budget, scheduler: str = "fifo") -> int:
    """How often a scheduler decides: pbt ten times in a budget, asha from a fifth of it on.

    A sweep's trials have 1 M steps each. At a tenth of them good and bad settings have returns of -20 to -18.5, in an
    order that is luck; at a fifth they are up to 3 points apart.
    """
    return max(1, budget.limits[budget.time_attr] // (5 if scheduler == "asha" else 10))


def make_scheduler(
    spec: ExperimentSpec, mutations: dict[str, Any], restored: Mapping[str, RestoredTrial]
) -> TrialScheduler:
    """ASHA (Li et al. 2020) stops trials that lag, PBT (Jaderberg et al. 2017) copies those that lead, FIFO neither."""
    time_attr = spec.budget.time_attr
    if spec.scheduler == "asha":
        return RememberingASHA(
            restored,
            time_attr=time_attr,
            max_t=spec.budget.limits[time_attr],
            grace_period=spec.interval,
            reduction_factor=3,
        )
    if spec.scheduler == "pbt":
        return RememberingPBT(
            restored, time_attr=time_attr, perturbation_interval=spec.interval, hyperparam_mutations=mutations
        )
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


class RememberingPBT(PopulationBasedTraining):
    """PBT whose population holds the scores that trials reported before."""

    def __init__(
        self, restored: Mapping[str, RestoredTrial], time_attr: str, perturbation_interval: int, **options: Any
    ) -> None:
        super().__init__(time_attr=time_attr, perturbation_interval=perturbation_interval, **options)
        self._restored, self._time_name, self._interval = restored, time_attr, perturbation_interval

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        """Take a trial in, with its score at the last exchange."""
        super().on_trial_add(tune_controller, trial)
        old, last, time = self._restored.get(trial_number(trial)), None, 0
        for row in old.rows if old else []:
            if row[self._time_name] - time >= self._interval:
                last, time = row, row[self._time_name]
        if last and not trial.is_finished():
            give_back_score(self, trial, last, time)
