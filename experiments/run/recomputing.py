"""A trial played again from one of its points, without Tune, with any number of workers; its files stay as they are."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ray

from experiments.plan.learners import Learner
from experiments.plan.resources import local_cpus
from experiments.read.policies import load, parameters
from experiments.read.stretches import Point
from experiments.run.ray_session import ship, start_local
from trainables.checks import ConfigError
from trainables.trainable import PongTrainable

MAX_WORKERS = 256
"""Rollout actors that are started here."""


class Player:
    """Makes trials that stand at a point, one after the other."""

    def __init__(self, learner: Learner, num_workers: int) -> None:
        self._learner, self._num_workers = learner, num_workers
        self._trial: PongTrainable | None = None

    def begin(self, point: Point) -> PongTrainable:
        """The trial as it was at that point, which ``train`` plays on; the one that was begun before has its end.

        Raises CheckpointError if the checkpoint cannot be used, and ConfigError for impossible settings.
        """
        speed = {"num_workers": self._num_workers, "cpus_per_worker": 1.0, "placement": "pack"}
        learner = self._learner
        settings = learner.config_class.from_dict(point.config | speed)
        parameters(learner.name, settings)
        if point.folder:
            load(point.folder, settings, learner.name)  # before anything is built of the size that its text says
        if not (self._trial and point.folder and settings == self._trial.settings):
            self.close()
            self._trial = learner.trainable(config=settings.to_dict())
            Path(self._trial.logdir).rmdir()  # Tune's, where nothing will be written
        if point.folder:
            self._trial.load_checkpoint(str(point.folder))
        return self._trial

    def close(self) -> None:
        """End the workers."""
        if self._trial:
            self._trial.stop()
        self._trial = None


def require_workers(num_workers: int) -> None:
    """Raise ConfigError for a number of workers that there cannot be."""
    if not 1 <= num_workers <= MAX_WORKERS:
        raise ConfigError(f"num_workers={num_workers}: accepted is a number in [1, {MAX_WORKERS}]")


@contextmanager
def player(learner: Learner, num_workers: int) -> Iterator[Player]:
    """A player, on a Ray that has room for its workers. Raises ConfigError if they cannot play."""
    if own := not ray.is_initialized():
        start_local(max(local_cpus(), num_workers), log_to_driver=False, logging_level=logging.ERROR)
    ship(learner)
    found = Player(learner, num_workers)
    try:
        yield found
    except RuntimeError as error:
        raise ConfigError(" ".join(str(error).split())) from None
    finally:
        found.close()
        if own:
            ray.shutdown()
