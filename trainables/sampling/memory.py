"""What TRPO plays on: Pong seen as the console's memory, or any Gymnasium environment with flat observations."""

from typing import ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from trainables.learning.kernels import CLIP
from trainables.sampling.console import registered
from trainables.sampling.environments import Pong

Array = np.ndarray

MAX_ACTIONS = 127
"""Actions of a game are stored as int8."""

NUM_BYTES = 128
"""The console's memory."""

BALL_X, BALL_Y, PADDLE_Y = 49, 54, 51
"""Addresses of the ball's column and row and of our paddle's row, which grow to the right and downwards."""

BINS = 32
"""Bins of each position: one every 8 columns or rows."""

NUM_POSITIONS = 4
"""The three positions, and the rows from our paddle to the ball: 0 to 255 stands for -64 to 64 of these."""


class PongRAM(Pong):
    """Pong seen as the console's 128 bytes of memory, with the three moves that differ: stay, up, down.

    Gymnasium offers six actions, and modular_rl's agent had them. In Pong the fire button only serves, and the console
    serves by itself, so each move would be there twice; a policy explores better without twins to tell apart.

    The four bytes in ``SIGNED`` arrive in offset binary, 128 for zero: as the console has them, -1 is 255, as far from
    0 as can be, and a filter of means and deviations makes noise of the ball's velocity.

    With ``coarse_coding`` the positions of ball and paddle follow, spread over bins (``coarse_positions``).
    """

    num_actions = 3
    gymnasium_options: ClassVar[dict[str, str]] = {"obs_type": "ram"}
    gymnasium_shape = (NUM_BYTES,)
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
        return self.see(self.console.ale.getRAM(), first=False)

    def see(self, observation: Array, first: bool) -> Array:
        memory = observation ^ self._sign_bits
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

    gymnasium_options: ClassVar[dict[str, str]] = {}
    strokes = 0  # which only Pong has

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
        self.gymnasium_shape = observations.shape
        self.num_inputs = observations.shape[0]
        self.num_actions = int(actions.n)
        self.gymnasium_actions = [*range(self.num_actions)]

    def see(self, observation: Array, first: bool) -> Array:
        """What a policy sees of an observation."""
        return np.array(observation, np.float32)

    def reset(self, rng: np.random.Generator) -> Array:
        """Start a game whose own generator is seeded from ``rng``."""
        observation, _ = self.env.reset(seed=int(rng.integers(2**31)))
        return self.see(observation, first=True)

    def step(self, action: int) -> tuple[Array, float, bool, bool]:
        """One step of the environment."""
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return self.see(observation, first=False), float(reward), terminated, truncated

    def stack(self, observations: list[Array]) -> Array:
        """Observations as one matrix (n, d), float32."""
        return np.stack(observations)


def flat_environment(env_id: str, coarse_coding: bool = False) -> PongRAM | BoxEnvironment:
    """The environment of ``env_id`` with flat observations: memory for ALE's Pong, else the environment's own.

    Raises ValueError, in one line, if there is none, or if ``coarse_coding`` is asked for where no Pong is played.
    """
    pong = registered(env_id).kwargs.get("game") == "pong"
    if coarse_coding and not pong:
        raise ValueError(f"coarse_coding=True: for Pong only; for {env_id} set it to False")
    return PongRAM(env_id, coarse_coding) if pong else BoxEnvironment(env_id)
