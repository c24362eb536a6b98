"""A pool's answers: those of serial play, in game order, from whichever workers there are, and however many die."""

import gc
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from tests.helpers import faults, trials
from tests.helpers.faults import FaultyWorker
from tests.helpers.trials import wait_until
from trainables.algorithms import make_algorithm
from trainables.config import PGConfig, TRPOConfig
from trainables.sampling import pool as pool_module
from trainables.sampling.pool import RolloutPool
from trainables.sampling.rollout import GameNumber
from trainables.versions import SOURCES

PIXELS = make_algorithm(PGConfig(method="reinforce", slots=0, games_per_update=2, hidden_size=10)).worker_factory()
ALGORITHM = make_algorithm(TRPOConfig.from_dict(trials.CARTPOLE | {"hidden_sizes": (4,)}))
CARTPOLE = ALGORITHM.worker_factory()
WEIGHTS = ALGORITHM.playing_weights(ALGORITHM.init(np.random.default_rng(0)))
NUMBERS = [GameNumber(0, 0, game) for game in range(5)]


class Echo(NamedTuple):
    block: tuple[GameNumber, ...]
    pid: int
    weights_sum: float


class EchoWorker:
    """Answers with what it was given; earlier games take longer, so completion order is not game order."""

    def __init__(self, scale=1.0, folder=None):
        self.scale, self.folder = scale, folder

    def play_block(self, weights, block):
        if self.folder:
            (self.folder / f"game {block[0].game}").touch()
        time.sleep(0.03 * (len(NUMBERS) - block[0].game))
        return Echo(block, os.getpid(), self.scale * float(weights.sum()))


def asked(pool, function):
    """What a function returns in the process of a pool's only worker."""
    (answer,) = pool.play(None, NUMBERS[:1], how=lambda _worker, _weights, _block: function())
    return answer


@pytest.fixture
def make_pool(ray_cluster):
    pools = []

    def make(*args, **kwargs):
        pools.append(RolloutPool(*args, **kwargs))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


@pytest.fixture(scope="module")
def shared(ray_cluster):
    """Pools of one and of two workers, which tests renew with workers of theirs."""
    pools = {count: RolloutPool(EchoWorker, count) for count in (1, 2)}
    yield pools
    for pool in pools.values():
        pool.close()


@pytest.fixture
def renewed(shared):
    def renew(make_worker, num_workers, game_timeout_s=600.0):
        pool = shared[num_workers]
        pool.renew(make_worker, game_timeout_s)
        pool.counts["worker_restarts"] = 0
        return pool

    return renew


def test_results_come_in_game_order_from_all_workers_and_none_of_an_earlier_call(renewed):
    pool = renewed(EchoWorker, 2)
    assert len({result.pid for result in pool.play(np.ones(7), NUMBERS)}) == 2
    pool.play(np.zeros(7), NUMBERS)  # begins at once, and nobody takes the answers
    results = list(pool.play(np.ones(7), NUMBERS))
    assert [result.block for result in results] == [(number,) for number in NUMBERS]
    assert {result.weights_sum for result in results} == {7.0}
    assert pool.counts["worker_restarts"] == 2, "both were at games of the call before"


def test_a_renewed_pool_plays_with_other_workers_in_the_same_processes(renewed):
    pool = renewed(EchoWorker, 1)
    before = {result.pid for result in pool.play(np.ones(7), NUMBERS)}
    pool.play(np.zeros(7), NUMBERS)  # nobody takes the answers
    pool.renew(partial(EchoWorker, 3.0), 600.0)
    results = list(pool.play(np.ones(7), NUMBERS))
    assert [result.block for result in results] == [(number,) for number in NUMBERS]
    assert ({result.weights_sum for result in results}, {result.pid for result in results}) == ({21.0}, before)
    assert pool.counts["worker_restarts"] == 0


def test_a_worker_with_other_sources_than_the_drivers_is_refused_in_one_line(ray_cluster, monkeypatch):
    monkeypatch.setitem(pool_module.ONE_THREAD, SOURCES, "0" * 64)  # goes into the environment of its process
    with pytest.raises(RuntimeError, match=r"^a rollout worker could not be built: .*\(000000000000\).*edited.*\?$"):
        RolloutPool(EchoWorker, 1)


def test_a_pool_is_renewed_also_where_games_under_way_take_longer_than_a_start_may(renewed, monkeypatch):
    pool = renewed(EchoWorker, 1)
    pool.play(np.ones(7), NUMBERS)  # three games of a task take 0.36 s
    monkeypatch.setattr(pool_module, "START_TIMEOUT_S", 0.1)
    pool.renew(EchoWorker, 600.0)
    monkeypatch.undo()
    assert [result.block for result in pool.play(np.ones(7), NUMBERS)] == [(number,) for number in NUMBERS]


def test_the_next_game_begins_before_the_caller_has_made_use_of_the_last_answer(renewed, tmp_path):
    results = renewed(partial(EchoWorker, folder=tmp_path), 1).play(np.ones(7), NUMBERS[:2])  # one game, and then one
    assert next(results).block == (NUMBERS[0],)
    wait_until((tmp_path / "game 1").exists, "the worker waits for the caller")


def test_a_pool_plays_as_one_worker_does(renewed):
    serial = PIXELS()
    theta = serial.policy.mlp.init(np.random.default_rng(0))
    for number, result in zip(NUMBERS[:3], renewed(PIXELS, 2).play(theta, NUMBERS[:3]), strict=True):
        expected = serial.play_block(theta, [number])
        for part, expected_part in zip(result.experience, expected.experience, strict=True):
            np.testing.assert_array_equal(part, expected_part)
        assert result.games == expected.games


@pytest.mark.parametrize(
    ("fault", "num_workers", "timeout_s"),  # one worker has three of the games at once when it dies in the second
    [
        (faults.die, 1, 600.0),
        pytest.param(faults.die, 2, 600.0, marks=pytest.mark.slow),
        pytest.param(faults.freeze, 2, 30.0, marks=pytest.mark.slow),
    ],
)
def test_a_worker_that_dies_or_freezes_is_replaced_and_its_game_replayed(
    renewed, tmp_path, fault, num_workers, timeout_s
):
    pool = renewed(partial(FaultyWorker, CARTPOLE, fault, (0, 1), tmp_path / "happened"), num_workers, timeout_s)
    results = list(pool.play(WEIGHTS, NUMBERS))
    assert pool.counts["worker_restarts"] == 1
    pid = int((tmp_path / "happened").read_text())
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the old worker is still there")
    for number, result in zip(NUMBERS, results, strict=True):
        expected = CARTPOLE().play(WEIGHTS, number)
        np.testing.assert_array_equal(result.experience.obs_nd, expected.obs_nd)


@pytest.mark.slow
def test_a_game_that_always_hangs_ends_in_an_error_with_worker_game_and_cause(make_pool):
    pool = make_pool(partial(FaultyWorker, CARTPOLE, faults.hang, (0, 3), None), 1, game_timeout_s=0.5)
    place = r"worker 0 in game 3 of iteration 0 \(seed 0\)"
    with pytest.raises(RuntimeError, match=f"{place} failed 3 times, at last because it did not finish within 0.5 s"):
        list(pool.play(WEIGHTS, NUMBERS[3:4]))  # no other game, which a slow machine could take for hung, too
    assert pool.counts["worker_restarts"] == 2


def test_a_bug_in_a_worker_is_an_error_at_once(renewed):
    pool = renewed(partial(FaultyWorker, CARTPOLE, faults.fail, (0, 2), None), 1)
    with pytest.raises(RuntimeError, match=r"worker 0 in game 2 of iteration 0 .* raised ZeroDivisionError: a bug"):
        list(pool.play(WEIGHTS, NUMBERS))  # games 0 to 2 are one task
    assert pool.counts["worker_restarts"] == 0


@pytest.mark.slow
def test_a_worker_that_dies_between_games_is_replaced_too(renewed):
    pool = renewed(CARTPOLE, 1)
    os.kill(asked(pool, os.getpid), signal.SIGKILL)
    assert len(list(pool.play(WEIGHTS, NUMBERS))) == len(NUMBERS)
    assert pool.counts["worker_restarts"] == 1


def stillborn(marker):
    """A worker, or, once the marker is there, the death of its process."""
    if marker.exists():
        faults.die()
    return CARTPOLE()


@pytest.mark.slow
def test_a_pool_whose_only_worker_cannot_be_replaced_ends_in_an_error(make_pool, tmp_path):
    pool = make_pool(partial(stillborn, tmp_path / "marker"), 1)
    (tmp_path / "marker").touch()
    os.kill(asked(pool, os.getpid), signal.SIGKILL)
    with pytest.raises(RuntimeError, match="the start of rollout worker 0 failed 3 times, at last because it died"):
        list(pool.play(WEIGHTS, NUMBERS))


def test_workers_that_cannot_be_are_refused(make_pool):
    with pytest.raises(RuntimeError, match="num_workers=5 with cpus_per_worker=1 does not fit: the cluster holds 4"):
        make_pool(EchoWorker, 5)
    with pytest.raises(RuntimeError, match="a rollout worker could not be built: ZeroDivisionError"):
        make_pool(faults.fail, 1)


def blas_threads():
    import scipy.linalg  # noqa: F401 - brings its own BLAS

    return {library["num_threads"] for library in threadpool_info()}


def test_an_actor_has_one_thread_in_every_blas_and_its_garbage_collector_leaves_the_libraries_alone(renewed):
    """Else threads of several actors fight for the cores, as Ray's example warns."""
    pool = renewed(PIXELS, 1)
    assert asked(pool, blas_threads) == {1}
    assert asked(pool, gc.get_freeze_count) > 50_000


@pytest.mark.slow
def test_closing_gives_the_cpus_back(make_pool):
    for _ in range(5):  # One more than the cluster has CPUs: a pool without room does not start.
        make_pool(EchoWorker, 1).close()
