"""Workers of the pixel learner: one sends back its games' gradient, the other the games themselves."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from trainables.learning.policies import BernoulliPolicy, PixelCategoricalPolicy, RowGradient
from trainables.learning.returns import discounted_returns, standardise
from trainables.learning.sparse_logits import SparseRow
from trainables.sampling.environments import DoublePixels, PongPixels
from trainables.sampling.frames import HEIGHT, NUM_PIXELS, WIDTH, DoubleFrames, stack_rows
from trainables.sampling.rollout import GameNumber, Trajectory, rollout
from trainables.sampling.worker import GameSummary


class PixelWorker:
    """Plays Pong from pixels. What it sees, how it plays and what it makes of its games, its subclasses say."""

    env: PongPixels
    policy: BernoulliPolicy | PixelCategoricalPolicy

    def play(self, weights: np.ndarray, number: GameNumber) -> tuple[Trajectory, float]:
        """The numbered game, played by the policy of these weights, and the seconds that it took."""
        start = time.perf_counter()
        env_rng, action_rng = number.generators()
        game = rollout(self.env, self.sampler(weights, action_rng), env_rng)
        return game, time.perf_counter() - start

    def sampler(self, weights: np.ndarray, rng: np.random.Generator) -> Callable[[SparseRow], int]:
        return self.policy.sampler(weights, rng)

    def probabilities(self, weights: np.ndarray) -> Callable[[SparseRow], np.ndarray]:
        return lambda row: self.policy.probabilities(weights, self.env.stack([row]))[0]

    def view(self, weights: np.ndarray) -> Callable[[SparseRow], np.ndarray]:
        return lambda row: self.env.stack([row]).toarray().reshape(-1, HEIGHT, WIDTH).mean(axis=0)


class BlockGradient(NamedTuple):
    """What REINFORCE needs of a block of games: their gradient, never their frames."""

    gradient: RowGradient  # of all its games
    summaries: list[GameSummary]
    entropies: list[float]  # of the policy, each game's mean, nats

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return self.gradient.nbytes


class GradientWorker(PixelWorker):
    """Returns the REINFORCE gradient of its games."""

    def __init__(self, env_id: str, hidden_size: int, gamma: float) -> None:
        self.env, self.gamma = PongPixels(env_id), gamma
        self.policy: BernoulliPolicy = BernoulliPolicy(NUM_PIXELS, hidden_size)

    def play_block(self, weights: np.ndarray, block: Sequence[GameNumber]) -> BlockGradient:
        """The gradient of sum_t A[t] log p(a[t] | x[t]) over the games, A each game's standardised returns (document
        002).

        It is summed where it arises: games light much the same pixels, so a sum is far smaller than its parts.
        """
        games, seconds = zip(*(self.play(weights, number) for number in block), strict=True)
        start = time.perf_counter()
        gradient, entropy_n = self.policy.sparse_score_gradient(
            weights,
            games[0].obs_nd if len(games) == 1 else sparse.vstack([game.obs_nd for game in games], format="csr"),
            np.concatenate([game.action_n for game in games]),
            np.concatenate([standardise(discounted_returns(game.reward_n, self.gamma)) for game in games]),
        )
        learning_s = (time.perf_counter() - start) / len(entropy_n)  # per step
        ends = np.cumsum([len(game.action_n) for game in games])
        summaries = [
            GameSummary(game.episode_return, len(game.action_n), s + learning_s * len(game.action_n))
            for game, s in zip(games, seconds, strict=True)
        ]
        entropies = [float(entropy_t.mean()) for entropy_t in np.split(entropy_n, ends[:-1])]
        return BlockGradient(gradient, summaries, entropies)


class PackedGame(NamedTuple):
    """A game of n steps, as small as it can travel: about 180 bytes a step."""

    columns: np.ndarray  # int16, the lit pixels of n + 1 frames, one frame after the other
    values: np.ndarray  # int8, 1 or -1 each
    starts: np.ndarray  # int32 (n + 2,), where in them each frame begins
    action_n: np.ndarray  # int8
    reward_n: np.ndarray  # int8
    truncated: bool  # cut off by a limit: then the last frame is worth something
    seconds: float  # wall-clock time that the worker spent on it

    @classmethod
    def of(cls, game: Trajectory, seconds: float) -> "PackedGame":
        """Pack a game; its last frame, which no action followed, comes along."""
        x_nd = sparse.vstack([game.obs_nd, stack_rows([game.last_obs], DoubleFrames.num_pixels)], format="csr")
        return cls(
            x_nd.indices.astype(np.int16),
            x_nd.data.astype(np.int8),
            x_nd.indptr.astype(np.int32),
            game.action_n,
            game.reward_n.astype(np.int8),
            game.truncated,
            seconds,
        )

    @property
    def frames(self) -> sparse.csr_matrix:
        """Its double frames (n + 1, 12800), float32."""
        parts = self.values.astype(np.float32), self.columns.astype(np.int32), self.starts
        return sparse.csr_matrix(parts, (len(self.starts) - 1, DoubleFrames.num_pixels))

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return sum(array.nbytes for array in self[:5])


class PackedBlock(NamedTuple):
    """What PPO needs of a block of games."""

    games: list[PackedGame]

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return sum(game.nbytes for game in self.games)


class FrameWorker(PixelWorker):
    """Plays with what PPO takes of the console, and returns its games, frame by frame."""

    def __init__(self, env_id: str, hidden_size: int) -> None:
        self.env = DoublePixels(env_id)
        self.policy = PixelCategoricalPolicy(DoubleFrames.num_pixels, hidden_size, len(DoublePixels.MOVES))

    def play_block(self, weights: np.ndarray, block: Sequence[GameNumber]) -> PackedBlock:
        """The numbered games."""
        return PackedBlock([PackedGame.of(*self.play(weights, number)) for number in block])
