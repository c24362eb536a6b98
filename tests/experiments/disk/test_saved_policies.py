"""Which of an experiment's checkpoints are found, and which one is best."""

import pytest

from experiments.disk import saved_policies
from experiments.disk.experiments import read_experiment
from experiments.disk.folders import display
from experiments.disk.trial_checkpoints import of_trial
from experiments.show.report import report
from experiments.show.summary import play_command, whose_policy
from tests.helpers.trials import edited_state
from tests.helpers.written_experiments import forked_from, write_checkpoint, write_experiment
from trainables.checkpoints import FILM, CheckpointError
from trainables.checks import ConfigError


@pytest.fixture
def trial(tmp_path):
    folder = write_experiment(tmp_path, "first", "pg", [({}, [-20, -19], None)])
    return next(folder.glob("00000*"))


def test_of_equally_good_checkpoints_the_one_that_was_trained_longest_is_best(trial, tmp_path):
    for iteration, score in ((1, -20.0), (2, -12.0), (3, -12.0), (4, -15.0)):
        write_checkpoint(trial, "pg", iteration, score, evaluated=1)
    found = saved_policies.find(tmp_path, "first")
    assert [checkpoint.iteration for checkpoint in found.all] == [1, 2, 3, 4]
    assert (found.best.iteration, saved_policies.trial_name(found.best)) == (3, trial.name)


@pytest.fixture
def two(tmp_path):
    """An experiment whose second trial leads, and whose first has the checkpoint with the higher score."""
    trials = [({"seed": 0}, [-20, -19], None), ({"seed": 1}, [-20, -9], None)]
    folder = write_experiment(tmp_path, "two", "pg", trials)
    first, second = (next(folder.glob(f"0000{number}*")) for number in (0, 1))
    write_checkpoint(first, "pg", 1, 15.0, evaluated=1)
    return first, second


def test_the_best_policy_of_an_experiment_is_its_best_trials_whatever_a_checkpoint_of_another_scored(two, tmp_path):
    _, second = two
    for iteration, score in ((1, -12.0), (2, -14.0)):
        write_checkpoint(second, "pg", iteration, score, evaluated=1)
    best = saved_policies.find(tmp_path, "two").best
    assert best.folder == second / "checkpoint_000001"
    experiment = read_experiment(tmp_path / "two")
    assert saved_policies.of_experiment(experiment).best.folder == best.folder
    assert experiment.best.checkpoints.newest.folder == second / "checkpoint_000002"


def test_where_the_best_trial_has_no_checkpoint_no_other_trials_policy_takes_its_place(two, tmp_path):
    first, second = two
    with pytest.raises(ConfigError, match=rf"{second.name}, has no whole checkpoint yet; .* name it: {first.name}$"):
        saved_policies.find(tmp_path, "two")
    (first / "checkpoint_000001" / FILM).write_bytes(b"GIF89a")
    experiment = read_experiment(tmp_path / "two")
    assert not play_command(experiment)
    assert FILM not in report([experiment]).pictures
    assert saved_policies.find(tmp_path, f"two/{first.name}").best.score == 15.0


def test_of_a_fork_whose_winner_saved_no_checkpoint_of_its_own_its_own_origin_plays_and_that_is_said(tmp_path):
    """Another trial's origin played: it had the highest score of all checkpoints."""
    origin = forked_from("other", ({}, 4), ({}, 4))
    trials = [({"seed": 1}, [-20, -19], "running"), ({"seed": 2}, [-20, -9], "running")]
    folder = write_experiment(tmp_path, "fork", "pg", trials, fork_of=origin)
    winner = next(folder.glob("00001*"))
    for trial, score in ((next(folder.glob("00000*")), 15.0), (winner, -13.0)):
        with edited_state(write_checkpoint(trial, "pg", 4, score, evaluated=4)) as state:
            state["episodes"]["steps"] = 4000
    assert saved_policies.find(tmp_path, "fork").best.folder == winner / "checkpoint_000004"
    experiment = read_experiment(folder)
    said = f"the one with which {winner.name} was forked, of iteration 4: it has saved no better one of its own."
    assert play_command(experiment).endswith(display(folder))
    assert said in whose_policy(experiment)
    assert said.replace(winner.name, f"`{winner.name}`") in report([experiment]).text.partition("## ")[0]
    write_checkpoint(winner, "pg", 5, -9.0, evaluated=4)
    assert not whose_policy(read_experiment(folder))


def test_half_written_checkpoints_and_those_of_unknown_learners_are_left_out(trial, tmp_path):
    write_checkpoint(trial, "pg", 1, -20.0, evaluated=1)
    write_checkpoint(trial, "unknown", 2, -10.0, evaluated=1)
    (write_checkpoint(trial, "pg", 3, -9.0, evaluated=1) / "state.json").write_text('{"format', encoding="utf-8")
    (trial / "checkpoint_000004").mkdir()
    found = of_trial(trial)
    assert [checkpoint.iteration for checkpoint in found.usable] == [1]
    assert [checkpoint.folder.name[-1] for checkpoint in found.damaged] == ["2", "3", "4"]
    assert (found.iteration, found.newest_number) == (1, 4)
    for checkpoint, why in zip(found.damaged, ("is none of pg, trpo", "not valid JSON", "no checkpoint"), strict=True):
        assert why in checkpoint.reason
        with pytest.raises(CheckpointError, match=why):
            _ = checkpoint.score


def test_a_trial_without_a_checkpoint_is_said_to_have_none_yet(trial):
    with pytest.raises(ConfigError, match=r"no whole checkpoint \(yet\)"):
        saved_policies.find(trial.parent, trial.name)


def in_words(storage):
    return saved_policies.in_words(saved_policies.find(storage, "first").best)


def test_a_policy_that_ended_no_game_has_no_score(trial, tmp_path):
    checkpoint = write_checkpoint(trial, "pg", 1, -20.0, evaluated=1)
    where = f"{display(checkpoint)}: iteration 1, "
    assert in_words(tmp_path) == f"{where}-20.0 in training (latest games)"
    with edited_state(checkpoint) as state:
        state["episodes"]["recent_returns"] = []
    assert in_words(tmp_path) == f"{where}no game had ended in training"
