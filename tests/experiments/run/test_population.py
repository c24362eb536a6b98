"""Trials that copy each other: real Ray, and TRPO on CartPole, which plays in milliseconds."""

import json
import math
import shutil

import numpy as np
import pytest
from ray.tune.experiment import Trial

from experiments.plan.exchanges import EXCHANGE_RULE
from experiments.plan.learners import TRPO
from experiments.read.contradictions import contradictions
from experiments.read.experiments import read_experiment
from experiments.record.decisions import Exchange, read_exchanges, write_exchanges
from experiments.run.population import Population
from tests.helpers.small_experiments import PAIR, fit, hyperparameters, iterations, newest_arrays, rows, trial_folders
from tests.helpers.trials import assert_same
from trainables import checkpoints


def test_trials_meet_at_the_next_multiple_of_the_interval_beyond_the_one_that_was_least_far(tmp_path):
    spec = PAIR.but(iterations=None, timesteps=1000, interval=100)
    trial = Trial("stub", stub=True)
    assert Population(TRPO, tmp_path, spec, {}).round_end(trial) == 100
    write_exchanges(
        tmp_path, [Exchange(at=100, scores=[1.0, 2.0], copies=[]), Exchange(at=350, scores=[1.0, 2.0], copies=[])]
    )
    assert Population(TRPO, tmp_path, spec, {}).round_end(trial) == 400
    strangers = [spec.configs[0], spec.configs[1] | {"hidden_sizes": "4"}]
    alone = Population(TRPO, tmp_path, spec.but(configs=strangers), {})
    assert alone.round_end(trial) == math.inf, "nobody waits where nobody can copy"


@pytest.mark.slow
def test_who_copies_keeps_its_workers_and_its_seed(pair):
    (exchange,) = read_exchanges(pair)
    (copy,) = exchange.copies
    assert (exchange.at, copy.trial, copy.donor, exchange.rule) == (2, 0, 1, EXCHANGE_RULE)
    trial, donor = trial_folders(pair)
    assert {"num_workers", "seed"} <= {*hyperparameters(trial)}, "TensorBoard's table has them, as they are swept"
    arrays, state = checkpoints.load(trial / checkpoints.folder_name(copy.target), "trpo")
    given, origin = checkpoints.load(donor / checkpoints.folder_name(copy.source), "trpo")
    assert_same(arrays, given)
    assert copy.before == {"max_kl": 0.01}
    assert copy.settings["max_kl"] not in (0.01, 0.05)
    kept = PAIR.configs[0] | copy.settings
    assert state.config == json.loads((trial / "params.json").read_text(encoding="utf-8")) == kept
    assert origin.config == PAIR.configs[1]
    assert contradictions(read_experiment(pair, running=False)) == []

    assert iterations(trial) == iterations(donor) == [1, 2, 3]
    for mine, its in zip(rows(trial)[:2], rows(donor)[:2], strict=True):
        assert mine == its, "its results are those of its weights"
    assert rows(trial)[2]["episode_reward_batch_mean"] != rows(donor)[2]["episode_reward_batch_mean"]
    with np.testing.assert_raises(AssertionError):
        assert_same(newest_arrays(trial), newest_arrays(donor))


@pytest.mark.slow
def test_a_copy_that_a_kill_prevented_is_made_by_the_next_program(pair, tmp_path):
    folder = shutil.copytree(pair, tmp_path / "killed")
    (exchange,) = read_exchanges(folder)
    (copy,) = exchange.copies
    trial, donor = trial_folders(folder)
    for path, newest in ((trial, copy.target - 1), (donor, copy.source)):
        for number, checkpoint in checkpoints.numbered(path).items():
            if number > newest:
                shutil.rmtree(checkpoint)
        lines = (path / "result.json").read_text(encoding="utf-8").splitlines(keepends=True)
        (path / "result.json").write_text("".join(lines[:2]), encoding="utf-8")
    (trial / "params.json").write_text(json.dumps(PAIR.configs[0]), encoding="utf-8")
    (trial / checkpoints.folder_name(copy.target)).mkdir()  # it had just begun
    assert fit(TRPO, folder, PAIR).num_errors == 0
    assert read_exchanges(folder) == [exchange]
    for left, right in zip(trial_folders(folder), trial_folders(pair), strict=True):
        assert_same(newest_arrays(left), newest_arrays(right))
        assert [row["episode_score"] for row in rows(left)] == [row["episode_score"] for row in rows(right)]
