"""A rollout worker: an ordinary class that plays numbered games. ``pool.py`` makes actors of it."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import expit, softmax

from trainables.learning.distributions import Categorical
from trainables.learning.policies import BernoulliPolicy, CategoricalPolicy, RowGradient
from trainables.learning.returns import discounted_returns, standardise
from trainables.learning.running_stats import CLIP, Filter, Moments
from trainables.sampling.environments import PongPixels, flat_environment
from trainables.sampling.frames import HEIGHT, NUM_PIXELS, WIDTH, SparseRow, stack_rows
from trainables.sampling.rollout import Environment, GameNumber, Trajectory, rollout


class Worker(Protocol):
    """What a pool needs of a worker."""

    @property
    def env(self) -> Environment:
        """What it plays on."""
        ...

    def play_block(self, weights: Any, block: Sequence[GameNumber]) -> Any:
        """Play the numbered games, one after the other, with a policy of these weights.

        What is returned has ``nbytes``, the bytes that travel.
        """
        ...

    # The rest is for measuring and filming, outside of training.

    def sampler(self, weights: Any, rng: np.random.Generator) -> Callable[[Any], int]:
        """A function that draws an action for an observation, as in training."""
        ...

    def probabilities(self, weights: Any) -> Callable[[Any], np.ndarray]:
        """A function that gives each action's probability (k,) at an observation."""
        ...

    def view(self, weights: Any) -> Callable[[Any], np.ndarray]:
        """A function that shows what the network sees of an observation, as a picture of numbers in [-1, 1]."""
        ...


class GameSummary(NamedTuple):
    """What is worth knowing of a game, apart from what is learned from it."""

    episode_return: float
    length: int  # agent steps
    entropy: float  # of the policy, mean over the game, nats
    seconds: float  # wall-clock time that the worker spent on the game


class GameGradient(NamedTuple):
    """What the pixel learner needs of a game: its gradient, never its frames."""

    gradient: RowGradient
    summary: GameSummary


class BlockGradient(NamedTuple):
    """What a block of the pixel learner's games sends back."""

    gradient: RowGradient  # of all its games, summed in their order
    summaries: list[GameSummary]

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return self.gradient.nbytes


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

    def play_block(self, weights: np.ndarray, block: Sequence[GameNumber]) -> BlockGradient:
        """The games' gradients, summed where they arise: games light much the same pixels, so a sum is far smaller."""
        games = [self.play(weights, number) for number in block]
        return BlockGradient(
            self.policy.sum_row_gradients([game.gradient for game in games]), [game.summary for game in games]
        )

    def sampler(self, weights: np.ndarray, rng: np.random.Generator) -> Callable[[SparseRow], int]:
        return self.policy.sampler(weights, rng)

    def probabilities(self, weights: np.ndarray) -> Callable[[SparseRow], np.ndarray]:
        def probabilities(row: SparseRow) -> np.ndarray:
            up = expit(self.policy.mlp.forward(weights, stack_rows([row]))[0][0, 0])
            return np.array([1 - up, up])

        return probabilities

    def view(self, weights: np.ndarray) -> Callable[[SparseRow], np.ndarray]:
        return lambda row: stack_rows([row]).toarray().reshape(HEIGHT, WIDTH)


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

    def __init__(self, env_id: str, hidden_sizes: tuple[int, ...]) -> None:
        self.env = flat_environment(env_id)
        self.policy = CategoricalPolicy(self.env.num_inputs, hidden_sizes, self.env.num_actions)

    def play(self, weights: FilteredWeights, number: GameNumber) -> FilteredGame:
        """The numbered game, played by the policy of these weights."""
        start = time.perf_counter()
        env_rng, action_rng = number.generators()
        game = rollout(self.env, self.sampler(weights, action_rng), env_rng)
        logit_nk, _ = self.policy.mlp.forward(weights.theta_p, weights.filter(game.obs_nd))
        entropy = float(Categorical.entropy(logit_nk).mean())
        moments = Moments.of(game.obs_nd)
        seconds = time.perf_counter() - start
        return FilteredGame(game, moments, GameSummary(game.episode_return, len(game.action_n), entropy, seconds))

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
        """The filtered observation: for Pong's memory 8 rows of 16 bytes; 1 is 2.5 standard deviations or more."""
        return lambda obs_d: (weights.filter(obs_d[None]).reshape(-1, min(len(obs_d), 16)) * 2 / CLIP).clip(-1, 1)
