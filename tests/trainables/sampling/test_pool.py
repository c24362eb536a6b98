import gc
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import ray
from threadpoolctl import threadpool_info

from tests.helpers import faults, trials
from tests.helpers.faults import FaultyWorker
from tests.helpers.trials import wait_until
from trainables.algorithms import make_algorithm
from trainables.config import PGConfig, TRPOConfig
from trainables.sampling import pool as pool_module
from trainables.sampling.console import PongConsole
from trainables.sampling.pool import RolloutPool
from trainables.sampling.rollout import GameNumber

PIXELS = make_algorithm(PGConfig(method="reinforce", slots=0, batch_size=2, hidden_size=10)).worker_factory()
CARTPOLE_CONFIG = TRPOConfig.from_dict(trials.CARTPOLE | {"hidden_sizes": (4,)})
CARTPOLE = make_algorithm(CARTPOLE_CONFIG).worker_factory()
NUMBERS = [GameNumber(0, 0, game) for game in range(5)]


class Echo(NamedTuple):
    block: tuple[GameNumber, ...]
    pid: int
    weights_sum: float


class EchoWorker:
    """Answers with what it was given; earlier games take longer, so completion order is not game order."""

    def play_block(self, weights, block):
        time.sleep(0.05 * (len(NUMBERS) - block[0].game))
        return Echo(block, os.getpid(), float(weights.sum()))


@pytest.fixture
def make_pool(ray_cluster):
    pools = []

    def make(*args, **kwargs):
        pools.append(RolloutPool(*args, **kwargs))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


def test_games_that_nobody_waited_for_are_not_taken_for_the_next_ones(make_pool):
    pool = make_pool(EchoWorker, 2)
    pool.play(np.zeros(7), NUMBERS)  # begins at once
    results = list(pool.play(np.ones(7), NUMBERS))
    assert [result.block for result in results] == [(number,) for number in NUMBERS]
    assert {result.weights_sum for result in results} == {7.0}
    assert pool.counts["worker_restarts"] == 2, "both were at games of the first call"


def test_a_renewed_pool_plays_with_other_workers_in_the_same_processes(make_pool):
    pool = make_pool(EchoWorker, 2)
    before = {result.pid for result in pool.play(np.ones(7), NUMBERS)}
    pool.play(np.zeros(7), NUMBERS)  # nobody takes the answers
    pool.renew(partial(Scaled, 3.0), 600.0)
    results = list(pool.play(np.ones(7), NUMBERS))
    assert [result.block for result in results] == [(number,) for number in NUMBERS]
    assert {result.weights_sum for result in results} == {21.0}
    assert {result.pid for result in results} == before
    assert pool.counts["worker_restarts"] == 0
    with pytest.raises(RuntimeError, match=r"(?s)a rollout worker could not be built: .*ZeroDivisionError"):
        pool.renew(faults.fail, 600.0)


def test_a_pool_is_renewed_also_where_games_under_way_take_longer_than_a_start_may(make_pool, monkeypatch):
    pool = make_pool(EchoWorker, 1)
    pool.play(np.ones(7), NUMBERS)  # three games of a task take 0.6 s
    monkeypatch.setattr(pool_module, "START_TIMEOUT_S", 0.1)
    pool.renew(EchoWorker, 600.0)
    monkeypatch.undo()
    assert [result.block for result in pool.play(np.ones(7), NUMBERS)] == [(number,) for number in NUMBERS]


class Scaled(EchoWorker):
    """An echo of scaled weights."""

    def __init__(self, scale):
        self.scale = scale

    def play_block(self, weights, block):
        return super().play_block(self.scale * weights, block)


class Marking(EchoWorker):
    """Leaves a file for every block that it begins."""

    def __init__(self, folder):
        self.folder = folder

    def play_block(self, weights, block):
        (self.folder / f"game {block[0].game}").touch()
        return super().play_block(weights, block)


def test_the_next_game_begins_before_the_caller_has_made_use_of_the_last_answer(make_pool, tmp_path):
    results = make_pool(partial(Marking, tmp_path), 1).play(np.ones(7), NUMBERS[:2])  # one game, and then one
    assert next(results).block == (NUMBERS[0],)
    wait_until((tmp_path / "game 1").exists, "the worker waits for the caller")


def test_results_come_in_game_order_from_all_workers(make_pool):
    pool = make_pool(EchoWorker, 3)
    results = list(pool.play(np.ones(7), NUMBERS))
    assert [result.block for result in results] == [(number,) for number in NUMBERS]
    assert len({result.pid for result in results}) == 3
    assert {result.weights_sum for result in results} == {7.0}


def test_pool_equals_serial_play(make_pool):
    serial = PIXELS()
    theta = serial.policy.mlp.init(np.random.default_rng(0))
    pooled = list(make_pool(PIXELS, 2).play(theta, NUMBERS[:3]))
    for number, result in zip(NUMBERS, pooled, strict=False):
        expected = serial.play_block(theta, [number])
        for part, expected_part in zip(result.experience, expected.experience, strict=True):
            np.testing.assert_array_equal(part, expected_part)
        assert result.games == expected.games


@pytest.fixture(scope="module")
def weights():
    algorithm = make_algorithm(CARTPOLE_CONFIG)
    return algorithm.playing_weights(algorithm.init(np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("fault", "num_workers"),  # one worker has three of the games at once when it dies in the second
    [
        (faults.die, 1),
        pytest.param(faults.die, 2, marks=pytest.mark.slow),
        pytest.param(faults.freeze, 2, marks=pytest.mark.slow),
    ],
)
def test_a_worker_that_dies_or_freezes_is_replaced_and_its_game_replayed(
    make_pool, weights, tmp_path, fault, num_workers
):
    make_faulty = partial(FaultyWorker, CARTPOLE, fault, (0, 1), tmp_path / "happened")
    pool = make_pool(make_faulty, num_workers, game_timeout_s=15.0)
    results = list(pool.play(weights, NUMBERS))
    assert pool.counts["worker_restarts"] == 1
    pid = int((tmp_path / "happened").read_text())
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the old worker is still there")
    for number, result in zip(NUMBERS, results, strict=True):
        expected = CARTPOLE().play(weights, number)
        np.testing.assert_array_equal(result.experience.obs_nd, expected.obs_nd)


@pytest.mark.slow
def test_a_game_that_always_hangs_ends_in_an_error_with_worker_game_and_cause(make_pool, weights):
    pool = make_pool(partial(FaultyWorker, CARTPOLE, faults.hang, (0, 3), None), 1, game_timeout_s=0.5)
    message = (
        r"worker 0 in game 3 of iteration 0 \(seed 0\) failed 3 times, at last because it did not finish within 0.5 s"
    )
    with pytest.raises(RuntimeError, match=message):
        list(pool.play(weights, NUMBERS[3:4]))  # no other game, which a slow machine could take for hung, too
    assert pool.counts["worker_restarts"] == 2


def test_a_bug_in_a_worker_is_an_error_at_once(make_pool, weights):
    pool = make_pool(partial(FaultyWorker, CARTPOLE, faults.fail, (0, 2), None), 1)
    with pytest.raises(RuntimeError, match=r"worker 0 in game 2 of iteration 0 .* raised ZeroDivisionError: a bug"):
        list(pool.play(weights, NUMBERS))  # games 0 to 2 are one task
    assert pool.counts["worker_restarts"] == 0


def test_a_worker_that_dies_between_games_is_replaced_too(make_pool, weights):
    pool = make_pool(CARTPOLE, 1)
    os.kill(pool.call(lambda _: os.getpid())[0], signal.SIGKILL)
    assert len(list(pool.play(weights, NUMBERS))) == len(NUMBERS)
    assert pool.counts["worker_restarts"] == 1


def stillborn(marker):
    """A worker, or, once the marker is there, the death of its process."""
    if marker.exists():
        faults.die()
    return CARTPOLE()


@pytest.mark.slow
def test_a_pool_whose_only_worker_cannot_be_replaced_ends_in_an_error(make_pool, weights, tmp_path):
    pool = make_pool(partial(stillborn, tmp_path / "marker"), 1)
    (tmp_path / "marker").touch()
    os.kill(pool.call(lambda _: os.getpid())[0], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="the start of rollout worker 0 failed 3 times, at last because it died"):
        list(pool.play(weights, NUMBERS))


def test_more_workers_than_the_cluster_holds_are_refused_at_once(make_pool):
    with pytest.raises(RuntimeError, match="5 rollout workers of 1 CPUs each do not fit: the cluster holds 4"):
        make_pool(EchoWorker, 5)


def test_a_worker_that_cannot_be_built_is_an_error_of_ours(make_pool):
    with pytest.raises(RuntimeError, match="could not be built"):
        make_pool(partial(PongConsole, "ALE/Nothing-v5"), 1)


def blas_threads(_worker):
    import scipy.linalg  # noqa: F401 - brings its own BLAS

    return {library["num_threads"] for library in threadpool_info()}


def test_an_actor_has_one_thread_in_every_blas_and_its_garbage_collector_leaves_the_libraries_alone(make_pool):
    """Else threads of several actors fight for the cores, as Ray's example warns."""
    pool = make_pool(PIXELS, 1, cpus_per_worker=2)
    assert pool.call(blas_threads) == [{1}]
    (frozen,) = pool.call(lambda _: gc.get_freeze_count())
    assert frozen > 50_000


@pytest.mark.slow
def test_closing_gives_the_cpus_back(make_pool):
    pool = make_pool(EchoWorker, 2)
    pool.close()
    wait_until(lambda: ray.available_resources().get("CPU", 0) == 4, "CPUs are still held")
