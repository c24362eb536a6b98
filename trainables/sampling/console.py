"""The console: Pong as Gymnasium specifies it, stepped straight on its emulator, with randomness as an argument."""

import difflib
from collections.abc import Iterator

import ale_py
import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

gymnasium.register_envs(ale_py)
ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # no banner from every actor

UP, DOWN = ale_py.Action.RIGHT.value, ale_py.Action.LEFT.value
"""The joystick's two moves, as ALE codes. Gymnasium, and with it the original, numbers them 2 and 3."""


MAX_FRAMES = 108_000
"""Frames after which ALE's environments of Gymnasium cut a game off: half an hour."""

BALL_ACROSS = 58
"""Address of the ball's velocity across the court, in two's complement: negative as it comes towards us."""

PACKED_BYTES = MAX_FRAMES // 4
"""Of a game's frames in a checkpoint, at two bits each."""


class PongConsole:
    """A console with a Pong cartridge: ``reset``, ``step``, and ``ale`` to read screen and RAM from.

    Frame skip, sticky actions (Machado et al. 2018) and the limit of frames a game are those of ``env_id``'s
    Gymnasium specification. Two things are done our way, and change no distribution:

    - A game starts from a snapshot of the freshly started console (0.06 ms). ``env.reset(seed=...)`` reloads the
      cartridge (65 ms) and arrives at the same state whatever the seed.
    - Sticky repeats are drawn here, frame by frame with ALE's rule, from the game's own generator. So a game depends
      on its generator alone, not on the games that this console played before.

    ``played`` holds what the console saw of the present game: an ALE action code for each frame.
    """

    def __init__(self, env_id: str = "ALE/Pong-v5") -> None:
        """Raises ValueError if ``env_id`` is not a Pong of ALE with a fixed frame skip."""
        settings = pong_settings(env_id)
        self.frame_skip: int = settings["frameskip"]
        self.sticky_probability: float = settings["repeat_action_probability"]
        self.env = gymnasium.make(env_id, frameskip=1, repeat_action_probability=0.0)
        self.env.reset(seed=0)
        self.ale = self.env.unwrapped.ale  # type: ignore[attr-defined]
        self.strokes = 0  # returns of the ball by our paddle, in all games
        self._start = self.ale.cloneSystemState()
        self.start_screen: np.ndarray = self.ale.getScreen()  # restoring a state does not redraw the screen
        self._go_on(b"", np.random.default_rng())

    def reset(self, rng: np.random.Generator) -> None:
        """Start a game whose sticky repeats come from ``rng``."""
        self.ale.restoreSystemState(self._start)
        self._go_on(b"", rng)

    def suspend(self) -> bytes:
        """The state of the emulator in the present game: about 14 kB. For ``resume``, and for nothing from a disk."""
        return self.ale.cloneSystemState().serialize()

    def resume(self, state: bytes, played: bytes, rng: np.random.Generator) -> None:
        """Go on with a suspended game of at least one step, whose sticky repeats come from ``rng`` from now on.

        The emulator believes whatever ``state`` says: a foreign one could make it write anywhere.
        """
        self.ale.restoreSystemState(ale_py.ALEState(state))
        self._go_on(played, rng)

    def replay(self, played: bytes, rng: np.random.Generator) -> Iterator[float]:
        """Play a game again up to where it was, and be ready to go on as after ``resume``; yield each step's points.

        Raises ValueError if these frames are not those of a game of whole steps that goes on.
        """
        if not played or len(played) % self.frame_skip:
            raise ValueError(f"{len(played)} frames are no game of steps of {self.frame_skip} frames")
        self.reset(rng)
        for first in range(0, len(played), self.frame_skip):
            yield float(sum(map(self.ale.act, played[first : first + self.frame_skip])))
        if self.ale.game_over():
            raise ValueError(f"a game of {len(played)} frames is over")
        self._go_on(played, rng)

    def _go_on(self, played: bytes, rng: np.random.Generator) -> None:
        self.terminated = self.truncated = False
        self.played = bytearray(played)
        self._repeats = self._draw_repeats(rng)
        self._held = played[-1] if played else 0
        self._ball_comes = self._ball_comes_now()

    def step(self, joystick: int) -> float:
        """Hold ``joystick`` (an ALE action code) for one agent step; return the points scored, from our side.

        Each frame, with the sticky probability, the console still sees the previous frame's action.
        """
        reward, act, held, note = 0, self.ale.act, self._held, self.played.append
        for repeat in next(self._repeats):
            if not repeat:
                held = joystick
            reward += act(held)
            note(held)
        self._held, before, self._ball_comes = held, self._ball_comes, self._ball_comes_now()
        self.strokes += before and not self._ball_comes
        if self.ale.game_over():  # one question a step; only at the end another two
            self.terminated = self.ale.game_over(with_truncation=False)
            self.truncated = self.ale.game_truncated()
        return reward

    def _ball_comes_now(self) -> bool:
        return self.ale.getRAM().item(BALL_ACROSS) > 127

    def _draw_repeats(self, rng: np.random.Generator, block: int = 1024) -> Iterator[list[bool]]:
        while True:
            yield from (rng.random((block, self.frame_skip)) < self.sticky_probability).tolist()


def registered(env_id: str) -> EnvSpec:
    """Gymnasium's specification of an environment. Raises ValueError if its registry has none of this name.

    ``gymnasium.make`` and ``gymnasium.spec`` take more: of ``module:name`` they import the module, whatever it is.
    """
    if spec := gymnasium.registry.get(env_id):
        return spec
    close = difflib.get_close_matches(env_id, gymnasium.registry, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "try 'ALE/Pong-v5'"
    raise ValueError(f"env_id {env_id!r} is unknown to Gymnasium; {hint}")


def pong_settings(env_id: str) -> dict:
    """The emulator settings in ``env_id``'s Gymnasium specification.

    Raises ValueError, naming what is accepted, if ``env_id`` is not a Pong of ALE with a fixed frame skip.
    """
    settings = dict(registered(env_id).kwargs)
    if settings.get("game") != "pong" or not isinstance(settings.get("frameskip"), int):
        raise ValueError(f"env_id {env_id!r} is not a Pong of ALE with a fixed frame skip; try 'ALE/Pong-v5'")
    return settings


def is_pong(env_id: str) -> bool:
    """Whether an environment is a Pong of ALE with a fixed frame skip."""
    try:
        pong_settings(env_id)
    except ValueError:
        return False
    return True


def agent_step(env_id: str) -> str:
    """What an agent step of an environment is, in words: in a Pong of ALE ``4 frames``, or as many as it skips to."""
    try:
        frames = pong_settings(env_id)["frameskip"]
    except ValueError:
        return "a step of the environment"
    return "1 frame" if frames == 1 else f"{frames} frames"
