"""What each learner plays on: Pong as pixels, Pong as memory, and Gymnasium's own environments."""

from collections.abc import Iterator
from typing import Any

import ale_py
import numpy as np
from scipy import sparse

from trainables.learning.kernels import CLIP, SparseRow
from trainables.sampling.console import DOWN, UP, PongConsole, registered
from trainables.sampling.frames import (
    BINARY,
    BOTTOM,
    HEIGHT,
    NUM_PIXELS,
    TOP,
    WIDTH,
    changed_pixels,
    present_pixels,
    stack_rows,
)
from trainables.sampling.rollout import BoxEnvironment, Suspended

Array = np.ndarray

JOYSTICK = {"stay": ale_py.Action.NOOP.value, "up": UP, "down": DOWN}
"""Moves as ALE codes."""

ROOM = 1 << 17
"""Pixels in an array that rows share, one after the other: those of some thousand steps. Two small arrays of its own
for each would cost more than finding the pixels, and two views half as much."""

NUM_BYTES = 128
"""The console's memory."""

BALL_X, BALL_Y, PADDLE_Y = 49, 54, 51
"""Addresses of the ball's column and row and of our paddle's row, which grow to the right and downwards."""

BINS = 32
"""Bins of each position: one every 8 columns or rows."""

NUM_POSITIONS = 4
"""The three positions, and the rows from our paddle to the ball: 0 to 255 stands for -64 to 64 of these."""


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
    """Pong seen as difference frames: which pixels of the binary frame changed since the last step, by -1 or 1.

    Action 1 moves up, action 0 down, as in Karpathy 2016.
    """

    MOVES: tuple[str, ...] = ("down", "up")
    num_pixels = NUM_PIXELS

    def __init__(self, env_id: str = "ALE/Pong-v5") -> None:
        super().__init__(env_id)
        self._screen = np.zeros((210, 160), np.uint8)
        self._words = self._screen.view(np.uint64)
        self._before = np.zeros((HEIGHT, 20), np.uint64)  # the last screen's kept rows
        self._columns, self._values, self._end = np.empty(0, np.int32), np.empty(0, np.float32), 0

    def _first(self) -> SparseRow:
        words = self.console.start_screen.view(np.uint64)
        self._before[:] = words[TOP:BOTTOM:2]  # as if it had not changed
        return self._row(words)

    def _observe(self) -> SparseRow:
        self.console.ale.getScreen(self._screen)
        return self._row(self._words)

    def _row(self, words: Array) -> SparseRow:
        start = self._end
        if start + self.num_pixels > len(self._columns):  # the last arrays live on in the rows that look into them
            self._columns, self._values, start = np.empty(ROOM, np.int32), np.empty(ROOM, np.float32), 0
        self._end = end = self._look(words, start)
        return self._columns, self._values, start, end

    def _look(self, words: Array, start: int) -> int:
        """Fill in from ``start`` on what is seen of a screen, put it in the place of the last one; return the end."""
        return changed_pixels(words, self._before, BINARY, self._columns, self._values, start)

    def suspend(self, observation: SparseRow) -> Suspended:
        columns, values, start, stop = observation
        seen = columns[start:stop].tobytes(), values[start:stop].tobytes()
        return Suspended(bytes(self.console.played), (self.console.suspend(), self._before.tobytes(), *seen))

    def resume(self, game: Suspended, rng: np.random.Generator) -> SparseRow:
        state, before, columns, values = game.state
        self.console.resume(state, game.played, rng)
        self._before[:] = np.frombuffer(before, np.uint64).reshape(self._before.shape)
        return np.frombuffer(columns, np.int32), np.frombuffer(values, np.float32), 0, len(values) // 4

    def stack(self, observations: list[SparseRow]) -> sparse.csr_matrix:
        """Frames as a sparse matrix (n, pixels)."""
        return stack_rows(observations, self.num_pixels)

    def picture(self, x_1d: sparse.csr_matrix) -> Array:
        """The frame (80, 80); of several frames, their mean."""
        return x_1d.toarray().reshape(-1, HEIGHT, WIDTH).mean(axis=0)


class DoublePixels(PongPixels):
    """Pong with the three moves that differ, seen so that what stands still can be seen: PPO's Pong.

    With Karpathy's two moves a paddle never rests. A good policy then loses its points in long slow rallies, in which
    it cannot hold its paddle where the ball will come. A paddle that rests is invisible in the difference of two
    frames, so the present frame stands beside it: pixels 6,400 to 12,799.
    """

    MOVES = ("stay", "up", "down")
    num_pixels = 2 * NUM_PIXELS

    def _look(self, words: Array, start: int) -> int:
        end = super()._look(words, start)
        return present_pixels(self._before, BINARY, self._columns, self._values, end)


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


def flat_environment(env_id: str, coarse_coding: bool = False) -> PongRAM | BoxEnvironment:
    """The environment of ``env_id`` with flat observations: memory for ALE's Pong, else the environment's own.

    Raises ValueError, in one line, if there is none.
    """
    pong = registered(env_id).kwargs.get("game") == "pong"
    return PongRAM(env_id, coarse_coding) if pong else BoxEnvironment(env_id)
