"""The files of what was decided: written, read, and checked like all data."""

import json
import math

import pytest

from experiments.disk.decisions import (
    RULE,
    Decision,
    WinnerGames,
    decide,
    dropped,
    limited,
    over_seeds,
    passed,
    ranking,
    read_decisions,
    read_winner,
    scored,
    with_diverged,
    write_decisions,
    write_winner,
)
from experiments.disk.folders import DECISIONS, WINNER
from trainables.checks import ConfigError
from trainables.metrics import METRIC, score_of

TWO = [
    Decision(at=2, scores=[1.0, 3.0, None, 2.0], kept=[1, 3]),
    Decision(at=8, scores=[None, 3.0, None, 4.0], kept=[3], left_out=[1], rule=RULE),
]
GAMES = WinnerGames(trial=3, iteration=120, games=10, metrics={"eval/return_greedy_mean": 18.5})


def test_what_was_decided_is_read_back(tmp_path):
    assert (read_decisions(tmp_path), read_winner(tmp_path)) == ([], None)
    write_decisions(tmp_path, TWO)
    write_winner(tmp_path, GAMES)
    assert (read_decisions(tmp_path), read_winner(tmp_path)) == (TWO, GAMES)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *((DECISIONS, text) for text in ("no JSON", "{}", "[3]", "[" * 100_000, '[{"at": 2, "scores": [1.0]}]')),
        *((DECISIONS, {"at": 2, "scores": scores, "kept": [0]}) for scores in ([None], ["x"], [float("inf")], [])),
        *((DECISIONS, {"at": 2, "scores": [1.0], "kept": kept}) for kept in ([], [1], [-1], ["0"])),
        *((DECISIONS, {"at": 2, "scores": [1.0, None], "kept": [0], "left_out": left}) for left in ([0], [1], [2])),
        (DECISIONS, {"at": 1.5, "scores": [1.0], "kept": [0]}),
        *(
            (WINNER, GAMES.model_dump() | change)
            for change in ({"metrics": {"a": "b"}}, {"metrics": {"a": float("nan")}}, {"trial": None}, {"more": 1})
        ),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path, name, damage):
    (tmp_path / name).write_text(damage if isinstance(damage, str) else json.dumps([damage]))
    read = {DECISIONS: read_decisions, WINNER: read_winner}[name]
    with pytest.raises(ConfigError, match=rf"{name} is damaged") as caught:
        read(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_trial_that_was_stopped_does_not_come_back():
    assert [passed(TWO, number) for number in range(4)] == [0, 1, 0, 2]
    assert passed(TWO[::-1], 1) == 0
    assert [dropped(TWO, number) for number in range(4)] == [TWO[0], TWO[1], TWO[0], None]


def test_the_score_of_a_configuration_is_the_mean_of_the_seeds_that_arrived():
    found = ranking({0: 1.0, 1: 3.0, 3: -4.0}, [[0, 1], [2, 3], [4]])
    assert [(each.score, each.trials, each.all_trials) for each in found] == [
        (2.0, [0, 1], [0, 1]),
        (-4.0, [3], [2, 3]),
    ]
    assert [over_seeds([score]) for score in (0.1, 0.2, 0.7)] == [0.1, 0.2, 0.7], "of one seed to the last bit"
    assert over_seeds([0.1, 0.2, 0.7]) == over_seeds([0.7, 0.1, 0.2]), "in whatever order"
    assert over_seeds([None, 2.0, 3.0, 7.0]) == 4.0
    assert over_seeds([None]) is None
    for scores in ([math.nan, 1.0, 2.0], [1.0, math.nan, 2.0], [1.0, 2.0, math.nan]):
        assert math.isnan(over_seeds(scores)), "a seed that has not come so far"


def test_a_seed_that_diverged_counts_at_a_rung_as_at_the_end():
    two_of_two, lowest = [[0, 1], [2, 3]], score_of({METRIC: 12.0, "diverged": 1.0})
    assert (lowest, score_of({METRIC: 12.0, "diverged": 0.0})) == (-21.0, 12.0)
    assert with_diverged([5.0, None, 3.0, 1.0], {1: lowest}, two_of_two) == [5.0, -21.0, 3.0, 1.0]
    assert with_diverged([None, None, 3.0, 1.0], {1: lowest}, two_of_two) == [None, None, 3.0, 1.0], "nobody goes on"
    assert with_diverged([None, 2.0], {0: lowest}, [[0], [1]]) == [None, 2.0], "of one seed nothing changes"
    two, steady = [None, None, 12.0], [7.0] * 3
    scores = with_diverged([*two, *steady], {0: lowest, 1: lowest}, [[0, 1, 2], [3, 4, 5]])
    kept = decide(2, scores, [[0, 1, 2], [3, 4, 5]], 1).kept
    assert kept == [3, 4, 5], "two of three seeds that diverge win no rung"


@pytest.mark.parametrize(
    ("scores", "configurations", "count", "kept"),
    [
        ([1.0, 3.0, 2.0], [[0], [1], [2]], 2, [1, 2]),
        ([1.0, None, 1.0], [[0], [1], [2]], 1, [0]),  # who failed is no better than anybody, and of equals the first
        ([5.0, 1.0, None, 4.0], [[0, 1], [2, 3]], 1, [3]),  # by the mean of the seeds that have a score
        ([5.0, 1.0, None, 4.0], [[0, 1], [2, 3]], 2, [3, 0, 1]),
    ],
)
def test_the_best_go_on_and_of_equals_the_first(scores, configurations, count, kept):
    decision = decide(7, scores, configurations, count)
    assert (decision.at, decision.scores, decision.kept) == (7, scores, kept)
    assert decision.scored == scored(scores)


@pytest.mark.parametrize(
    ("most", "kept", "left_out"),
    [
        (math.inf, [4, 5, 0, 1, 2, 3], []),
        (5.0, [4, 5, 0, 1, 2, 3], []),  # the seed that diverged needs no time
        (4.9, [4, 5, 0, 1], [2, 3]),
        (2.9, [4, 5], [0, 1, 2, 3]),  # nobody takes the place of one that is better
        (-1.0, [4, 5], [0, 1, 2, 3]),  # which plays until the time is up
    ],
)
def test_as_many_go_on_as_time_is_left_for_the_best_first_and_one_at_least(most, kept, left_out):
    configurations = [[0, 1], [2, 3], [4, 5], [6]]
    scores, playing = [2.0, 2.0, 1.0, -21.0, 4.0, 4.0, -20.0], [0, 1, 2, 4, 5, 6]
    decision = limited(decide(7, scores, configurations, 3), configurations, playing, most)
    assert (decision.at, decision.scores, decision.rule) == (7, scores, RULE)
    assert (decision.kept, decision.left_out) == (kept, left_out)


def test_where_no_trial_has_a_score_nothing_can_be_decided():
    with pytest.raises(ValueError, match="no trials with a score"):
        decide(2, [None, None], [[0], [1]], 1)
