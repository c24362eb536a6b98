"""Whole trials of each learner: the same bits here, on workers and across a restore, and what they report."""

import json
import signal
import subprocess
import sys
import time
from typing import Any, NamedTuple

import numpy as np
import pytest
from ray import tune

from tests.helpers.programs import ROOT
from tests.helpers.trials import CARTPOLE, SEGMENTS, assert_same, serial, untimed
from trainables.checkpoints import CheckpointError
from trainables.checks import ConfigError
from trainables.sampling.process import halts
from trainables.trainable import PongPG, PongTRPO

COMMON = {"num_workers": 1, "seed": 4, "eval_interval": 0}
TRPO = COMMON | {"hidden_sizes": (8, 8), "half_life": 5000}
KINDS = {
    "ppo": (PongPG, COMMON | SEGMENTS | {"hidden_size": 8, "half_life": 5000}),
    "trpo": (PongTRPO, TRPO | SEGMENTS),
    "cartpole": (PongTRPO, TRPO | CARTPOLE),
    "trpo games": (PongTRPO, TRPO | {"slots": 0, "timesteps_per_batch": 2000}),
    "reinforce": (
        PongPG,
        COMMON | {"slots": 0, "games_per_update": 3, "hidden_size": 8, "method": "reinforce", "optimiser": "rmsprop"},
    ),
}
SLOW = ("trpo games", "reinforce")


class Run(NamedTuple):
    """Two iterations in this process."""

    trainable: Any
    settings: dict[str, Any]
    results: list[dict[str, Any]]
    arrays: dict[str, np.ndarray]  # behind them
    checkpoint: Any  # between them


def of_kinds(*kinds):
    return pytest.mark.parametrize("run", kinds, indirect=True)


@pytest.fixture(
    scope="module", params=[pytest.param(kind, marks=[pytest.mark.slow] if kind in SLOW else []) for kind in KINDS]
)
def run(request, tmp_path_factory):
    trainable, settings = KINDS[request.param]
    checkpoint, trial = tmp_path_factory.mktemp("run") / "checkpoint", serial(trainable)(config=settings)
    first = trial.train()
    trial.save(str(checkpoint))
    second = trial.train()
    return Run(trainable, settings, [first, second], trial.arrays, checkpoint)


@pytest.fixture(scope="module")
def two_workers(run, reused):
    """Another trial of the same settings, on two workers."""
    return reused(run.trainable, run.settings | {"num_workers": 2})


def test_two_workers_give_the_results_of_this_process_bit_for_bit(two_workers, run):
    assert [untimed(two_workers.train()) for _ in range(2)] == [untimed(result) for result in run.results]
    assert_same(two_workers.arrays, run.arrays)


def test_save_restore_step_equals_step_also_on_two_workers(two_workers, run):
    two_workers.restore(str(run.checkpoint))
    assert two_workers.iteration == 1
    result = two_workers.train()
    assert untimed(result) == untimed(run.results[1])
    assert_same(two_workers.arrays, run.arrays)
    assert [*run.results[0]] == [*run.results[1]] == [*result], "the columns of Tune's table"
    assert len(untimed(result)) > 15


@pytest.mark.slow
@of_kinds("reinforce")
def test_blocks_of_games_give_the_same_bits_for_any_number_of_workers_in_fewer_bytes(make_trial, run):
    one, two = (make_trial(PongPG, run.settings, block_size=2, num_workers=n, cpus_per_worker=0.5) for n in (1, 2))
    first, second, single = one.train(), two.train(), run.results[0]
    assert_same(one.arrays, two.arrays)
    assert untimed(first) == untimed(second)
    assert first["episode_reward_batch_mean"] == single["episode_reward_batch_mean"], "the same games"
    assert first["perf/bytes_received"] == second["perf/bytes_received"] < 0.9 * single["perf/bytes_received"]
    assert first["perf/bytes_between_nodes"] == 0


def test_metrics_are_plain_finite_numbers_that_count_what_was_played(run):
    tunes = ("config", "date", "done", "hostname", "node_ip", "trial_id")  # what else Tune adds are numbers
    for result in run.results:
        metrics = {key: value for key, value in result.items() if key not in tunes}
        assert {type(value) for value in metrics.values()} <= {int, float}
        assert np.isfinite([*metrics.values()]).all()
        assert json.loads(json.dumps(metrics)) == metrics
    last, games = run.results[1], [result["episodes_this_iter"] for result in run.results]
    assert last["episodes_total"] == sum(games) > 2
    assert last["timesteps_total"] == sum(result["timesteps_this_iter"] for result in run.results)
    means = [result["episode_reward_batch_mean"] for result in run.results]
    if sum(games) <= 100:
        assert last["episode_reward_mean"] == pytest.approx(np.average(means, weights=games))


@of_kinds("ppo", "cartpole")
def test_steps_shrink_as_time_goes_by(run):
    name = "policy/learning_rate" if run.trainable is PongPG else "policy/max_kl"
    power = 1 if run.trainable is PongPG else 2  # the KL goes with the square of the step
    updates = run.settings["updates_per_iteration"] if run.settings["slots"] else 1
    steps = run.results[0]["timesteps_total"] / updates * np.arange(2 * updates)
    shares = (0.5 ** (power * steps / 5000)).reshape(2, updates).mean(axis=1)
    first, second = (result[name] for result in run.results)
    assert second / first == pytest.approx(shares[1] / shares[0])


@of_kinds("ppo", "cartpole")
def test_a_checkpoint_of_another_network_size_is_refused(run):
    size = {"hidden_size": 9} if run.trainable is PongPG else {"hidden_sizes": (9,)}
    with pytest.raises(CheckpointError, match="theta"):
        run.trainable.untrained(run.trainable.config_class(**run.settings | size)).restore(str(run.checkpoint))


def test_a_trial_reserves_its_workers_and_nothing_for_itself():
    request = PongPG.default_resource_request({"num_workers": 3, "cpus_per_worker": 0.5})
    assert request == tune.PlacementGroupFactory([{}] + [{"CPU": 0.5}] * 3)
    spread = PongPG.default_resource_request({"num_workers": 2, "placement": "spread"})
    assert spread == tune.PlacementGroupFactory([{}] + [{"CPU": 1}] * 2, strategy="SPREAD")


def test_impossible_settings_fail_in_their_trial_and_not_where_tune_asks_what_it_reserves():
    assert PongPG.default_resource_request({"gamma": 1.5}) == PongPG.default_resource_request({})


def test_an_environment_that_does_not_exist_is_a_bad_setting():
    with pytest.raises(ConfigError, match="did you mean 'CartPole-v1'"):
        PongTRPO(config=CARTPOLE | {"env_id": "CartPol-v1"})


def test_bad_settings_are_refused_by_the_trainable_too():
    with pytest.raises(ConfigError, match="num_worker"):
        serial(PongPG)(config={"num_worker": 2})
    with pytest.raises(ValueError, match="accepted is Discrete"):
        serial(PongTRPO)(config=CARTPOLE | {"env_id": "Pendulum-v1"})


def test_bad_settings_are_refused_with_the_same_words_where_a_trial_takes_over_processes():
    trial = PongPG.untrained(PongPG.config_class.from_dict({}))
    with pytest.raises(ConfigError, match=r"gamma=1\.5"):
        trial.reset_config({"gamma": 1.5})


def test_time_in_which_a_trial_is_halted_is_not_time_of_training():
    """As by Ctrl-Z: a process of its own is stopped here, and what it counts then is taken from a trial's time."""
    code = "import time; from trainables.sampling.process import Halts; h = Halts(0.05, 0.5); print('up', flush=True);"
    code = code.replace("print('up'", "time.sleep(1); print('up'") + " input()\nwhile not h.seconds: time.sleep(0.05)\n"
    code += "print(h.seconds)"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    process = subprocess.Popen([sys.executable, "-c", code], **pipes)
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    halted = float(process.communicate("\n")[0])
    assert halted > 1
    trial = serial(PongTRPO)(config=CARTPOLE)
    trial.observer = lambda *_: setattr(halts(), "seconds", halts().seconds + 1000)
    assert trial.step()["time_this_iter_s"] < 0
