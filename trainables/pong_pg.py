"""REINFORCE on Pong's pixels as a Ray Tune Trainable."""

from collections.abc import Callable
from functools import partial

import numpy as np

from trainables.base import PongTrainable
from trainables.config import PGConfig
from trainables.learning.optimisers import Adam, Optimiser, RMSProp
from trainables.learning.policies import BernoulliPolicy
from trainables.metrics import Stopwatch
from trainables.sampling.frames import NUM_PIXELS
from trainables.sampling.worker import GradientWorker, Worker


class PongPG(PongTrainable):
    """Karpathy's policy gradient: play a batch of games, sum their gradients, take one step uphill.

    Semantics are those of seed document 002, with two differences: gradients are summed in game order (not in order of
    completion), and the batch size is independent of the number of actors. So results repeat bit for bit.
    """

    learner = "pg"
    config_class = PGConfig

    def build(self) -> None:
        settings: PGConfig = self.settings
        self.policy = BernoulliPolicy(NUM_PIXELS, settings.hidden_size)
        self.optimiser: Optimiser = (
            RMSProp(settings.learning_rate, settings.rmsprop_decay)
            if settings.optimiser == "rmsprop"
            else Adam(settings.learning_rate)
        )
        self.theta = self.policy.mlp.init(self.init_rng())
        self.optimiser_state = self.optimiser.init(len(self.theta))

    @staticmethod
    def worker_factory(settings: PGConfig) -> Callable[[], Worker]:
        return partial(GradientWorker, settings.env_id, settings.hidden_size, settings.gamma)

    def update(self) -> dict[str, float]:
        """One update: theta <- theta + RMSProp(sum over games of sum_t A[t] grad log p(a[t] | x[t]))."""
        clock = Stopwatch()
        gradient, games = np.zeros_like(self.theta), []
        numbers = self.game_numbers(0, self.settings.batch_size)
        with clock.measure("rollout"):
            for block in self.pool.play(self.theta, numbers, self.settings.block_size):
                self.policy.add_row_gradient(gradient, block.gradient)
                games += block.summaries
        with clock.measure("update"):
            old_theta = self.theta
            self.theta, self.optimiser_state = self.optimiser.ascend(old_theta, gradient, self.optimiser_state)
        policy_metrics = {
            "policy/entropy": float(np.mean([game.entropy for game in games])),
            "policy/gradient_norm": float(np.linalg.norm(gradient)),
            "policy/update_norm": float(np.linalg.norm(self.theta - old_theta)),
        }
        return self.episodes.add(games) | policy_metrics | self.perf_metrics(clock, games)

    @staticmethod
    def playing_weights(arrays: dict[str, np.ndarray]) -> np.ndarray:
        return arrays["theta"]

    def get_arrays(self) -> dict[str, np.ndarray]:
        return {"theta": self.theta} | {f"optimiser.{name}": array for name, array in self.optimiser_state.items()}

    def set_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        self.theta = arrays["theta"]
        self.optimiser_state = {name: arrays[f"optimiser.{name}"] for name in self.optimiser_state}
