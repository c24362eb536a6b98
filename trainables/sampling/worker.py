"""A rollout worker: an ordinary class that plays numbered games and segments. ``actor.py`` makes an actor of it."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from trainables.learning.policies import FilteredWeights, Policy
from trainables.sampling.rollout import GameNumber, GameSummary, Trajectory, rollout
from trainables.sampling.segments import Segment, Slot, play_segment

Array = np.ndarray


class PlayedBlock(NamedTuple):
    """What a worker sends back of a block of games, or of a segment."""

    games: list[GameSummary]  # that ended, in order
    experience: Any  # what the algorithm's ``pack`` makes of the steps: NamedTuples of arrays
    steps: int
    points: tuple[float, float]  # won and lost: the sums of positive and of negative rewards
    strokes: int  # returns of the ball by our paddle, in Pong
    seconds: float  # wall-clock time that the worker spent on it
    slot: Slot | None = None  # the segment's slot behind it


Pack = Callable[[Any, Sequence[Trajectory]], Any]
"""What travels to the learner, of the weights that played and the games (or parts of them) that were played."""


class Worker:
    """Plays games on its environment with its policy, and packs what the learner needs of them."""

    def __init__(self, make_env: Callable[[], Any], policy: Policy, pack: Pack) -> None:
        self.env, self.policy, self.pack = make_env(), policy, pack

    def play(self, weights: Any, number: GameNumber) -> Trajectory:
        """The numbered game, played by the policy of these weights."""
        env_rng, action_rng = number.generators()
        return rollout(self.env, self.policy.sampler(weights, action_rng), env_rng)

    def play_block(self, weights: Any, block: Sequence[GameNumber] | tuple[Segment]) -> PlayedBlock:
        """The numbered games, one after the other; or one segment."""
        start, strokes, slot = time.perf_counter(), self.env.strokes, None
        if isinstance(block[0], Segment):
            parts, games, slot = play_segment(self.env, partial(self.policy.sampler, weights), block[0])
        else:
            parts = [self.play(weights, number) for number in block]  # type: ignore[arg-type]
            games = [GameSummary(game.episode_return, len(game.action_n)) for game in parts]
        experience = self.pack(weights, parts)
        reward_n = np.concatenate([part.reward_n for part in parts])
        points = float(reward_n.clip(min=0).sum()), float(-reward_n.clip(max=0).sum())
        strokes = self.env.strokes - strokes
        return PlayedBlock(games, experience, len(reward_n), points, strokes, time.perf_counter() - start, slot)

    # The rest is for measuring and filming, outside of training.

    def probabilities(self, weights: Any) -> Callable[[Any], Array]:
        """A function that gives each action's probability (k,) at an observation."""
        return lambda observation: self.policy.probabilities(weights, self.env.stack([observation]))[0]

    def view(self, weights: Any) -> Callable[[Any], Array]:
        """A function that shows what the network sees of an observation, as a picture of numbers in [-1, 1]."""
        stack, picture = self.env.stack, self.env.picture
        if isinstance(weights, FilteredWeights):
            return lambda observation: picture(weights.filter(stack([observation])))
        return lambda observation: picture(stack([observation]))
