"""Segments: equal numbers of steps of games that go on from segment to segment.

A trial has so many slots, each with a game in it. A segment is ``length`` steps of a slot's game, and of the next game
if that one ends. It goes on from the state in which the game was left, so any worker can play any segment. All
segments of an update take about as long, and no worker waits for another one's longest game.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trainables.sampling.console import PACKED_BYTES
from trainables.sampling.environments import JOYSTICK, Pong
from trainables.sampling.rollout import GameSummary, Suspended, Trajectory, generators, play_on

Array = np.ndarray

CODES = np.array(sorted(JOYSTICK.values()), np.uint8)
"""ALE action codes, ascending; a checkpoint has their numbers in this row."""


class Slot(NamedTuple):
    """A game between two segments."""

    game: Suspended
    episode_return: float = 0.0  # so far; as the two below unknown, until it is played again, if ``game`` has no state
    length: int = 0  # agent steps so far
    steps_since_reward: int = 0


class Segment(NamedTuple):
    """What a worker is asked to play. Together with the weights that play it, it decides all that happens."""

    seed: int  # the trial's
    update: int
    number: int  # the slot's
    length: int  # agent steps
    slot: Slot | None  # the game that goes on; None: a new one

    def __str__(self) -> str:
        return f"slot {self.number} of update {self.update} (seed {self.seed})"


class PlayedSegment(NamedTuple):
    """What became of a segment."""

    parts: list[Trajectory]  # one for each game that has steps in it
    games: list[GameSummary]  # that ended in it; the first may have begun in an earlier segment
    slot: Slot | None


def play_segment(
    env: Pong, make_choose: Callable[[np.random.Generator], Callable[[Any], int]], segment: Segment
) -> PlayedSegment:
    """Play a segment; ``make_choose`` makes, of the generator that actions are drawn with, a function that chooses.

    Raises ValueError if the slot's frames are no game that goes on.
    """
    env_rng, action_rng = generators(segment.seed, segment.update, segment.number)
    choose = make_choose(action_rng)
    slot, observation = _begin(env, segment.slot, env_rng)
    played = PlayedSegment([], [], None)
    left = segment.length
    while left:
        part, over = play_on(env, choose, observation, left)
        played.parts.append(part._replace(steps_since_reward=slot.steps_since_reward, steps_before=slot.length))
        left -= len(part.action_n)
        slot = _later(slot, part)
        if over:
            played.games.append(GameSummary(slot.episode_return, slot.length))
            if not left:
                return played
            slot, observation = _begin(env, None, env_rng)
    return played._replace(slot=slot._replace(game=env.suspend(part.last_obs)))


def _begin(env: Pong, slot: Slot | None, rng: np.random.Generator) -> tuple[Slot, Any]:
    """Begin a game or go on with one: the slot, all of it known, and the latest observation."""
    if slot is None:
        return Slot(Suspended(b"", ())), env.reset(rng)
    if slot.game.state:
        return slot, env.resume(slot.game, rng)
    steps = [*env.replay(slot.game.played, rng)]
    reward_n = np.array([reward for _, reward in steps], np.float32)
    return Slot(slot.game, float(reward_n.sum()), len(steps), _steps_since_reward(reward_n, 0)), steps[-1][0]


def _later(slot: Slot, part: Trajectory) -> Slot:
    """A slot after some more steps; its game is still to be suspended."""
    return Slot(
        slot.game,
        slot.episode_return + part.episode_return,
        slot.length + len(part.action_n),
        _steps_since_reward(part.reward_n, slot.steps_since_reward),
    )


def _steps_since_reward(reward_n: Array, before: int) -> int:
    rewarded = reward_n.nonzero()[0]
    return len(reward_n) - 1 - int(rewarded[-1]) if len(rewarded) else before + len(reward_n)


def slot_arrays(slots: Sequence[Slot | None]) -> dict[str, Array]:
    """The slots as a checkpoint has them: what was played, frame by frame, and nothing of an emulator's state.

    An emulator believes its states; these frames can be checked, and whoever sends them can do nothing but play Pong.

    ``slots.frames`` int64 (s,): frames of each game so far, 0 for a new one. ``slots.played`` uint8
    (s, ``PACKED_BYTES``): their actions, two bits each, the first in the lowest ones; zeros behind them. Nothing at all
    if there are no slots.
    """
    if not slots:
        return {}
    frames_s = np.zeros(len(slots), np.int64)
    played_sb = np.zeros((len(slots), PACKED_BYTES), np.uint8)
    for index, slot in enumerate(slots):
        if slot:
            number_n = np.searchsorted(CODES, np.frombuffer(slot.game.played, np.uint8))
            packed_b = np.packbits(np.column_stack([number_n & 1, number_n >> 1]).astype(np.uint8), bitorder="little")
            frames_s[index], played_sb[index, : len(packed_b)] = len(number_n), packed_b
    return {"slots.frames": frames_s, "slots.played": played_sb}


def slots_of(arrays: Mapping[str, Array]) -> list[Slot | None]:
    """The slots in the arrays of a checkpoint, if it has any. Raises ValueError, in one line, if they cannot be."""
    slots: list[Slot | None] = []
    if "slots.frames" not in arrays:
        return slots
    for index, (frames, packed_b) in enumerate(
        zip(arrays["slots.frames"].tolist(), arrays["slots.played"], strict=True)
    ):
        if not 0 <= frames < 4 * PACKED_BYTES:
            raise ValueError(f"slot {index} has {frames} frames; a game has fewer than {4 * PACKED_BYTES}")
        low_n, high_n = np.unpackbits(packed_b, bitorder="little").reshape(-1, 2).T
        number_n = low_n + 2 * high_n
        if number_n[:frames].max(initial=0) >= len(CODES) or number_n[frames:].any():
            raise ValueError(f"slot {index} has actions that no game has")
        game = Suspended(CODES[number_n[:frames]].tobytes(), ())
        slots.append(Slot(game) if frames else None)
    return slots
