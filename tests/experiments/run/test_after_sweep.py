"""The winner of a halved sweep plays at its end."""

from experiments.disk.decisions import Decision, WinnerGames, read_winner, write_decisions, write_winner
from experiments.disk.experiments import read_experiment
from experiments.run import after_sweep
from experiments.run.after_sweep import play_winner
from tests.helpers.small_experiments import trial_folders
from tests.helpers.written_experiments import write_experiment, write_policies


def test_a_winner_that_failed_after_its_games_plays_once_more(tmp_path, monkeypatch):
    trials = [({}, [-20.0], "running"), ({"seed": 1}, [-19.0, -18.0], "RuntimeError: no luck")]
    folder = write_experiment(tmp_path, "halved", "pg", trials, scheduler="halving", rungs=[1, 3], iterations=3)
    write_decisions(folder, [Decision(at=1, scores=[-20.0, -19.0], kept=[1])])
    write_policies(trial_folders(folder)[1], "pg", {2: -18})
    write_winner(folder, games := WinnerGames(trial=1, iteration=2, games=10, metrics={}))
    played = []
    monkeypatch.setattr(after_sweep, "_play", lambda *of: (played.append(of) or games, None))
    for _ in range(2):
        play_winner(read_experiment(folder, running=False))
    assert (len(played), read_winner(folder).ended) == (1, "failed")
