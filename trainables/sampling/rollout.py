"""Games and parts of games, played step by step."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

Array = np.ndarray


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


class Suspended(NamedTuple):
    """A game of Pong that will go on."""

    played: bytes  # an ALE action code for each frame so far; with them the game can be played again
    state: tuple[bytes, ...]  # what the environment needs to go on at once; empty if that is not at hand


class Trajectory(NamedTuple):
    """n steps of one game. Observation t was seen before action t, and reward t was its consequence."""

    obs_nd: Any  # dense array or sparse matrix (n, d)
    action_n: np.ndarray  # int8 (n,)
    reward_n: np.ndarray  # float32 (n,)
    truncated: bool  # not ended by the rules: the state after the last step is worth something
    last_obs: Any  # the observation after the last step
    steps_since_reward: int = 0  # of the game before the first step, or of all its steps if there was no reward yet
    steps_before: int = 0  # of the game before the first step

    @property
    def episode_return(self) -> float:
        """Undiscounted sum of rewards."""
        return float(self.reward_n.sum())


class GameSummary(NamedTuple):
    """What is worth knowing of a game that ended, apart from what is learned from it."""

    episode_return: float
    length: int  # agent steps


class GameNumber(NamedTuple):
    """Decides a game: together with the weights that play it, nothing else does."""

    seed: int  # the trial's
    iteration: int
    game: int  # within the iteration

    def generators(self) -> tuple[np.random.Generator, np.random.Generator]:
        """Independent generators for the environment and for the choice of actions."""
        return generators(self.seed, self.iteration, self.game)

    def __str__(self) -> str:
        return f"game {self.game} of iteration {self.iteration} (seed {self.seed})"


def generators(seed: int, *key: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Independent generators for the environment and for the choice of actions, of a trial's seed and a spawn key."""
    environment, actions = np.random.SeedSequence(seed, spawn_key=key).spawn(2)
    return np.random.default_rng(environment), np.random.default_rng(actions)


def rollout(env: Environment, choose: Callable[[Any], int], rng: np.random.Generator) -> Trajectory:
    """Play one game: ``choose`` maps an observation to an action, ``rng`` is the environment's randomness."""
    return play_on(env, choose, env.reset(rng))[0]


def play_on(
    env: Environment, choose: Callable[[Any], int], observation: Any, max_steps: int = 2**62
) -> tuple[Trajectory, bool]:
    """Play a game on from an observation to its end, or for ``max_steps``: its steps, and whether it is over."""
    observations, actions, rewards = [], [], []
    terminated = truncated = False
    for _ in range(max_steps):
        action = choose(observation)
        observations.append(observation)
        actions.append(action)
        observation, reward, terminated, truncated = env.step(action)
        rewards.append(reward)
        if terminated or truncated:
            break
    trajectory = Trajectory(
        obs_nd=env.stack(observations),
        action_n=np.array(actions, np.int8),
        reward_n=np.array(rewards, np.float32),
        truncated=not terminated,
        last_obs=observation,
    )
    return trajectory, terminated or truncated
