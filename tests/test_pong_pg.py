import json
from functools import partial

import numpy as np
import pytest
import ray
from ray import tune
from ray.tune.utils import validate_save_restore

from tests.trials import assert_same, trained, untimed, wait_until
from trainables.checkpoints import CheckpointError
from trainables.checks import ConfigError
from trainables.pong_pg import PongPG

SMALL = {"hidden_size": 8, "batch_size": 3, "num_workers": 1, "seed": 4, "eval_interval": 0}
METHODS = pytest.mark.parametrize("method", ["reinforce", "ppo"])


@pytest.fixture
def make_trial(make_trial):
    return partial(make_trial, PongPG, SMALL)


@METHODS
def test_one_two_and_three_workers_give_bit_identical_results(make_trial, method):
    runs = [trained(make_trial(num_workers=n, cpus_per_worker=0.5, method=method), 2) for n in (1, 2, 3)]
    for arrays, returns in runs[1:]:
        assert_same(arrays, runs[0][0])
        assert returns == runs[0][1]


def test_blocks_give_bit_identical_results_for_any_number_of_workers_and_fewer_bytes(make_trial):
    one, two = (make_trial(block_size=2, num_workers=n, cpus_per_worker=0.5) for n in (1, 2))
    first, second = one.train(), two.train()
    assert_same(one.get_arrays(), two.get_arrays())
    assert untimed(first) == untimed(second)
    single = make_trial().train()
    assert first["episode_reward_batch_mean"] == single["episode_reward_batch_mean"], "the same games"
    assert first["perf/bytes_received"] == second["perf/bytes_received"] < 0.9 * single["perf/bytes_received"]
    assert first["perf/bytes_between_nodes"] == 0


def test_another_seed_gives_other_results(make_trial):
    assert not np.array_equal(*(make_trial(seed=seed).get_arrays()["theta"] for seed in (4, 5)))


@pytest.mark.parametrize(("method", "optimiser"), [("reinforce", "rmsprop"), ("reinforce", "adam"), ("ppo", "adam")])
def test_save_restore_step_equals_step(make_trial, tmp_path, method, optimiser):
    undisturbed = make_trial(method=method, optimiser=optimiser)
    undisturbed.train()
    undisturbed.save(str(tmp_path / "checkpoint"))
    continued = make_trial(num_workers=2, method=method, optimiser=optimiser)
    continued.restore(str(tmp_path / "checkpoint"))
    assert continued.iteration == 1
    first, second = undisturbed.train(), continued.train()
    assert_same(undisturbed.get_arrays(), continued.get_arrays())
    assert untimed(first) == untimed(second)
    assert len(untimed(first)) > 15


def test_tunes_own_check_of_save_and_restore(home, ray_cluster):
    assert validate_save_restore(PongPG, SMALL, num_gpus=0)


@METHODS
def test_metrics_have_the_same_keys_in_the_same_order_and_are_plain_numbers(make_trial, tmp_path, method):
    trial = make_trial(method=method)
    first = trial.step()
    trial.save(str(tmp_path / "c"))
    other = make_trial(method=method)
    other.restore(str(tmp_path / "c"))
    assert [*first] == [*trial.step()] == [*other.step()]
    assert {type(value) for value in first.values()} <= {int, float}
    assert json.loads(json.dumps(first)) == first


def test_the_metrics_count_what_was_played(make_trial):
    trial = make_trial()
    results = [trial.train() for _ in range(2)]
    assert [result["episodes_total"] for result in results] == [3, 6]
    assert results[1]["timesteps_total"] == sum(result["timesteps_this_iter"] for result in results)
    assert results[1]["episode_reward_mean"] == pytest.approx(
        np.mean([result["episode_reward_batch_mean"] for result in results])
    )
    assert all(-21 <= result["episode_reward_mean"] <= 21 for result in results)
    assert 0 < results[0]["policy/entropy"] <= np.log(2) + 1e-6


def test_a_trial_reserves_its_workers_and_nothing_for_itself():
    request = PongPG.default_resource_request({"num_workers": 3, "cpus_per_worker": 0.5})
    assert request == tune.PlacementGroupFactory([{}] + [{"CPU": 0.5}] * 3)
    spread = PongPG.default_resource_request({"num_workers": 2, "placement": "spread"})
    assert spread == tune.PlacementGroupFactory([{}] + [{"CPU": 1}] * 2, strategy="SPREAD")


def test_bad_settings_are_refused_by_the_trainable_too(home):
    with pytest.raises(ConfigError, match="num_worker"):
        PongPG(config={"num_worker": 2})


def test_a_checkpoint_of_another_network_size_is_refused(make_trial, tmp_path):
    make_trial().save(str(tmp_path / "c"))
    with pytest.raises(CheckpointError, match="theta"):
        make_trial(hidden_size=9).restore(str(tmp_path / "c"))


def test_stopping_a_trial_gives_the_cpus_back(make_trial):
    trial = make_trial(num_workers=2)
    trial.stop()
    wait_until(lambda: ray.available_resources().get("CPU", 0) == 4, "CPUs are still held")
