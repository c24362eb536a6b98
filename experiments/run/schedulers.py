"""Schedulers by name: who stops a trial early, or changes it on the way.

Tune forgets what a scheduler knows when a program ends. Here it is told again: a trial that had results before brings
them along, so ASHA's rungs and PBT's scores are after ``--resume`` what they were.
"""

from collections.abc import Mapping
from typing import Any, Literal

from ray.tune.experiment import Trial
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, PopulationBasedTraining, TrialScheduler

from experiments.plan.trial_names import trial_number
from experiments.read.restored import RestoredTrial
from experiments.record.spec import ExperimentSpec

SchedulerName = Literal["asha", "fifo", "pbt"]


def make_scheduler(
    record: ExperimentSpec, mutations: dict[str, Any], past: Mapping[str, RestoredTrial]
) -> TrialScheduler:
    """ASHA (Li et al. 2020) stops trials that lag, PBT (Jaderberg et al. 2017) copies those that lead, FIFO neither."""
    if record.scheduler == "asha":
        return RememberingASHA(
            past,
            time_attr=record.budget.clock,
            max_t=record.budget.limits[record.budget.clock],
            grace_period=record.interval,
            reduction_factor=3,
        )
    if record.scheduler == "pbt":
        return RememberingPBT(
            past,
            time_attr=record.budget.clock,
            perturbation_interval=record.interval,
            hyperparam_mutations=mutations,
        )
    return FIFOScheduler()


class Remembering:
    """What both schedulers below share: they are told what their trials reported before."""

    def __init__(self, past: Mapping[str, RestoredTrial], **options: Any) -> None:
        super().__init__(**options)
        self._past = past

    def past(self, trial: Trial) -> RestoredTrial | None:
        """The trial before this program, if there was one."""
        return self._past.get(trial_number(trial))


class RememberingASHA(Remembering, ASHAScheduler):
    """ASHA whose rungs hold what trials reported before."""

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        """Take a trial in, with its earlier results; what was decided on them was done then."""
        super().on_trial_add(tune_controller, trial)
        if past := self.past(trial):
            for row in past.rows:
                super().on_trial_result(tune_controller, trial, row)
            if past.over:
                super().on_trial_complete(tune_controller, trial, past.rows[-1])


class RememberingPBT(Remembering, PopulationBasedTraining):
    """PBT whose population holds the scores that trials reported before."""

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        """Take a trial in, with its score at the last exchange."""
        super().on_trial_add(tune_controller, trial)
        past, last, then = self.past(trial), None, 0
        for row in past.rows if past else []:
            if row[self._time_attr] - then >= self._perturbation_interval:
                last, then = row, row[self._time_attr]
        if last and not trial.is_finished():
            state = self._trial_state[trial]
            self._save_trial_state(state, then, last, trial)
            state.last_perturbation_time = then
            state.last_checkpoint = trial.checkpoint
