"""The winner of a halved sweep, or the best trial, plays at the end."""

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


def test_the_best_trial_of_an_experiment_that_is_not_halved_plays_if_it_comes_to_a_second_evaluation(
    tmp_path, monkeypatch
):
    played = []

    def play(checkpoint, trial):
        played.append((trial, checkpoint.iteration))
        return WinnerGames(trial=trial, iteration=checkpoint.iteration, games=10, metrics={}), None

    monkeypatch.setattr(after_sweep, "_play", play)
    for name, evaluated in (("evaluated", 2), ("too_short", 3), ("never", 0)):
        trials = [({"seed": seed, "eval_interval": evaluated}, [-20.0, -19.0 + seed], None) for seed in (0, 1)]
        folder = write_experiment(tmp_path, name, "pg", trials, iterations=2)
        write_policies(trial_folders(folder)[1], "pg", {2: -18})
        for _ in range(2):
            play_winner(read_experiment(folder, running=False))
    assert played == [(1, 2)]
