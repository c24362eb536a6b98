"""Policy gradients on Pong's pixels as a Ray Tune Trainable."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from trainables.config import PGConfig
from trainables.methods import METHODS
from trainables.metrics import Stopwatch, perf_metrics
from trainables.sampling.worker import Worker
from trainables.trainable import PongTrainable, Rollout

Arrays = dict[str, np.ndarray]


class PongPG(PongTrainable):
    """Karpathy's experiment: a policy that sees the difference of two frames, and learns from whole games.

    How it learns is a setting: ``reinforce`` is the seeds' way (document 002), ``ppo`` the one that goes on from there.
    Gradients are summed in game order (not in order of completion, as in the seeds), and the batch size is independent
    of the number of actors. So results repeat bit for bit.
    """

    learner = "pg"
    config_class = PGConfig

    def build(self) -> None:
        self.method = METHODS[self.settings.method](self.settings)
        self.arrays = self.method.init(self.init_rng())

    @staticmethod
    def worker_factory(settings: PGConfig) -> Callable[[], Worker]:
        return METHODS[settings.method](settings).worker_factory()

    def begin(self) -> Iterator[Any]:
        settings = self.settings
        return self.pool.play(self.arrays["theta"], self.game_numbers(0, settings.batch_size), settings.block_size)

    def update(self, rollout: Rollout) -> dict[str, float]:
        """Take in a batch of games that the present policy plays, and improve it."""
        clock = Stopwatch()
        with clock.measure("rollout", rollout.began):
            gathered, games, entropies = self.method.gather(self.arrays, rollout.blocks)
        with clock.measure("update"):
            decay = self.decay()
            self.arrays, metrics = self.method.learn(self.arrays, gathered, decay, self.update_rng())
        metrics |= {
            "policy/entropy": float(np.mean(entropies)),
            "policy/learning_rate": self.settings.learning_rate * decay,
        }
        return self.episodes.add(games) | metrics | perf_metrics(clock, games, self.settings.num_workers)

    @staticmethod
    def playing_weights(arrays: Arrays) -> np.ndarray:
        return arrays["theta"]

    def get_arrays(self) -> Arrays:
        return self.arrays

    def set_arrays(self, arrays: Arrays) -> None:
        self.arrays = {name: arrays[name] for name in self.arrays}
