"""What of an experiment's trials can be gone on with, from rows and checkpoints written here: without Ray."""

import numpy as np
import pytest

from experiments.disk.restored import describe, plays_on, restore
from experiments.disk.spec import ExperimentSpec, Limits
from experiments.plan.learners import LEARNERS
from tests.helpers.trials import CARTPOLE
from tests.helpers.written_experiments import forked_from, write_experiment
from trainables.checks import ConfigError
from trainables.config import TRPOConfig

SETTINGS = {**CARTPOLE, "hidden_sizes": "8"}


@pytest.fixture
def trained(tmp_path):
    """An experiment of one trial with two iterations, a checkpoint after each; and what it was asked to do."""

    def write(ending, **record):
        folder = write_experiment(tmp_path, "first", "trpo", [(SETTINGS, [20, 30], ending)], iterations=2, **record)
        learner = LEARNERS["trpo"].trainable.untrained(TRPOConfig.from_dict(SETTINGS))
        for iteration in (1, 2):
            learner.iterations, learner.episodes.recent_returns = iteration, [30.0]
            checkpoint = next(folder.glob("00000*")) / f"checkpoint_{iteration - 1:06d}"
            checkpoint.mkdir()
            learner.save_checkpoint(str(checkpoint))
        return folder, ExperimentSpec.read(folder)

    return write


def test_a_trial_that_ended_with_its_last_checkpoint_is_over(trained):
    folder, spec = trained(None)
    restored = restore(folder, spec)
    assert not plays_on(restored, spec)
    assert (restored["00000"].iteration, restored["00000"].checkpoints.newest_number) == (2, 1)
    assert not describe(restored)
    extended = spec.but(iterations=4, extended=[Limits(iterations=2)])
    assert plays_on(restore(folder, extended), extended)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_checkpoint_from_before_the_first_game_ended_can_be_gone_on_with(trained):
    folder, spec = trained(None)
    learner = LEARNERS["trpo"].trainable.untrained(TRPOConfig.from_dict(SETTINGS))
    learner.iterations = 1
    learner.save_checkpoint(str(next(folder.glob("*/checkpoint_000000"))))
    assert restore(folder, spec)["00000"].iteration == 2


def test_a_damaged_newest_checkpoint_is_named_and_the_one_before_it_used(trained):
    folder, spec = trained(None)
    arrays = next(folder.glob("*/checkpoint_000001")) / "arrays.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:-1])
    restored = restore(folder, spec)
    assert plays_on(restored, spec)
    not_used, goes_on = describe(restored)
    assert "not used: " in not_used
    assert "arrays.safetensors is damaged" in not_used
    assert goes_on.endswith("goes on after iteration 1 (1 later ones had no checkpoint, and are played again)")


def test_rows_that_are_missing_are_named_and_made_from_the_checkpoints_counters(trained):
    folder, spec = trained("running")
    next(folder.glob("*/result.json")).write_text("", encoding="utf-8")
    trial = restore(folder, spec)["00000"]
    rows = [trial.row(checkpoint) for checkpoint in trial.checkpoints.usable]
    assert [row["training_iteration"] for row in rows] == [1, 2]
    assert np.isclose(rows[-1]["episode_score"], 30)
    (said, _) = describe({"00000": trial})
    assert said.endswith("result.json lacks 2 rows, the first of iteration 1: these results are lost, and no others")


def test_a_fork_does_not_lack_the_rows_of_its_origin(trained):
    folder, spec = trained("running")
    result = next(folder.glob("*/result.json"))
    result.write_text(result.read_text(encoding="utf-8").splitlines(keepends=True)[-1], encoding="utf-8")
    restored = restore(folder, spec)
    assert any("lacks 1 row" in line for line in describe(restored))
    assert not any("lacks" in line for line in describe(restored, forked_from("origin", ({}, 1))))


def test_folders_that_contradict_the_experiments_file_are_refused(trained):
    folder, spec = trained("running")
    with pytest.raises(ConfigError, match=r"gamma=0\.98 for 0\.5"):
        restore(folder, spec.but(configs=[spec.configs[0] | {"gamma": 0.5}]))
    with pytest.raises(ConfigError, match="belongs to no trial"):
        restore(folder, spec.but(configs=[]))
    with pytest.raises(ConfigError, match="lacks a checkpoint that it was forked from"):
        restore(folder, spec.but(configs=spec.configs * 2, fork_of=forked_from("origin", *[({}, 1)] * 2)))
