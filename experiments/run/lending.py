"""Which trial gets how many cores: none is idle, and how many workers a trial has changes no result.

A trial starts with the workers that it asks for; with fewer where others wait for a core, and with more where nobody
else can use the cores. Two trials of one worker each play more at once than they would one after the other with two
workers each: a single worker waits for no other at the end of a batch, and its core is the one that updates.

What a trial asks for stays in its settings; how many workers it has, its rows say (``perf/workers``).
"""

import math
from collections.abc import Sequence

from ray.tune.experiment import Trial

from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources
from trainables.sampling.process import workers_that_fit

WORTH_S = 15.0
"""Seconds that a trial must have left to be started anew with more workers, which takes some 4 s: with twice as many
it then ends some 3 s sooner. With less left a core may idle, for no longer than this and an iteration."""


class Lending:
    """Decides how many workers each trial has, and reserves their cores as the trial starts."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    def next(
        self, ready: Sequence[Trial], running: Sequence[Trial], resources: ClusterResources, places: int
    ) -> Trial | None:
        """The trial to start now, with the cores that it gets; None if no core is free.

        It is the first one that has room for a worker. At most ``places`` of those that are ``ready`` start before one
        that runs ends.
        """
        free = _free(resources, running)
        chosen = next((trial for trial in ready if _fitting(free, trial)), ready[0])
        others = [trial for trial in ready if trial is not chosen][: places - 1]
        workers = self.workers(chosen, others, running, resources)
        if not workers:
            return None
        self._give(chosen, workers)
        return chosen

    def after_error(self, trial: Trial, running: Sequence[Trial], resources: ClusterResources) -> None:
        """Have a trial that starts anew reserve no more cores than are free: a node may have died with those it had.

        Where none is free it reserves what it asks for, or all there is, and waits until others end.
        """
        had = round(cpus(trial) / _each(trial))
        room = _fitting(_free(resources, running), trial) or _asked(trial)
        self._give(trial, max(1, min(had, room, resources.workers(_each(trial)))))

    def workers(
        self, trial: Trial, others: Sequence[Trial], running: Sequence[Trial], resources: ClusterResources
    ) -> int:
        """How many workers a trial that starts now gets, while ``others`` are about to start and some are ``running``.

        First every trial that starts gets what it asks for, or an equal share of the free cores if that is less. Cores
        that are left then are divided equally among all that can use more: those that start, and those that run on
        fewer cores than this one would have if it took all that is left.
        """
        free = _free(resources, running)
        share = max(1, _fitting(free / (1 + len(others)), trial))
        first = min(_asked(trial), share, _fitting(free, trial))
        first_cpus = first * _each(trial)
        left = free - first_cpus - sum(min(_asked(other), share) * _each(other) for other in others)
        if left <= 0:
            return min(first, resources.workers(_each(trial)))
        more_useful = [other for other in running if cpus(other) < min(first_cpus + left, self._most_cpus(other))]
        part = math.ceil(_fitting(left, trial) / (1 + len(others) + len(more_useful)))
        return min(first + part, self._most(trial), resources.workers(_each(trial)))

    def gains(self, trial: Trial, seconds: float, running: Sequence[Trial], resources: ClusterResources) -> bool:
        """Whether it pays to start a running trial anew, from a checkpoint of now, with more workers.

        ``seconds`` are those that it has left. Only trials that are ``running`` need cores: none waits for one.
        """
        others = [other for other in running if other is not trial]
        return seconds > WORTH_S and self.workers(trial, [], others, resources) * _each(trial) > cpus(trial) + 1e-9

    def _give(self, trial: Trial, workers: int) -> None:
        """Have a trial reserve the cores of so many workers; its settings still say what it asks for."""
        config = trial.config | {"num_workers": workers}
        trial.update_resources(self._learner.trainable.default_resource_request(config))

    def _most(self, trial: Trial) -> int:
        """How many workers a trial can use, or asks for."""
        return max(_asked(trial), self._learner.most_workers(self._learner.config_class.from_dict(trial.config)))

    def _most_cpus(self, trial: Trial) -> float:
        return self._most(trial) * _each(trial)


def cpus(trial: Trial) -> float:
    """The CPUs that a trial reserves."""
    assert trial.placement_group_factory
    return trial.placement_group_factory.required_resources.get("CPU", 0.0)


def _free(resources: ClusterResources, running: Sequence[Trial]) -> float:
    """The CPUs that no trial of those ``running`` reserves; below 0 where a node died that has some of theirs."""
    return resources.cpus - sum(map(cpus, running))


def _asked(trial: Trial) -> int:
    """The workers that a trial's settings ask for."""
    return trial.config["num_workers"]


def _each(trial: Trial) -> float:
    """The CPUs of each of a trial's workers."""
    return trial.config["cpus_per_worker"]


def _fitting(free: float, trial: Trial) -> int:
    """How many of a trial's workers fit on so many CPUs."""
    return max(0, workers_that_fit(free, _each(trial)))
