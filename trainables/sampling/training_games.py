"""Games of training, as they are played again: which ones there are, and the film of one of them.

A game of segments goes on from update to update, and each update has another policy.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from trainables.sampling.film import Film, Look, film_game
from trainables.sampling.rollout import GameNumber, GameSummary
from trainables.sampling.segments import Segment
from trainables.sampling.worker import PlayedBlock, Worker


class TrainingGame(NamedTuple):
    """A game that ended, or that is in play in a slot."""

    summary: GameSummary
    policies: list[tuple[int, Any]]  # the weights that played it, each with their first agent step
    last: GameNumber | Segment  # what the last policy played; a segment ends with the game

    @property
    def steps_before(self) -> int:
        """Its steps before the first policy that is known."""
        return self.policies[0][0]

    def film(self, worker: Worker, first_step: int, max_shots: int) -> tuple[GameSummary, Film]:
        """Play the game again to its end, and film it from an agent step on.

        Its frames tell what was seen, and not which policy chose them: pictures from before the first policy that is
        known have no probabilities.
        """
        looks = [Look(first, worker.view(weights), worker.probabilities(weights)) for first, weights in self.policies]
        looks = [Look(0, looks[0].view, None), *looks]
        with np.errstate(all="ignore"):  # as in the actor
            block = worker.play_block(self.policies[-1][1], (self.last,))  # type: ignore[arg-type]
            played = bytes(worker.env.console.played)
            return _summaries(block)[-1], film_game(worker.env, played, looks, first_step, max_shots)


class TrainingGames:
    """The games that a trial plays while this is its ``observer``."""

    def __init__(self) -> None:
        self.ended: list[TrainingGame] = []  # by number, or of segments by update and slot
        self.in_play: dict[int, TrainingGame] = {}  # by slot

    def __call__(self, weights: Any, numbers: Sequence[GameNumber | Segment], block: PlayedBlock) -> None:
        """Note what was played."""
        segment = numbers[0]
        if isinstance(segment, GameNumber):
            pairs = zip(block.games, numbers, strict=True)
            self.ended += [TrainingGame(summary, [(0, weights)], number) for summary, number in pairs]
            return
        going_on = self.in_play.pop(segment.number, None)
        earlier = going_on.policies if going_on else []
        summaries = _summaries(block)
        steps = [summary.length for summary in summaries]
        steps[0] = segment.length - sum(steps[1:])  # the first game may have begun before
        for summary, count, end in zip(summaries, steps, accumulate(steps), strict=True):
            policies = [*earlier, (summary.length - count, weights)]
            self.ended.append(TrainingGame(summary, policies, segment._replace(length=end)))
            earlier = []
        if block.slot:
            self.in_play[segment.number] = self.ended.pop()


def _summaries(block: PlayedBlock) -> list[GameSummary]:
    """What the games of a block came to, the one that goes on in the slot as well."""
    slot = block.slot
    return [*block.games, GameSummary(slot.episode_return, slot.length)] if slot else block.games
