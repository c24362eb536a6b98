"""A rollout worker: an ordinary class that plays numbered games. ``actor.py`` makes an actor of it."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from trainables.learning.policies import Policy
from trainables.sampling.rollout import Environment, GameNumber, Trajectory, rollout

Array = np.ndarray


class GameSummary(NamedTuple):
    """What is worth knowing of a game, apart from what is learned from it."""

    episode_return: float
    length: int  # agent steps
    seconds: float  # wall-clock time that the worker spent on the game


class PlayedBlock(NamedTuple):
    """What a worker sends back of a block of games."""

    summaries: list[GameSummary]
    experience: Any  # what the algorithm's ``pack`` makes of the games: NamedTuples of arrays


Pack = Callable[[Any, Sequence[Trajectory]], Any]
"""What travels to the learner, of the weights that played and the games of a block."""


class Worker:
    """Plays games on its environment with its policy, and packs what the learner needs of them."""

    def __init__(self, make_env: Callable[[], Environment], policy: Policy, pack: Pack) -> None:
        self.env, self.policy, self.pack = make_env(), policy, pack

    def play(self, weights: Any, number: GameNumber) -> Trajectory:
        """The numbered game, played by the policy of these weights."""
        env_rng, action_rng = number.generators()
        return rollout(self.env, self.policy.sampler(weights, action_rng), env_rng)

    def play_block(self, weights: Any, block: Sequence[GameNumber]) -> PlayedBlock:
        """The numbered games, one after the other. Packing's time is shared among them by their lengths."""
        start = time.perf_counter()
        games, ends = [], []
        for number in block:
            games.append(self.play(weights, number))
            ends.append(time.perf_counter())
        experience = self.pack(weights, games)
        lengths = np.array([len(game.action_n) for game in games])
        packing_s = (time.perf_counter() - ends[-1]) * lengths / lengths.sum()
        seconds = np.diff(ends, prepend=start) + packing_s
        returns = (game.episode_return for game in games)
        return PlayedBlock([*map(GameSummary, returns, lengths.tolist(), seconds.tolist())], experience)

    # The rest is for measuring and filming, outside of training.

    def sampler(self, weights: Any, rng: np.random.Generator) -> Callable[[Any], int]:
        """A function that draws an action for an observation, as in training."""
        return self.policy.sampler(weights, rng)

    def probabilities(self, weights: Any) -> Callable[[Any], Array]:
        """A function that gives each action's probability (k,) at an observation."""
        return lambda observation: self.policy.probabilities(weights, self.env.stack([observation]))[0]

    def view(self, weights: Any) -> Callable[[Any], Array]:
        """A function that shows what the network sees of an observation, as a picture of numbers in [-1, 1]."""
        env, policy = self.env, self.policy
        return lambda observation: env.picture(policy.network_inputs(weights, env.stack([observation])))
