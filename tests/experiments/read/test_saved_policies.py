"""Which of an experiment's checkpoints are found, and which one is best."""

import pytest

from experiments.read import saved_policies
from tests.helpers.trials import edited_state
from tests.helpers.written_experiments import write_checkpoint, write_experiment
from trainables.checks import ConfigError


@pytest.fixture
def trial(tmp_path):
    folder = write_experiment(tmp_path, "first", "pg", [({}, [-20, -19], None)])
    return next(folder.glob("00000*"))


def test_of_equally_good_checkpoints_the_one_that_was_trained_longest_is_best(trial, tmp_path):
    for iteration, score in ((1, -20.0), (2, -12.0), (3, -12.0), (4, -15.0)):
        write_checkpoint(trial, "pg", iteration, score, evaluated=1)
    found = saved_policies.find(tmp_path, "first")
    assert [checkpoint.iteration for checkpoint in found] == [1, 2, 3, 4]
    assert (saved_policies.best_of(found).iteration, saved_policies.best_of(found).name) == (3, trial.name)


def test_half_written_checkpoints_and_those_of_unknown_learners_are_left_out(trial, tmp_path):
    write_checkpoint(trial, "pg", 1, -20.0, evaluated=1)
    write_checkpoint(trial, "unknown", 2, -10.0, evaluated=1)
    (write_checkpoint(trial, "pg", 3, -9.0, evaluated=1) / "state.json").write_text('{"format', encoding="utf-8")
    (trial / "checkpoint_000004").mkdir()
    assert [checkpoint.iteration for checkpoint in saved_policies.of_trial(trial)] == [1]


def test_a_trial_without_a_checkpoint_is_said_to_have_none_yet(trial):
    with pytest.raises(ConfigError, match=r"no whole checkpoint \(yet\)"):
        saved_policies.find(trial.parent, trial.name)


def test_a_policy_that_ended_no_game_has_no_score(trial, tmp_path):
    checkpoint = write_checkpoint(trial, "pg", 1, -20.0, evaluated=1)
    assert saved_policies.find(tmp_path, "first")[0].in_training == "-20.0 in training (latest games)"
    with edited_state(checkpoint) as state:
        state["episodes"]["recent_returns"] = []
    assert saved_policies.find(tmp_path, "first")[0].in_training == "no game had ended in training"
