"""Pong as an environment, and what is seen of its screen: REINFORCE's and PPO's pixels."""

from collections.abc import Iterator
from typing import Any, ClassVar

import ale_py
import numpy as np
from scipy import sparse

from trainables.learning.kernels import SparseRow
from trainables.sampling.console import DOWN, UP, PongConsole
from trainables.sampling.frames import (
    BINARY,
    BOTTOM,
    HEIGHT,
    NUM_PIXELS,
    TOP,
    WIDTH,
    changed_pixels,
    preprocess,
    present_pixels,
    stack_rows,
)
from trainables.sampling.rollout import Suspended

Array = np.ndarray

JOYSTICK = {"stay": ale_py.Action.NOOP.value, "up": UP, "down": DOWN}
"""Moves as ALE codes."""

GYMNASIUM_ACTION = {"stay": 0, "up": 2, "down": 3}
"""Moves as Gymnasium numbers them in ``ALE/Pong-v5`` and its other Pongs, which have six actions."""

LIT, UNLIT = 1, 34
"""Palette indices of a pixel whose binary value is 1, and of the court."""

ROOM = 1 << 17
"""Pixels in an array that rows share, one after the other: those of some thousand steps. Two small arrays of its own
for each would cost more than finding the pixels, and two views half as much."""


class Pong:
    """A console, its joystick, and games that can be taken out of it and go on in another one.

    What is seen of it is for the classes below: ``_first`` when a game begins, ``_observe`` after a step; ``picture``
    makes of what a network sees of it a picture (rows, columns) of numbers in [-1, 1].
    """

    MOVES: tuple[str, ...] = ("stay", "up", "down")
    gymnasium_options: ClassVar[dict[str, str]] = {"obs_type": "rgb"}  # with them gymnasium.make shows what is seen
    gymnasium_shape: tuple[int, ...] = (210, 160, 3)

    def __init__(self, env_id: str = "ALE/Pong-v5") -> None:
        self.console = PongConsole(env_id)
        self._joystick = [JOYSTICK[move] for move in self.MOVES]
        self.gymnasium_actions = [GYMNASIUM_ACTION[move] for move in self.MOVES]

    @property
    def strokes(self) -> int:
        """Returns of the ball by our paddle so far, in all games."""
        return self.console.strokes

    def see(self, observation: Array, first: bool) -> Any:
        """What a policy sees of Gymnasium's observation (``gymnasium_shape``), the ``first`` of a game or the next."""
        raise NotImplementedError

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

    def see(self, observation: Array, first: bool) -> SparseRow:
        self._screen[TOP:BOTTOM:2, ::2] = np.where(preprocess(observation).reshape(HEIGHT, WIDTH), LIT, UNLIT)
        if first:
            self._before[:] = self._words[TOP:BOTTOM:2]
        return self._row(self._words)

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
