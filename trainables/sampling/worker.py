"""A rollout worker: an ordinary class that plays numbered games. ``pool.py`` makes actors of it."""

import time
from typing import NamedTuple, Protocol

import numpy as np

from trainables.learning.policies import BernoulliPolicy, RowGradient
from trainables.learning.returns import discounted_returns, standardise
from trainables.sampling.environments import PongPixels
from trainables.sampling.frames import NUM_PIXELS
from trainables.sampling.rollout import GameNumber, rollout


class Worker(Protocol):
    """What a pool needs of a worker."""

    def play(self, weights: np.ndarray, number: GameNumber) -> NamedTuple:
        """Play the numbered game with a policy of these weights."""
        ...


class GameSummary(NamedTuple):
    """What is worth knowing of a game, apart from what is learned from it."""

    episode_return: float
    length: int  # agent steps
    entropy: float  # of the policy, mean over the game, nats
    seconds: float  # wall-clock time that the worker spent on the game


class GameGradient(NamedTuple):
    """What a game of the pixel learner sends back: its gradient, never its frames."""

    gradient: RowGradient
    summary: GameSummary


class GradientWorker:
    """Plays a game of Pong from pixels and returns its REINFORCE gradient."""

    def __init__(self, env_id: str, hidden_size: int, gamma: float) -> None:
        self.env = PongPixels(env_id)
        self.policy = BernoulliPolicy(NUM_PIXELS, hidden_size)
        self.gamma = gamma

    def play(self, weights: np.ndarray, number: GameNumber) -> GameGradient:
        """The game's gradient of sum_t A[t] log p(a[t] | x[t]), A the standardised return (seed document 002)."""
        start = time.perf_counter()
        env_rng, action_rng = number.generators()
        game = rollout(self.env, self.policy.sampler(weights, action_rng), env_rng)
        advantage_n = standardise(discounted_returns(game.reward_n, self.gamma))
        gradient, entropy = self.policy.sparse_score_gradient(weights, game.obs_nd, game.action_n, advantage_n)
        seconds = time.perf_counter() - start
        return GameGradient(gradient, GameSummary(game.episode_return, len(game.action_n), entropy, seconds))
