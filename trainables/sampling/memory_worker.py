"""The worker of the memory learner: it plays from flat observations, and sends them back as they came."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from trainables.learning.policies import CategoricalPolicy
from trainables.learning.running_stats import CLIP, Filter, Moments
from trainables.sampling.environments import flat_environment
from trainables.sampling.rollout import GameNumber, Trajectory, rollout
from trainables.sampling.worker import GameSummary


class FilteredWeights(NamedTuple):
    """What the memory learner sends out: a policy's parameters and the frozen filter that it sees through."""

    theta_p: np.ndarray
    filter: Filter


class FilteredGame(NamedTuple):
    """What the memory learner needs of a game: observations as they came, and their moments."""

    trajectory: Trajectory
    moments: Moments
    summary: GameSummary

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        obs_nd, action_n, reward_n, _, last_obs = self.trajectory
        return sum(array.nbytes for array in (obs_nd, action_n, reward_n, last_obs, *self.moments))


class FilteredBlock(NamedTuple):
    """What a block of the memory learner's games sends back."""

    games: list[FilteredGame]

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return sum(game.nbytes for game in self.games)


class TrajectoryWorker:
    """Plays a game from flat observations and returns its trajectory."""

    def __init__(self, env_id: str, hidden_sizes: tuple[int, ...], with_places: bool = False) -> None:
        self.env = flat_environment(env_id, with_places)
        self.policy = CategoricalPolicy(self.env.num_inputs, hidden_sizes, self.env.num_actions)

    def play(self, weights: FilteredWeights, number: GameNumber) -> FilteredGame:
        """The numbered game, played by the policy of these weights."""
        start = time.perf_counter()
        env_rng, action_rng = number.generators()
        game = rollout(self.env, self.sampler(weights, action_rng), env_rng)
        moments = Moments.of(game.obs_nd)
        seconds = time.perf_counter() - start
        return FilteredGame(game, moments, GameSummary(game.episode_return, len(game.action_n), seconds))

    def play_block(self, weights: FilteredWeights, block: Sequence[GameNumber]) -> FilteredBlock:
        """The numbered games."""
        return FilteredBlock([self.play(weights, number) for number in block])

    def sampler(self, weights: FilteredWeights, rng: np.random.Generator) -> Callable[[np.ndarray], int]:
        see, choose = weights.filter.row_filter(), self.policy.sampler(weights.theta_p, rng)
        return lambda obs: choose(see(obs))

    def probabilities(self, weights: FilteredWeights) -> Callable[[np.ndarray], np.ndarray]:
        def probabilities(obs_d: np.ndarray) -> np.ndarray:
            return softmax(self.policy.mlp.forward(weights.theta_p, weights.filter(obs_d[None]))[0][0])

        return probabilities

    def view(self, weights: FilteredWeights) -> Callable[[np.ndarray], np.ndarray]:
        """The filtered observation: for Pong's memory rows of 16 inputs; 1 is 2.5 standard deviations or more."""
        return lambda obs_d: (weights.filter(obs_d[None]).reshape(-1, min(len(obs_d), 16)) * 2 / CLIP).clip(-1, 1)
