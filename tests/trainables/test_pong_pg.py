import json
from functools import partial

import numpy as np
import pytest
import ray
from ray import tune
from ray.tune.utils import validate_save_restore

from tests.helpers.trials import SEGMENTS, assert_same, untimed, wait_until
from trainables.checkpoints import CheckpointError
from trainables.checks import ConfigError
from trainables.config import PGConfig
from trainables.trainable import PongPG

SMALL = {"hidden_size": 8, "num_workers": 1, "seed": 4, "eval_interval": 0}
GAMES = {"slots": 0, "batch_size": 3}
METHODS = {
    "reinforce": GAMES | {"method": "reinforce", "optimiser": "rmsprop", "half_life": 0},
    "ppo": SEGMENTS | {"half_life": 5000},
}
REINFORCE = pytest.mark.parametrize("run", ["reinforce"], indirect=True)


@pytest.fixture
def make_trial(make_trial):
    return partial(make_trial, PongPG, SMALL)


def untrained(**changes):
    """A learner without actors."""
    return PongPG.untrained(PGConfig(**SMALL | changes))


@pytest.fixture(scope="module", params=METHODS)
def run(request, ray_cluster, home, tmp_path_factory):
    """Two iterations on one worker: their results, the last arrays, a checkpoint between them, and the settings."""
    checkpoint = tmp_path_factory.mktemp("run") / "checkpoint"
    settings = METHODS[request.param]
    trial = PongPG(config=SMALL | settings)
    first = trial.train()
    trial.save(str(checkpoint))
    results = [first, trial.train()]
    trial.stop()
    return results, trial.arrays, checkpoint, settings


@pytest.mark.parametrize("num_workers", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_two_and_three_workers_give_the_results_of_one_bit_for_bit(make_trial, run, num_workers):
    expected, expected_arrays, _, settings = run
    trial = make_trial(num_workers=num_workers, cpus_per_worker=0.5, **settings)
    assert [untimed(trial.train()) for _ in expected] == [untimed(result) for result in expected]
    assert_same(trial.arrays, expected_arrays)


@pytest.mark.slow
@REINFORCE
def test_blocks_give_bit_identical_results_for_any_number_of_workers_and_fewer_bytes(make_trial, run):
    *_, settings = run
    one, two = (make_trial(block_size=2, num_workers=n, cpus_per_worker=0.5, **settings) for n in (1, 2))
    first, second = one.train(), two.train()
    assert_same(one.arrays, two.arrays)
    assert untimed(first) == untimed(second)
    (single, _), *_ = run
    assert first["episode_reward_batch_mean"] == single["episode_reward_batch_mean"], "the same games"
    assert first["perf/bytes_received"] == second["perf/bytes_received"] < 0.9 * single["perf/bytes_received"]
    assert first["perf/bytes_between_nodes"] == 0


def test_another_seed_gives_other_results():
    assert not np.array_equal(*(untrained(seed=seed).arrays["theta"] for seed in (4, 5)))


def test_save_restore_step_equals_step(make_trial, run):
    (first, second), arrays, checkpoint, settings = run
    continued = make_trial(num_workers=2, **settings)
    continued.restore(str(checkpoint))
    assert continued.iteration == 1
    result = continued.train()
    assert_same(continued.arrays, arrays)
    assert untimed(result) == untimed(second)
    assert [*first] == [*second] == [*result], "the same metrics in the same order: the columns of Tune's table"
    assert len(untimed(first)) > 15


@pytest.mark.slow
def test_tunes_own_check_of_save_and_restore(home, ray_cluster):
    assert validate_save_restore(PongPG, SMALL | SEGMENTS, num_gpus=0)


def test_metrics_are_plain_numbers(run):
    (first, _), *_ = run
    tunes = ("config", "date", "done", "hostname", "node_ip", "trial_id")  # what else Tune adds are numbers
    metrics = {key: value for key, value in first.items() if key not in tunes}
    assert {type(value) for value in metrics.values()} <= {int, float}
    assert json.loads(json.dumps(metrics)) == metrics


def test_the_metrics_count_what_was_played(run):
    results, *_ = run
    games = [result["episodes_this_iter"] for result in results]
    assert games == [3, 3] or SEGMENTS["slots"] <= sum(games) <= 2 * SEGMENTS["slots"]
    assert results[1]["episodes_total"] == sum(games)
    assert results[1]["timesteps_total"] == sum(result["timesteps_this_iter"] for result in results)
    means = [result["episode_reward_batch_mean"] for result in results]
    assert results[1]["episode_reward_mean"] == pytest.approx(np.average(means, weights=games))
    assert all(-21 <= result["episode_reward_mean"] <= 21 for result in results)
    num_actions = 3 if results[0]["config"].get("method", "ppo") == "ppo" else 2  # to stay is PPO's third
    assert 0 < results[0]["policy/entropy"] <= np.log(num_actions) + 1e-6


def test_the_learning_rate_halves_with_the_steps_that_were_played(run):
    results, _, _, settings = run
    updates = settings.get("updates_per_iteration", 1)
    steps = results[0]["timesteps_total"] / updates
    halvings = steps / settings["half_life"] if settings["half_life"] else 0
    rates = PGConfig().learning_rate * 0.5 ** (halvings * np.arange(2 * updates))
    assert [result["policy/learning_rate"] for result in results] == pytest.approx(
        rates.reshape(2, updates).mean(axis=1)
    )


@pytest.mark.parametrize(
    "settings", [pytest.param(METHODS["reinforce"], marks=pytest.mark.slow), METHODS["ppo"]], ids=METHODS
)
def test_with_no_learning_rate_left_nothing_moves(make_trial, settings):
    trial = make_trial(
        **settings | {"half_life": 1} | ({"updates_per_iteration": 1} if settings.get("slots", 1) else {})
    )
    first, second = trial.train(), trial.train()
    assert first["policy/update_norm"] > 0
    assert second["policy/learning_rate"] == second["policy/update_norm"] == 0


def test_a_trial_reserves_its_workers_and_nothing_for_itself():
    request = PongPG.default_resource_request({"num_workers": 3, "cpus_per_worker": 0.5})
    assert request == tune.PlacementGroupFactory([{}] + [{"CPU": 0.5}] * 3)
    spread = PongPG.default_resource_request({"num_workers": 2, "placement": "spread"})
    assert spread == tune.PlacementGroupFactory([{}] + [{"CPU": 1}] * 2, strategy="SPREAD")


def test_bad_settings_are_refused_by_the_trainable_too(home):
    with pytest.raises(ConfigError, match="num_worker"):
        PongPG(config={"num_worker": 2})


@REINFORCE
def test_a_checkpoint_of_another_network_size_is_refused(run):
    _, _, checkpoint, _ = run
    with pytest.raises(CheckpointError, match="theta"):
        untrained(hidden_size=9).restore(str(checkpoint))


def test_stopping_a_trial_gives_the_cpus_back(make_trial):
    trial = make_trial(num_workers=2)
    trial.stop()
    wait_until(lambda: ray.available_resources().get("CPU", 0) == 4, "CPUs are still held")
