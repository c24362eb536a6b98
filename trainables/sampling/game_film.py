"""The film of a training game: played again from its numbers, also one that went on from segment to segment."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from trainables.sampling.evaluation import MeasuredGame
from trainables.sampling.film import Camera
from trainables.sampling.rollout import GameNumber, rollout
from trainables.sampling.segments import Segment, play_segment
from trainables.sampling.worker import Worker


class Part(NamedTuple):
    """A part of a training game: where it was played, and by which weights."""

    weights: Any
    number: GameNumber | Segment
    game: int = 0  # of the segment's games, the first of which may go on from an earlier segment


class GameCamera(Camera):
    """Films one of the games that are played through it, and counts its points.

    Of a game that began before the first part, the frames of its joystick are played first. They tell what was seen,
    and not which policy chose them, so these pictures have no probabilities.
    """

    def __init__(self, worker: Worker, first_step: int, max_shots: int) -> None:
        super().__init__(worker.env, None, lambda observation: observation, first_step, max_shots)
        self._worker, self._game, self._wanted = worker, 0, 0
        self.rewards: list[float] = []
        self.before = 0  # steps before the first part

    def turn_to(self, part: Part) -> None:
        """Look at a part of the game through its weights."""
        self._probabilities, self._view = self._worker.probabilities(part.weights), self._worker.view(part.weights)
        goes_on = isinstance(part.number, Segment) and part.number.slot is not None
        self._game, self._wanted = 0 if goes_on else -1, part.game

    def reset(self, rng: np.random.Generator) -> Any:
        """Start the next game."""
        self._game += 1
        return self._env.reset(rng)

    def replay(self, played: bytes, rng: np.random.Generator) -> tuple[Any, list[float]]:
        """Play a game again up to where it was suspended, and film it if it is the one."""
        if self._wanted:
            return self._env.replay(played, rng)
        probabilities, self._probabilities = self._probabilities, None
        observation = None
        for observation, reward in self._env.replay_steps(played, rng):
            self.rewards.append(reward)
            self.see(observation)
        self._probabilities, self.before = probabilities, len(self.rewards)
        return observation, [*self.rewards]

    def step(self, action: int) -> tuple[Any, float, bool, bool]:
        """Act, and take a shot now and then if this is the game."""
        outcome = self._env.step(action)
        if self._game == self._wanted:
            self.rewards.append(outcome[1])
            self.see(outcome[0])
        return outcome


def film_game(worker: Worker, parts: Sequence[Part], first_step: int, max_shots: int) -> tuple[MeasuredGame, int]:
    """Play a training game of Pong again from its parts, in order, and film it from an agent step on.

    Returns the game, and how many of its first steps lie before the first part.
    """
    camera = GameCamera(worker, first_step, max_shots)
    with np.errstate(all="ignore"):  # as in the actor
        for index, part in enumerate(parts):
            number = part.number
            camera.turn_to(part)
            if isinstance(number, GameNumber):
                env_rng, action_rng = number.generators()
                rollout(camera, worker.sampler(part.weights, action_rng), env_rng)  # type: ignore[arg-type]
                continue
            if number.slot and index == 0:  # from its frames, which can be filmed, and not from the console's state
                game = number.slot.game._replace(state=())
                number = number._replace(slot=number.slot._replace(game=game))
            play_segment(camera, partial(worker.sampler, part.weights), number)  # type: ignore[arg-type]
    game_return = float(np.sum(camera.rewards))
    return MeasuredGame(game_return, len(camera.rewards), False, camera.film), camera.before
