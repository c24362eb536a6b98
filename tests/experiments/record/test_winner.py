"""The file of a winner's games: written, read, and checked like all data."""

import json

import pytest

from experiments.record.winner import WINNER, WinnerGames, read_winner, write_winner
from trainables.checks import ConfigError

GAMES = WinnerGames(3, 120, 10, {"eval/return_greedy_mean": 18.5})


def test_what_was_written_is_read(tmp_path):
    assert read_winner(tmp_path) is None
    write_winner(tmp_path, GAMES)
    assert read_winner(tmp_path) == GAMES


@pytest.mark.parametrize(
    "change",
    [{"metrics": {"a": "b"}}, {"metrics": {"a": float("nan")}}, {"metrics": []}, {"trial": None}, {"more": 1}],
)
def test_a_damaged_file_is_refused(tmp_path, change):
    write_winner(tmp_path, GAMES)
    (entry,) = json.loads((tmp_path / WINNER).read_text())
    (tmp_path / WINNER).write_text(json.dumps([entry | change]))
    with pytest.raises(ConfigError, match="is damaged"):
        read_winner(tmp_path)
