"""One game, played from its number."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np


class Environment(Protocol):
    """What a rollout needs of an environment. Randomness comes in as ``reset``'s argument, and nowhere else."""

    def reset(self, rng: np.random.Generator) -> Any:
        """Start a game; return its first observation."""
        ...

    def step(self, action: int) -> tuple[Any, float, bool, bool]:
        """Act; return the next observation, the reward, and whether the game was ended or cut off."""
        ...

    def stack(self, observations: list) -> Any:
        """Observations as one matrix (n, d), dense or sparse."""
        ...

    def picture(self, x_1d: Any) -> np.ndarray:
        """What the network sees of one stacked observation, as a picture (rows, columns) of numbers in [-1, 1]."""
        ...


class Trajectory(NamedTuple):
    """A game of n steps. Observation t was seen before action t, and reward t was its consequence."""

    obs_nd: Any  # dense array or sparse matrix (n, d)
    action_n: np.ndarray  # int8 (n,)
    reward_n: np.ndarray  # float32 (n,)
    truncated: bool  # cut off by a limit, not ended by the rules
    last_obs: Any  # the observation after the last step

    @property
    def episode_return(self) -> float:
        """Undiscounted sum of rewards."""
        return float(self.reward_n.sum())


class GameNumber(NamedTuple):
    """Decides a game: together with the weights that play it, nothing else does."""

    seed: int  # the trial's
    iteration: int
    game: int  # within the iteration

    def generators(self) -> tuple[np.random.Generator, np.random.Generator]:
        """Independent generators for the environment and for the choice of actions."""
        root = np.random.SeedSequence(self.seed, spawn_key=(self.iteration, self.game))
        environment, actions = root.spawn(2)
        return np.random.default_rng(environment), np.random.default_rng(actions)


def rollout(env: Environment, choose: Callable[[Any], int], rng: np.random.Generator) -> Trajectory:
    """Play one game: ``choose`` maps an observation to an action, ``rng`` is the environment's randomness."""
    observations, actions, rewards = [], [], []
    observation = env.reset(rng)
    terminated = truncated = False
    while not (terminated or truncated):
        action = choose(observation)
        observations.append(observation)
        actions.append(action)
        observation, reward, terminated, truncated = env.step(action)
        rewards.append(reward)
    return Trajectory(
        obs_nd=env.stack(observations),
        action_n=np.array(actions, np.int8),
        reward_n=np.array(rewards, np.float32),
        truncated=truncated and not terminated,
        last_obs=observation,
    )
