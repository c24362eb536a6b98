"""A trial's counters: of games, of steps, and of the points that were lost."""

import json

import pytest

from trainables.metrics import POINTS_HALF_LIFE, WINDOW_GAMES, EpisodeStats, Played
from trainables.sampling.rollout import GameSummary


def test_before_any_point_all_are_lost():
    episodes = EpisodeStats()
    assert episodes.points_lost == 1
    episodes.add(Played(steps=100))
    assert episodes.points_lost == 1, "nobody has scored yet"


def test_the_share_of_points_lost_is_that_of_the_points_played():
    episodes = EpisodeStats()
    episodes.add(Played(won=1, lost=3))
    assert episodes.points_lost == 0.75
    episodes = EpisodeStats()
    episodes.add(Played(won=4))
    assert episodes.points_lost == 0


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
    played += Played(games=[GameSummary(-19.0, 1100)], steps=1100, won=2, lost=21, seconds=3.0)
    assert played == Played([GameSummary(-21.0, 900), GameSummary(-19.0, 1100)], 2000, 2, 42, 3.0)


def test_counters_come_back_from_text_as_they_were():
    episodes = EpisodeStats()
    played = Played([GameSummary(float(-game % 21), 900) for game in range(WINDOW_GAMES + 9)], 900, 3.0, 18.0)
    episodes.add(played)
    episodes.metrics(played)
    assert len(episodes.recent_returns) == WINDOW_GAMES
    assert EpisodeStats.of(json.loads(json.dumps(episodes.to_dict()))) == episodes
    assert EpisodeStats.of(EpisodeStats().to_dict()) == EpisodeStats()
    assert EpisodeStats.of({"games": 2, "steps": 7, "running_reward": -19.0, "recent_returns": [-19.0]}).won == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"games": 1.0},
        {"games": True},
        {"steps": -1},
        {"won": -0.5},
        {"lost": float("inf")},
        {"lost": "3"},
        {"running_reward": float("nan")},
        {"recent_returns": {}},
        {"recent_returns": [1, None]},
        {"latest": []},
        {"latest": {"episode_len_max": None}},
        {"unknown": 0},
    ],
)
def test_counters_that_cannot_be_are_refused_in_one_line(changes):
    with pytest.raises(ValueError, match=r"^its counters are damaged: .*$"):
        EpisodeStats.of(EpisodeStats().to_dict() | changes)


@pytest.mark.parametrize("stored", [None, [], ""])
def test_what_is_no_counters_is_refused(stored):
    with pytest.raises(ValueError, match="its counters are damaged"):
        EpisodeStats.of(stored)
    with pytest.raises(ValueError, match=r"^it lacks counters: games, recent_returns, steps$"):
        EpisodeStats.of({})
