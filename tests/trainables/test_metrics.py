"""A trial's counters: of games, of steps, and of the points that were lost."""

import json

import pytest

from trainables.metrics import POINTS_HALF_LIFE, WINDOW_GAMES, EpisodeStats, Played
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
    played.add(Played(games=[GameSummary(-19.0, 1100)], steps=1100, won=2, lost=21, seconds=3.0))
    assert played == Played([GameSummary(-21.0, 900), GameSummary(-19.0, 1100)], 2000, 2, 42, 3.0)


def test_counters_come_back_from_text_as_they_were():
    episodes = EpisodeStats()
    played = Played([GameSummary(float(-game % 21), 900) for game in range(WINDOW_GAMES + 9)], 900, 3.0, 18.0)
    episodes.add(played)
    episodes.metrics(played)
    assert len(episodes.recent_returns) == WINDOW_GAMES
    assert EpisodeStats.model_validate(json.loads(json.dumps(episodes.model_dump()))) == episodes
