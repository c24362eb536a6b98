"""Environments in the form that ``rollout`` plays: what is observed, and what an action number means."""

from collections.abc import Iterator

import ale_py
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from scipy import sparse

from trainables.learning.kernels.step import CLIP, SparseRow
from trainables.sampling.coarse_coding import BINS, NUM_POSITIONS, coarse_positions
from trainables.sampling.console import DOWN, UP, PongConsole, registered
from trainables.sampling.frames import HEIGHT, WIDTH, DifferenceFrames, DoubleFrames, stack_rows
from trainables.sampling.rollout import Suspended

JOYSTICK = {"stay": ale_py.Action.NOOP.value, "up": UP, "down": DOWN}
"""Moves as ALE codes."""

NUM_BYTES = 128
"""The console's memory."""

MAX_ACTIONS = 127
"""Actions of a game are stored as int8."""


class PongPixels:
    """Pong seen as difference frames; action 1 moves up, action 0 down, as in Karpathy 2016."""

    MOVES: tuple[str, ...] = ("down", "up")
    FRAMES = DifferenceFrames

    def __init__(self, env_id: str = "ALE/Pong-v5") -> None:
        self.console = PongConsole(env_id)
        self._frames = self.FRAMES(self.console.ale)
        self._joystick = [JOYSTICK[move] for move in self.MOVES]

    def reset(self, rng: np.random.Generator) -> SparseRow:
        """Start a game."""
        self.console.reset(rng)
        return self._frames.reset(self.console.start_screen)

    def step(self, action: int) -> tuple[SparseRow, float, bool, bool]:
        """Make a move for one agent step."""
        console = self.console
        reward = console.step(self._joystick[action])
        return self._frames.observe(), reward, console.terminated, console.truncated

    def suspend(self, observation: SparseRow) -> Suspended:
        """The game as it stands, with what is seen of it."""
        columns, values, start, stop = observation
        seen = columns[start:stop].tobytes(), values[start:stop].tobytes()
        return Suspended(bytes(self.console.played), (self.console.suspend(), self._frames.suspend(), *seen))

    def resume(self, game: Suspended, rng: np.random.Generator) -> SparseRow:
        """Go on with a suspended game; return what is seen of it."""
        state, before, columns, values = game.state
        self.console.resume(state, game.played, rng)
        self._frames.resume(before)
        return np.frombuffer(columns, np.int32), np.frombuffer(values, np.float32), 0, len(values) // 4

    def replay(self, played: bytes, rng: np.random.Generator) -> tuple[SparseRow, list[float]]:
        """Play a game again up to where it was suspended: what is seen of it, and each step's reward."""
        rewards: list[float] = []
        observation = self._frames.reset(self.console.start_screen)
        steps = len(played) // self.console.frame_skip
        for reward in self.console.replay(played, rng):
            rewards.append(reward)
            if len(rewards) >= steps - 1:  # the last picture is compared with the one before
                observation = self._frames.observe()
        return observation, rewards

    def replay_steps(self, played: bytes, rng: np.random.Generator) -> Iterator[tuple[SparseRow, float]]:
        """As ``replay``, step by step: what is seen after it, and its reward."""
        self._frames.reset(self.console.start_screen)
        for reward in self.console.replay(played, rng):
            yield self._frames.observe(), reward

    def stack(self, observations: list[SparseRow]) -> sparse.csr_matrix:
        """Frames as a sparse matrix (n, pixels)."""
        return stack_rows(observations, self.FRAMES.num_pixels)

    def picture(self, x_1d: sparse.csr_matrix) -> np.ndarray:
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


class PongRAM:
    """Pong seen as the console's 128 bytes of memory, with the three moves that differ: stay, up, down.

    Gymnasium offers six actions, and modular_rl's agent had them. In Pong the fire button only serves, and the console
    serves by itself, so each move would be there twice; a policy explores better without twins to tell apart.

    The four bytes in ``SIGNED`` arrive in offset binary, 128 for zero: as the console has them, -1 is 255, as far from
    0 as can be, and a filter of means and deviations makes noise of the ball's velocity.

    With ``coarse_coding`` the positions of ball and paddle follow, spread over bins (``sampling/coarse_coding.py``).
    """

    num_actions = 3
    SIGNED = (18, 19, 56, 58)
    """Addresses of numbers in two's complement; 56 and 58 are the ball's velocity (up or down, and across)."""
    MOVES = ("stay", "up", "down")

    def __init__(self, env_id: str = "ALE/Pong-v5", coarse_coding: bool = False) -> None:
        self.console, self._coarse_coding = PongConsole(env_id), coarse_coding
        self.num_inputs = NUM_BYTES + coarse_coding * NUM_POSITIONS * BINS
        self._sign_bits = np.zeros(NUM_BYTES, np.uint8)
        self._sign_bits[[*self.SIGNED]] = 128
        self._joystick = [JOYSTICK[move] for move in self.MOVES]

    def reset(self, rng: np.random.Generator) -> np.ndarray:
        """Start a game; return its memory, uint8 (num_inputs,)."""
        self.console.reset(rng)
        return self._observe()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool]:
        """Stay (0) or move up (1) or down (2) for one agent step."""
        console = self.console
        reward = console.step(self._joystick[action])
        return self._observe(), reward, console.terminated, console.truncated

    def suspend(self, observation: np.ndarray) -> Suspended:
        """The game as it stands; its memory is part of it."""
        return Suspended(bytes(self.console.played), (self.console.suspend(),))

    def resume(self, game: Suspended, rng: np.random.Generator) -> np.ndarray:
        """Go on with a suspended game; return its memory."""
        (state,) = game.state
        self.console.resume(state, game.played, rng)
        return self._observe()

    def replay(self, played: bytes, rng: np.random.Generator) -> tuple[np.ndarray, list[float]]:
        """Play a game again up to where it was suspended: its memory, and each step's reward."""
        rewards = [*self.console.replay(played, rng)]
        return self._observe(), rewards

    def replay_steps(self, played: bytes, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, float]]:
        """As ``replay``, step by step: the memory after it, and its reward."""
        for reward in self.console.replay(played, rng):
            yield self._observe(), reward

    def _observe(self) -> np.ndarray:
        memory = self.console.ale.getRAM()
        memory ^= self._sign_bits
        return np.concatenate([memory, coarse_positions(memory)]) if self._coarse_coding else memory

    def stack(self, observations: list[np.ndarray]) -> np.ndarray:
        """Memories as one matrix (n, num_inputs), uint8."""
        return np.stack(observations)

    def picture(self, x_1d: np.ndarray) -> np.ndarray:
        """The filtered inputs in rows of 16; 1 is 2.5 standard deviations or more."""
        return (x_1d.reshape(-1, 16) * 2 / CLIP).clip(-1, 1)


class BoxEnvironment:
    """Any Gymnasium environment with a flat Box observation and Discrete actions, such as CartPole-v1."""

    def __init__(self, env_id: str) -> None:
        """Raises ValueError, in one line, if the environment is unknown or of another form."""
        try:
            self.env = gymnasium.make(registered(env_id))
        except ValueError:
            raise
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

    def reset(self, rng: np.random.Generator) -> np.ndarray:
        """Start a game whose own generator is seeded from ``rng``."""
        observation, _ = self.env.reset(seed=int(rng.integers(2**31)))
        return np.array(observation, np.float32)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool]:
        """One step of the environment."""
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return np.array(observation, np.float32), float(reward), terminated, truncated

    def stack(self, observations: list[np.ndarray]) -> np.ndarray:
        """Observations as one matrix (n, d), float32."""
        return np.stack(observations)

    def picture(self, x_1d: np.ndarray) -> np.ndarray:
        """The filtered inputs in one row; 1 is 2.5 standard deviations or more."""
        return (x_1d * 2 / CLIP).clip(-1, 1)


def flat_environment(env_id: str, coarse_coding: bool = False) -> PongRAM | BoxEnvironment:
    """The environment of ``env_id`` with flat observations: memory for ALE's Pong, else the environment's own.

    Raises ValueError, in one line, if there is none.
    """
    pong = registered(env_id).kwargs.get("game") == "pong"
    return PongRAM(env_id, coarse_coding) if pong else BoxEnvironment(env_id)
