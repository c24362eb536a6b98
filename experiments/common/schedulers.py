"""Schedulers by name: who stops a trial early, or changes it on the way."""

from typing import Literal

from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, PopulationBasedTraining, TrialScheduler

from experiments.common.learners import Learner

SchedulerName = Literal["asha", "fifo", "pbt"]


def make_scheduler(name: SchedulerName, learner: Learner, iterations: int) -> TrialScheduler:
    """ASHA (Li et al. 2020) stops trials that lag, PBT (Jaderberg et al. 2017) copies those that lead, FIFO neither."""
    if name == "asha":
        # A tenth of the iterations before the first cut: below it, returns of good and bad settings look the same.
        grace = max(1, iterations // 10)
        return ASHAScheduler(max_t=iterations, grace_period=grace, reduction_factor=3)
    if name == "pbt":
        return PopulationBasedTraining(
            perturbation_interval=max(1, iterations // 10),
            hyperparam_mutations=learner.space.MUTATIONS,
        )
    return FIFOScheduler()
