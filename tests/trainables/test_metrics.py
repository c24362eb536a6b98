"""A trial's counters: of games, of steps, and of the points that were lost."""

import json

import numpy as np
import pytest

from trainables.metrics import MOST_GAMES, POINTS_HALF_LIFE, SCORE_STEPS, EpisodeStats, Played
from trainables.sampling.rollout import GameSummary


@pytest.mark.parametrize(
    ("played", "share"), [(Played(), 1), (Played(steps=100), 1), (Played(won=1, lost=3), 0.75), (Played(won=4), 0)]
)
def test_the_share_of_points_lost_is_that_of_the_points_played_and_1_before_any(played, share):
    episodes = EpisodeStats()
    episodes.add(played)
    assert episodes.points_lost == share


def test_a_point_counts_half_after_as_many_points_as_the_half_life_however_they_were_cut():
    """Updates of other lengths make the same share, but for points within one."""
    episodes = EpisodeStats()
    episodes.add(Played(lost=100))
    episodes.add(Played(won=POINTS_HALF_LIFE))
    assert (episodes.lost, episodes.won) == (50, POINTS_HALF_LIFE)
    assert episodes.points_lost == pytest.approx(50 / (50 + POINTS_HALF_LIFE))
    episodes.add(Played())
    assert (episodes.lost, episodes.won) == (50, POINTS_HALF_LIFE), "without points nothing fades"
    in_parts = EpisodeStats()
    in_parts.add(Played(lost=100))
    for _ in range(10):
        in_parts.add(Played(won=POINTS_HALF_LIFE / 10))
    assert in_parts.lost == pytest.approx(50)


def test_points_of_several_updates_of_an_iteration_add_up():
    played = Played(games=[GameSummary(-21.0, 900)], steps=900, lost=21)
    played.add(Played(games=[GameSummary(-19.0, 1100)], steps=1100, won=2, lost=21, strokes=7, seconds=3.0))
    assert played == Played([GameSummary(-21.0, 900), GameSummary(-19.0, 1100)], 2000, 2, 42, 7, 3.0)


def test_counters_come_back_from_text_as_they_were():
    episodes = EpisodeStats()
    played = Played([GameSummary(float(-game % 21), 900) for game in range(MOST_GAMES + 9)], 900, 3.0, 18.0)
    episodes.add(played)
    episodes.metrics(played)
    assert len(episodes.recent_returns) == len(episodes.recent_ends) == MOST_GAMES
    assert EpisodeStats.model_validate(json.loads(json.dumps(episodes.model_dump()))) == episodes


@pytest.mark.parametrize(
    ("games", "steps", "counted"),
    [
        (1, 25_000, 10),  # long games: the last ten, though they took more steps
        (3, 10_000, 30),  # those of the last ten updates
        (20, 10_000, 100),  # short ones: the last hundred
    ],
)
def test_the_score_is_the_mean_return_of_the_games_that_ended_in_the_last_steps(games, steps, counted):
    assert SCORE_STEPS == 100_000
    episodes, returns = EpisodeStats(), []
    for update in range(40):
        returns += (these := [float(update)] * games)
        episodes.add(Played([GameSummary(value, 1) for value in these], steps))
    metrics = episodes.metrics(Played())
    assert metrics["episode_score"] == episodes.score == pytest.approx(np.mean(returns[-counted:]))
    assert metrics["episode_reward_mean"] == pytest.approx(np.mean(returns[-100:]))


def test_before_the_first_game_the_score_is_the_worst():
    assert EpisodeStats().metrics(Played(steps=900))["episode_score"] == -21


def test_steps_and_strokes_are_counted_for_each_point_that_was_played():
    metrics = EpisodeStats().metrics(Played(steps=900, won=2, lost=21, strokes=46))
    assert (metrics["steps_per_point"], metrics["strokes_per_point"]) == (900 / 23, 2)
    assert EpisodeStats().metrics(Played(steps=900))["steps_per_point"] == 900, "at least, before any point"
