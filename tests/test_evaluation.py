"""Evaluation of real trials: apart from training, deterministic, carried forward, kept across a restore."""

import io

import numpy as np
import pytest
import scipy.stats
from PIL import Image

from tests.trials import assert_same, trained
from trainables.evaluation import FILM, mean_with_interval, summarise
from trainables.pong_pg import PongPG
from trainables.pong_trpo import PongTRPO
from trainables.sampling.evaluation import evaluate, evaluation_numbers

PG = {"hidden_size": 8, "batch_size": 2}
TRPO = {"hidden_sizes": (8,), "timesteps_per_batch": 1000}
CARTPOLE = {"env_id": "CartPole-v1", "reset_on_reward": False, "hidden_sizes": (8,), "timesteps_per_batch": 300}
COMMON = {"num_workers": 2, "cpus_per_worker": 0.5, "seed": 4, "eval_games": 2}


@pytest.fixture
def make_trial(make_trial):
    return lambda trainable, settings, **changes: make_trial(trainable, COMMON | settings, **changes)


def of_evaluation(result):
    return {key: value for key, value in result.items() if key.startswith("eval/")}


@pytest.mark.parametrize(
    ("trainable", "settings"), [(PongPG, PG), pytest.param(PongTRPO, TRPO, marks=pytest.mark.slow)], ids=["pg", "trpo"]
)
def test_training_is_bit_identical_with_and_without_evaluation(make_trial, trainable, settings):
    off = make_trial(trainable, settings, eval_interval=0)
    on = make_trial(trainable, settings)
    arrays, returns = trained(off, 2)
    arrays_on, returns_on = trained(on, 2)
    assert_same(arrays, arrays_on)
    assert returns == returns_on
    assert not off.last_evaluation
    assert on.last_evaluation["eval/iteration"] == 1
    assert -21 <= on.last_evaluation["eval/return_greedy_mean"] <= on.last_evaluation["eval/return_greedy_ci95_high"]


def test_the_trial_reports_the_games_that_a_plain_worker_plays_and_films(make_trial):
    trial = make_trial(PongPG, PG, num_workers=3)
    metrics = of_evaluation(trial.train())
    worker, numbers = trial.worker_factory(trial.settings)(), evaluation_numbers(4, 1, 4)
    games = [evaluate(worker, trial.get_arrays()["theta"], [number], sampled=2) for number in numbers]
    assert metrics == summarise(1, games[:2], games[2:])
    assert metrics["eval/return_sampled_mean"] == np.mean([game.episode_return for game in games[:2]])
    assert trial.film == games[0].gif
    assert Image.open(io.BytesIO(trial.film)).n_frames > 100


def test_the_last_evaluation_is_carried_forward_and_kept_across_a_restore(make_trial, tmp_path):
    trial = make_trial(PongTRPO, CARTPOLE, eval_interval=3)
    results = [trial.train() for _ in range(4)]
    assert [result["eval/iteration"] for result in results] == [1, 1, 3, 3]
    assert [result["should_checkpoint"] for result in results] == [True, False, True, False]
    assert of_evaluation(results[0]) == of_evaluation(results[1]) != of_evaluation(results[2])
    assert all([*result] == [*results[0]] for result in results)
    trial.save(str(tmp_path / "c"))
    restored = make_trial(PongTRPO, CARTPOLE, eval_interval=3)
    restored.restore(str(tmp_path / "c"))
    for _ in range(2):
        assert of_evaluation(trial.train()) == of_evaluation(restored.train())
    assert trial.last_evaluation["eval/iteration"] == 6
    assert trial.film is None, "CartPole has no console"


def test_a_checkpoint_holds_the_last_film_and_a_restored_trial_passes_it_on(make_trial, tmp_path):
    trial = make_trial(PongPG, PG)
    trial.train()
    trial.save(str(tmp_path / "first"))
    restored = make_trial(PongPG, PG)
    restored.restore(str(tmp_path / "first"))
    restored.save(str(tmp_path / "second"))
    assert (tmp_path / "first" / FILM).read_bytes() == (tmp_path / "second" / FILM).read_bytes() == trial.film


def test_the_interval_is_students():
    returns = [-21.0, -18.0, -20.0, -15.0]
    low, high = scipy.stats.t.interval(0.95, 3, np.mean(returns), scipy.stats.sem(returns))
    assert mean_with_interval(returns) == pytest.approx((-18.5, low, high))


def test_the_interval_holds_the_mean_95_times_of_100():
    rng = np.random.default_rng(0)
    intervals = [mean_with_interval(rng.normal(3.0, 2.0, 5)) for _ in range(2000)]
    assert np.mean([low <= 3.0 <= high for _, low, high in intervals]) == pytest.approx(0.95, abs=0.02)
