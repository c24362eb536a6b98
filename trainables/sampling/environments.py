"""What each learner plays on: Pong as pixels, Pong as memory, and Gymnasium's own environments."""

from collections.abc import Iterator
from typing import Any

import ale_py
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from scipy import sparse

from trainables.learning.kernels import CLIP, SparseRow
from trainables.sampling.console import DOWN, UP, PongConsole, registered
from trainables.sampling.frames import HEIGHT, WIDTH, DifferenceFrames, DoubleFrames, stack_rows
from trainables.sampling.rollout import Suspended

Array = np.ndarray

JOYSTICK = {"stay": ale_py.Action.NOOP.value, "up": UP, "down": DOWN}
"""Moves as ALE codes."""

NUM_BYTES = 128
"""The console's memory."""

BALL_X, BALL_Y, PADDLE_Y = 49, 54, 51
"""Addresses of the ball's column and row and of our paddle's row, which grow to the right and downwards."""

BINS = 32
"""Bins of each position: one every 8 columns or rows."""

NUM_POSITIONS = 4
"""The three positions, and the rows from our paddle to the ball: 0 to 255 stands for -64 to 64 of these."""

MAX_ACTIONS = 127
"""Actions of a game are stored as int8."""


class Pong:
    """A console, its joystick, and games that can be taken out of it and go on in another one.

    What is seen of it is for the classes below: ``_first`` when a game begins, ``_observe`` after a step; ``picture``
    makes of what a network sees of it a picture (rows, columns) of numbers in [-1, 1].
    """

    MOVES: tuple[str, ...] = ("stay", "up", "down")

    def __init__(self, env_id: str = "ALE/Pong-v5") -> None:
        self.console = PongConsole(env_id)
        self._joystick = [JOYSTICK[move] for move in self.MOVES]

    def _first(self) -> Any:
        return self._observe()

    def _observe(self) -> Any:
        raise NotImplementedError

    def stack(self, observations: list) -> Any:
        """Observations as one matrix (n, d)."""
        raise NotImplementedError

    def reset(self, rng: np.random.Generator) -> Any:
        """Start a game; return what is seen of it."""
        self.console.reset(rng)
        return self._first()

    def step(self, action: int) -> tuple[Any, float, bool, bool]:
        """Make a move, by its number in ``MOVES``, for one agent step."""
        console = self.console
        reward = console.step(self._joystick[action])
        return self._observe(), reward, console.terminated, console.truncated

    def suspend(self, observation: Any) -> Suspended:
        """The game as it stands, ``observation`` being its latest."""
        return Suspended(bytes(self.console.played), (self.console.suspend(),))

    def resume(self, game: Suspended, rng: np.random.Generator) -> Any:
        """Go on with a game whose ``state`` is at hand; return its latest observation."""
        self.console.resume(game.state[0], game.played, rng)
        return self._observe()

    def replay(self, played: bytes, rng: np.random.Generator) -> Iterator[tuple[Any, float]]:
        """Play a game again up to where it was suspended, and go on: what is seen after each step, and its reward.

        Raises ValueError if there is no such game.
        """
        self._first()
        for reward in self.console.replay(played, rng):
            yield self._observe(), reward


class PongPixels(Pong):
    """Pong seen as difference frames; action 1 moves up, action 0 down, as in Karpathy 2016."""

    MOVES: tuple[str, ...] = ("down", "up")
    FRAMES = DifferenceFrames

    def __init__(self, env_id: str = "ALE/Pong-v5") -> None:
        super().__init__(env_id)
        self._frames = self.FRAMES(self.console.ale)

    def _first(self) -> SparseRow:
        return self._frames.reset(self.console.start_screen)

    def _observe(self) -> SparseRow:
        return self._frames.observe()

    def suspend(self, observation: SparseRow) -> Suspended:
        columns, values, start, stop = observation
        seen = columns[start:stop].tobytes(), values[start:stop].tobytes()
        return Suspended(bytes(self.console.played), (self.console.suspend(), self._frames.suspend(), *seen))

    def resume(self, game: Suspended, rng: np.random.Generator) -> SparseRow:
        state, before, columns, values = game.state
        self.console.resume(state, game.played, rng)
        self._frames.resume(before)
        return np.frombuffer(columns, np.int32), np.frombuffer(values, np.float32), 0, len(values) // 4

    def stack(self, observations: list[SparseRow]) -> sparse.csr_matrix:
        """Frames as a sparse matrix (n, pixels)."""
        return stack_rows(observations, self.FRAMES.num_pixels)

    def picture(self, x_1d: sparse.csr_matrix) -> Array:
        """The frame (80, 80); of several frames, their mean."""
        return x_1d.toarray().reshape(-1, HEIGHT, WIDTH).mean(axis=0)


class DoublePixels(PongPixels):
    """Pong with the three moves that differ, seen so that what stands still can be seen: PPO's Pong.

    With Karpathy's two moves a paddle never rests. A good policy then loses its points in long slow rallies, in which
    it cannot hold its paddle where the ball will come. A paddle that rests is invisible in the difference of two
    frames, so the present frame stands beside it.
    """

    MOVES = ("stay", "up", "down")
    FRAMES = DoubleFrames


class PongRAM(Pong):
    """Pong seen as the console's 128 bytes of memory, with the three moves that differ: stay, up, down.

    Gymnasium offers six actions, and modular_rl's agent had them. In Pong the fire button only serves, and the console
    serves by itself, so each move would be there twice; a policy explores better without twins to tell apart.

    The four bytes in ``SIGNED`` arrive in offset binary, 128 for zero: as the console has them, -1 is 255, as far from
    0 as can be, and a filter of means and deviations makes noise of the ball's velocity.

    With ``coarse_coding`` the positions of ball and paddle follow, spread over bins (``coarse_positions``).
    """

    num_actions = 3
    SIGNED = (18, 19, 56, 58)
    """Addresses of numbers in two's complement; 56 and 58 are the ball's velocity (up or down, and across)."""

    def __init__(self, env_id: str = "ALE/Pong-v5", coarse_coding: bool = False) -> None:
        super().__init__(env_id)
        self._coarse_coding = coarse_coding
        self.num_inputs = NUM_BYTES + (NUM_POSITIONS * BINS if coarse_coding else 0)
        self._sign_bits = np.zeros(NUM_BYTES, np.uint8)
        self._sign_bits[[*self.SIGNED]] = 128

    def _observe(self) -> Array:
        """The memory, uint8 (num_inputs,)."""
        memory = self.console.ale.getRAM()
        memory ^= self._sign_bits
        return np.concatenate([memory, coarse_positions(memory)]) if self._coarse_coding else memory

    def stack(self, observations: list[Array]) -> Array:
        """Memories as one matrix (n, num_inputs), uint8."""
        return np.stack(observations)

    def picture(self, x_1d: Array) -> Array:
        """The filtered inputs in rows of 16; 1 is 2.5 standard deviations or more."""
        return (x_1d.reshape(-1, 16) * 2 / CLIP).clip(-1, 1)


def _tents() -> Array:
    """What each bin makes of each byte, uint8 (256, BINS): 255 at its centre, 0 from the next bin's centre on."""
    bins_from_centre = np.arange(256)[:, None] / 255 * (BINS - 1) - np.arange(BINS)
    return np.rint(255 * np.clip(1 - np.abs(bins_from_centre), 0, 1)).astype(np.uint8)


TENTS = _tents()


def coarse_positions(memory: Array) -> Array:
    """The bins of all positions, uint8 (NUM_POSITIONS * BINS,), of a console's memory, uint8 (128,): coarse coding.

    Whether the paddle stands a few rows too high is a small difference of two inputs, which a network of 64 tanh units
    learns slowly to tell from the next one. Spread over bins, every position has a weight of its own (Sutton and Barto
    2018, section 9.5.3). The bins overlap and add up to one, so that a weighted sum of them is a piecewise linear
    function of the position, with a knot at every bin.
    """
    x, y, paddle = memory.item(BALL_X), memory.item(BALL_Y), memory.item(PADDLE_Y)
    rows_apart = min(max(2 * (y - paddle) + 128, 0), 255)
    return TENTS.take((x, y, paddle, rows_apart), axis=0).ravel()


class BoxEnvironment:
    """Any Gymnasium environment with a flat Box observation and Discrete actions, such as CartPole-v1."""

    def __init__(self, env_id: str) -> None:
        """Raises ValueError, in one line, if the environment is unknown or of another form."""
        spec = registered(env_id)
        try:
            self.env = gymnasium.make(spec)
        except Exception as error:  # whatever an environment stumbles over that lacks a library, or an argument
            reason = next(iter(str(error).splitlines()), "")
            raise ValueError(f"env_id {env_id!r} cannot be made ({type(error).__name__}: {reason})") from None
        observations, actions = self.env.observation_space, self.env.action_space
        if not (isinstance(observations, Box) and len(observations.shape) == 1):
            raise ValueError(
                f"env_id {env_id!r}: observations are {observations}; accepted is a flat Box, or ALE's Pong"
            )
        if not (isinstance(actions, Discrete) and actions.start == 0 and actions.n <= MAX_ACTIONS):
            raise ValueError(f"env_id {env_id!r}: actions are {actions}; accepted is Discrete(n), n <= {MAX_ACTIONS}")
        self.num_inputs = observations.shape[0]
        self.num_actions = int(actions.n)

    def reset(self, rng: np.random.Generator) -> Array:
        """Start a game whose own generator is seeded from ``rng``."""
        observation, _ = self.env.reset(seed=int(rng.integers(2**31)))
        return np.array(observation, np.float32)

    def step(self, action: int) -> tuple[Array, float, bool, bool]:
        """One step of the environment."""
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return np.array(observation, np.float32), float(reward), terminated, truncated

    def stack(self, observations: list[Array]) -> Array:
        """Observations as one matrix (n, d), float32."""
        return np.stack(observations)


def flat_environment(env_id: str, coarse_coding: bool = False) -> PongRAM | BoxEnvironment:
    """The environment of ``env_id`` with flat observations: memory for ALE's Pong, else the environment's own.

    Raises ValueError, in one line, if there is none.
    """
    pong = registered(env_id).kwargs.get("game") == "pong"
    return PongRAM(env_id, coarse_coding) if pong else BoxEnvironment(env_id)
