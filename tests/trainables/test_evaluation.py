"""Evaluation of real trials: apart from training, deterministic, carried forward, kept across a restore."""

import io
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
from PIL import Image

from tests.helpers.trials import CARTPOLE, SEGMENTS, assert_same, trained
from trainables.sampling.evaluation import FILM, evaluate, evaluation_numbers, mean_with_interval, summarise
from trainables.trainable import PongPG, PongTRPO

PG = {"hidden_size": 8} | SEGMENTS
TRPO = {"hidden_sizes": (8,)} | SEGMENTS
COMMON = {"num_workers": 1, "cpus_per_worker": 0.5, "seed": 4, "eval_games": 2}


@pytest.fixture
def make_trial(make_trial):
    return lambda trainable, settings, **changes: make_trial(trainable, COMMON | settings, **changes)


def of_evaluation(result):
    return {key: value for key, value in result.items() if key.startswith("eval/")}


class Evaluated(NamedTuple):
    """A trial after two iterations, of which the first ended with an evaluation."""

    trial: Any
    theta: np.ndarray  # that was evaluated
    metrics: dict[str, float]
    arrays: dict[str, np.ndarray]
    returns: list[float]


@pytest.fixture(scope="module", params=["pg", pytest.param("trpo", marks=pytest.mark.slow)])
def evaluated(request, ray_cluster, home):
    trainable, settings = {"pg": (PongPG, PG), "trpo": (PongTRPO, TRPO)}[request.param]
    trial = trainable(config=COMMON | settings | {"num_workers": 2})
    _, first = trained(trial, 1)
    theta, metrics = trial.algorithm.playing_weights(trial.arrays), dict(trial.last_evaluation)
    arrays, second = trained(trial, 1)
    yield Evaluated(trial, theta, metrics, arrays, first + second)
    trial.stop()


def test_training_is_bit_identical_with_and_without_evaluation(evaluated, make_trial):
    off = make_trial(type(evaluated.trial), evaluated.trial.settings.to_dict(), num_workers=1, eval_interval=0)
    arrays, returns = trained(off, 2)
    assert_same(arrays, evaluated.arrays)
    assert returns == evaluated.returns
    assert not off.last_evaluation
    assert evaluated.metrics["eval/iteration"] == 1
    assert -21 <= evaluated.metrics["eval/return_greedy_mean"] <= evaluated.metrics["eval/return_greedy_ci95_high"]


@pytest.mark.parametrize("evaluated", ["pg"], indirect=True)
def test_the_trial_reports_the_games_that_a_plain_worker_plays_and_films(evaluated):
    worker, numbers = PongPG.worker_factory(evaluated.trial.settings)(), evaluation_numbers(4, 1, 4)
    games = [evaluate(worker, evaluated.theta, [number], sampled=2) for number in numbers]
    assert evaluated.metrics == summarise(1, games[:2], games[2:])
    assert evaluated.metrics["eval/return_sampled_mean"] == np.mean([game.episode_return for game in games[:2]])
    assert evaluated.trial.film == games[0].gif
    assert Image.open(io.BytesIO(evaluated.trial.film)).n_frames > 100


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


@pytest.mark.parametrize("evaluated", ["pg"], indirect=True)
def test_a_checkpoint_holds_the_last_film_and_a_restored_trial_passes_it_on(evaluated, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    evaluated.trial.save(str(first))
    restored = PongPG.untrained(evaluated.trial.settings)
    restored.load_checkpoint(str(first))
    second.mkdir()
    restored.save_checkpoint(str(second))
    assert (first / FILM).read_bytes() == (second / FILM).read_bytes() == evaluated.trial.film


def test_the_interval_is_students():
    returns = [-21.0, -18.0, -20.0, -15.0]
    low, high = scipy.stats.t.interval(0.95, 3, np.mean(returns), scipy.stats.sem(returns))
    assert mean_with_interval(returns) == pytest.approx((-18.5, low, high))


def test_the_interval_holds_the_mean_95_times_of_100():
    rng = np.random.default_rng(0)
    intervals = [mean_with_interval(rng.normal(3.0, 2.0, 5)) for _ in range(2000)]
    assert np.mean([low <= 3.0 <= high for _, low, high in intervals]) == pytest.approx(0.95, abs=0.02)
