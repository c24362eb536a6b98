"""Training games that are played again: each is the very game, also one of several segments, and its film shows it."""

import itertools

import gymnasium
import numpy as np
import pytest

from trainables.algorithms import make_algorithm
from trainables.config import PGConfig, TRPOConfig
from trainables.sampling.film import SHOT_FRAMES
from trainables.sampling.rollout import GameNumber
from trainables.sampling.segments import Segment, slot_arrays, slots_of
from trainables.sampling.training_games import TrainingGames

EVERY = SHOT_FRAMES // 4
"""Agent steps from shot to shot."""

ENV_ID = "PongOf300Steps-v0"
SPEC = gymnasium.spec("ALE/Pong-v5").kwargs | {"max_num_frames_per_episode": 1200}
gymnasium.register(ENV_ID, entry_point="ale_py.env:AtariEnv", kwargs=SPEC)
LENGTH = 130
"""Agent steps of a segment: a game of 300 goes on over three of them."""

PIXELS = PGConfig(env_id=ENV_ID, hidden_size=4)


class Training:
    """Updates of one slot, or of whole games, each with its own weights."""

    def __init__(self, config, *updates, slots=(None,)):
        self.algorithm = make_algorithm(config)
        self.worker = self.algorithm.worker_factory()()
        self.games, (self.slot,) = TrainingGames(), slots
        for update in updates:
            block = self.play(update, Segment(7, update, 0, LENGTH, self.slot))
            self.slot = block.slot

    def play(self, update, *numbers):
        weights = self.algorithm.playing_weights(self.algorithm.init(np.random.default_rng(update)))
        block = self.worker.play_block(weights, numbers)
        self.games(weights, numbers, block)
        return block

    def film(self, game, first_step=0, max_shots=10_000):
        summary, film = game.film(self.worker, first_step, max_shots)
        assert summary == game.summary
        return film.shots


def same_pictures(shots, others):
    for shot, other in zip(shots, others, strict=True):
        np.testing.assert_array_equal(shot.screen, other.screen)
        np.testing.assert_array_equal(shot.view, other.view)


@pytest.mark.parametrize("config", [PIXELS, TRPOConfig(env_id=ENV_ID, hidden_sizes=(4,))], ids=["pixels", "memory"])
def test_the_film_of_a_game_shows_what_each_of_its_policies_saw_and_how_probable_it_made_the_moves(config):
    training = Training(config, 0, 1, 2)
    games = [*training.games.ended, *training.games.in_play.values()]
    assert len(games) > 1
    assert sum(game.summary.length for game in games) == 3 * LENGTH
    game = games[0]
    shots = training.film(game)
    assert len(shots) == -(-game.summary.length // EVERY)
    ends = [*(first for first, _ in game.policies[1:]), game.summary.length]
    assert len(ends) > 1
    for (first, weights), end in zip(game.policies, ends, strict=True):
        alone = game._replace(policies=[(0, weights), (game.summary.length, game.policies[-1][1])])
        expected = training.film(alone, first, (end - first + 1) // EVERY)
        of_it = shots[first // EVERY :][: len(expected)]
        same_pictures(of_it, expected)
        assert [shot.probability for shot in of_it] == [shot.probability for shot in expected]


def test_a_game_from_before_a_checkpoint_is_the_same_and_its_first_moves_have_no_probabilities():
    whole, early = Training(PIXELS, 0, 1, 2), Training(PIXELS, 0)
    late = Training(PIXELS, 1, 2, slots=slots_of(slot_arrays([early.slot])))
    shots, others = late.film(late.games.ended[0]), whole.film(whole.games.ended[0])
    assert late.games.ended[0].policies[0][0] == LENGTH
    for step, (shot, other) in zip(itertools.count(0, EVERY), zip(shots, others, strict=True), strict=False):
        np.testing.assert_array_equal(shot.screen, other.screen)
        assert sum(other.probability.values()) == pytest.approx(1)
        assert shot.probability == ({} if step < LENGTH else other.probability)


def test_whole_games_are_filmed_and_a_film_begins_and_ends_at_any_step():
    training = Training(PGConfig(env_id=ENV_ID, method="reinforce", slots=0, games_per_update=2, hidden_size=4))
    training.play(3, *(GameNumber(7, 3, game) for game in range(2)))
    assert len(training.games.ended) == 2
    game = training.games.ended[1]
    same_pictures(training.film(game, 200, 20), training.film(game, 0, 120)[100:])
    assert training.film(game, 10_000) == []
    assert not training.games.in_play
