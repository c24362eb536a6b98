import json
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from ray.tune.utils import validate_save_restore

from search_spaces import pong_trpo
from tests.helpers.trials import SEGMENTS, assert_same, trained, untimed
from trainables.algorithms.trpo import TRPO, advantages
from trainables.checkpoints import CheckpointError
from trainables.checks import ConfigError
from trainables.config import TRPOConfig
from trainables.learning.running_stats import Moments
from trainables.sampling.rollout import GameNumber, Trajectory
from trainables.trainable import PongTRPO

CARTPOLE = pong_trpo.PRESETS["cartpole"] | {"gamma": 0.99, "timesteps_per_batch": 1000, "eval_interval": 0}
SMALL = CARTPOLE | {"hidden_sizes": (8,), "timesteps_per_batch": 300, "num_workers": 1, "seed": 4}
PONG = SEGMENTS | {"hidden_sizes": (8, 8), "num_workers": 1, "seed": 4, "eval_interval": 0}
GAMES = PONG | {"slots": 0, "timesteps_per_batch": 2000}


@pytest.fixture(scope="module")
def learner(ray_cluster, home):
    """A trial after its first iteration, for tests that only ask it things."""
    trial = PongTRPO(config=SMALL | {"gae_lambda": 1.0})
    trial.metrics = trial.step()
    yield trial
    trial.stop()


@pytest.fixture
def make_trial(make_trial):
    return partial(make_trial, PongTRPO, SMALL)


@pytest.mark.parametrize(
    ("settings", "counts"),
    [
        pytest.param(SMALL, (1, 3), marks=pytest.mark.slow),
        pytest.param(GAMES, (1, 2), marks=pytest.mark.slow),
        pytest.param(PONG, (1, 2), marks=pytest.mark.slow),
        (PONG, (1, 3)),
    ],
    ids=["CartPole", "games", "segments on two", "segments on three"],
)
def test_any_number_of_workers_gives_bit_identical_results(make_trial, settings, counts):
    defaults = TRPOConfig().to_dict() | settings
    runs = [trained(make_trial(**defaults | {"num_workers": n, "cpus_per_worker": 0.5}), 2) for n in counts]
    for arrays, returns in runs[1:]:
        assert_same(arrays, runs[0][0])
        assert returns == runs[0][1]


def test_save_restore_step_equals_step(make_trial, tmp_path):
    undisturbed = make_trial()
    undisturbed.train()
    undisturbed.save(str(tmp_path / "checkpoint"))
    continued = make_trial(num_workers=2)
    continued.restore(str(tmp_path / "checkpoint"))
    assert_same(undisturbed.arrays, continued.arrays)
    first, second = undisturbed.train(), continued.train()
    assert_same(undisturbed.arrays, continued.arrays)
    assert untimed(first) == untimed(second)
    assert [*first] == [*second] == [*undisturbed.train()], "the columns of Tune's table"
    assert len(untimed(first)) > 20


@pytest.mark.slow
def test_tunes_own_check_of_save_and_restore(home, ray_cluster):
    assert validate_save_restore(PongTRPO, SMALL, num_gpus=0)


def test_metrics_are_plain_finite_numbers(learner):
    metrics = learner.metrics
    assert {type(value) for value in metrics.values()} <= {int, float}
    assert np.isfinite([*metrics.values()]).all()
    assert json.loads(json.dumps(metrics)) == metrics
    assert {key.split("/")[0] for key in metrics if "/" in key} == {"policy", "baseline", "perf"}


def test_the_trust_region_shrinks_with_the_steps_that_were_played(make_trial):
    trial = make_trial(max_kl=0.03, half_life=500)
    first, second = trial.train(), trial.train()
    share = 0.25 ** (first["timesteps_total"] / 500)
    assert [first["policy/max_kl"], second["policy/max_kl"]] == pytest.approx([0.03, 0.03 * share])
    assert 0 < second["policy/kl"] <= second["policy/max_kl"]


def test_games_come_in_pairs_that_hold_about_the_steps_asked_for_and_all_are_used(make_trial):
    trial = make_trial(timesteps_per_batch=1500)
    results = [trial.train() for _ in range(3)]
    for before, result in zip([None, *results], results, strict=False):
        # The first iteration probes; each later one plays as many pairs as the mean length before it suggests.
        if before is not None:
            assert result["episodes_this_iter"] == max(2 * round(1500 / before["episode_len_mean"] / 2), 2)
    assert results[0]["timesteps_this_iter"] == pytest.approx(1500, rel=0.5)
    assert trial.arrays["filter.rows"] == results[-1]["timesteps_total"], "the filter has seen every step"


def test_games_are_never_fewer_than_asked_for(make_trial):
    trial = make_trial(timesteps_per_batch=1, min_games=3)
    assert [trial.train()["episodes_this_iter"] for _ in range(2)] == [4, 3]


def test_the_filter_stands_still_while_games_are_played_and_they_bring_their_moments(learner):
    weights, worker = learner.algorithm.playing_weights(learner.arrays), learner.algorithm.worker_factory()()
    before = [array.copy() for array in weights.filter]
    played = worker.play_block(weights, [GameNumber(4, 1, game) for game in range(3)]).experience
    for array, copy in zip(weights.filter, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    together = played.moments[0].merge(played.moments[1]).merge(played.moments[2])
    whole = Moments.of(played.obs_nd)
    np.testing.assert_allclose(together.squares_d, whole.squares_d)


def test_a_game_that_was_cut_off_is_worth_its_last_state(learner):
    rng = np.random.default_rng(0)
    ended = Trajectory(rng.standard_normal((5, 4)), np.zeros(5, np.int8), np.ones(5), False, rng.standard_normal(4))
    trpo, weights = learner.algorithm, learner.algorithm.playing_weights(learner.arrays)
    games = ended, ended._replace(truncated=True)
    (*_, return_n, _), (*_, cut_return_n, _) = (
        advantages(trpo.settings, trpo.baseline, weights, game) for game in games
    )
    last_state_1d = np.append(weights.filter(ended.last_obs[None]), [[np.float32(5 * (1 - 0.99))]], axis=1)
    worth = trpo.baseline.predict(weights.value, last_state_1d)[0]
    np.testing.assert_allclose(cut_return_n - return_n, worth * 0.99 ** np.arange(5, 0, -1), rtol=1e-5)


def test_pongs_returns_and_time_restart_at_each_point():
    trpo = TRPO(TRPOConfig(**PONG | {"gamma": 0.5, "coarse_coding": False}))
    weights = trpo.playing_weights(trpo.init(np.random.default_rng(0)))
    reward_n = np.array([0, -1, 0, 0, 1], np.float32)
    game = Trajectory(np.zeros((5, 128), np.uint8), np.zeros(5, np.int8), reward_n, False, np.zeros(128, np.uint8))
    for before, first_times in ((0, [0, 0.5]), (7, [3.5, 4])):
        part = game._replace(steps_since_reward=before)
        _, time_n, _, return_n, _ = advantages(trpo.settings, trpo.baseline, weights, part)
        np.testing.assert_allclose(return_n, [-0.5, -1, 0.25, 0.5, 1])
        np.testing.assert_allclose(time_n, [*first_times, 0, 0.5, 1])


def test_without_resets_the_time_of_a_segment_was_counted_from_its_own_beginning():
    trpo = TRPO(TRPOConfig(**PONG | {"gamma": 0.5, "coarse_coding": False, "reset_on_reward": False}))
    weights = trpo.playing_weights(trpo.init(np.random.default_rng(0)))
    reward_n = np.array([0, -1, 0], np.float32)
    segment = Trajectory(
        np.zeros((3, 128), np.uint8), np.zeros(3, np.int8), reward_n, True, np.zeros(128, np.uint8), 7, 100
    )
    _, time_n, *_ = advantages(trpo.settings, trpo.baseline, weights, segment)
    np.testing.assert_allclose(time_n, [50, 50.5, 51])


def test_an_update_that_is_refused_leaves_theta_and_says_so(make_trial):
    trial = make_trial(gamma=1e-9, gae_lambda=0.0)  # every step is worth the same, so no action is better
    before = trial.arrays["theta"].copy()
    result = trial.train()
    assert result["policy/update_accepted"] == 0
    np.testing.assert_array_equal(trial.arrays["theta"], before)


def test_settings_that_do_not_fit_are_refused(make_trial):
    for name in ("reset_on_reward", "coarse_coding"):
        with pytest.raises(ConfigError, match=f"{name}=True: for Pong only; for CartPole-v1 set each to False"):
            make_trial(**{name: True})
    with pytest.raises(ConfigError, match="hidden_sizes"):
        make_trial(hidden_sizes=(64, 0))
    with pytest.raises(ValueError, match="accepted is Discrete"):
        make_trial(env_id="Pendulum-v1")


def test_a_checkpoint_of_another_network_size_is_refused(learner, tmp_path):
    learner.save(str(tmp_path / "c"))
    with pytest.raises(CheckpointError, match="theta"):
        PongTRPO.untrained(TRPOConfig(**SMALL | {"hidden_sizes": (9,)})).restore(str(tmp_path / "c"))


def batch_returns(trial) -> Iterator[float]:
    while True:
        yield trial.train()["episode_reward_batch_mean"]


def test_it_learns_to_balance_a_pole(make_trial):
    trial = make_trial(**CARTPOLE, hidden_sizes=(32, 32), num_workers=1)
    returns = batch_returns(trial)
    start = next(returns)
    assert start < 40
    assert max(next(returns) for _ in range(15)) > 150


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_solves_the_pole(make_trial, seed):
    trial = make_trial(
        **CARTPOLE | {"hidden_sizes": (64, 64), "timesteps_per_batch": 2000, "num_workers": 2, "seed": seed}
    )
    means = (trial.train()["episode_reward_mean"] for _ in range(120))
    assert any(mean >= 475 for mean in means)
