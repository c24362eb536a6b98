import os
import time
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
import ray
from threadpoolctl import threadpool_info

from trainables.sampling.pool import RolloutPool
from trainables.sampling.rollout import GameNumber
from trainables.sampling.worker import GradientWorker

NUMBERS = [GameNumber(0, 0, game) for game in range(5)]


class Echo(NamedTuple):
    number: GameNumber
    pid: int
    weights_sum: float


class EchoWorker:
    """Answers with what it was given; earlier games take longer, so completion order is not game order."""

    def __init__(self, fatal_game=None, marker=None):
        self.fatal_game, self.marker = fatal_game, marker

    def play(self, weights, number):
        if number.game == self.fatal_game and not (self.marker and self.marker.exists()):
            if self.marker:
                self.marker.touch()
            os._exit(1)
        time.sleep(0.05 * (len(NUMBERS) - number.game))
        return Echo(number, os.getpid(), float(weights.sum()))


@pytest.fixture
def make_pool(ray_cluster):
    pools = []

    def make(*args, **kwargs):
        pools.append(RolloutPool(*args, **kwargs))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


def test_results_come_in_game_order_from_all_workers(make_pool):
    pool = make_pool(EchoWorker, 3)
    results = list(pool.play(np.ones(7), NUMBERS))
    assert [result.number for result in results] == NUMBERS
    assert len({result.pid for result in results}) == 3
    assert {result.weights_sum for result in results} == {7.0}


def test_pool_equals_serial_play(make_pool):
    make = partial(GradientWorker, "ALE/Pong-v5", 10, 0.99)
    serial = make()
    theta = serial.policy.mlp.init(np.random.default_rng(0))
    pooled = list(make_pool(make, 2).play(theta, NUMBERS[:3]))
    for number, result in zip(NUMBERS, pooled, strict=False):
        expected = serial.play(theta, number)
        np.testing.assert_array_equal(result.gradient.grad, expected.gradient.grad)
        np.testing.assert_array_equal(result.gradient.columns, expected.gradient.columns)
        assert result.summary[:3] == expected.summary[:3]


def test_a_worker_that_dies_is_replaced_and_its_game_replayed(make_pool, tmp_path):
    pool = make_pool(partial(EchoWorker, fatal_game=1, marker=tmp_path / "died"), 2)
    results = list(pool.play(np.ones(7), NUMBERS))
    assert (tmp_path / "died").exists()
    assert [result.number for result in results] == NUMBERS


def test_a_worker_that_always_dies_ends_in_one_clear_error(make_pool):
    pool = make_pool(partial(EchoWorker, fatal_game=1), 2)
    with pytest.raises(RuntimeError, match=r"rollout worker died 4 times, last in GameNumber\(.*game=1\)"):
        list(pool.play(np.ones(7), NUMBERS))


def test_a_worker_that_cannot_be_built_is_an_error_of_ours(make_pool):
    with pytest.raises(RuntimeError, match="could not be built"):
        make_pool(partial(GradientWorker, "ALE/Nothing-v5", 10, 0.99), 1)


def blas_threads(_worker):
    import scipy.linalg  # noqa: F401 - brings its own BLAS

    return {library["num_threads"] for library in threadpool_info()}


def test_every_actor_has_one_thread_in_every_blas(make_pool):
    """The seeds' troubleshooting: threads of several actors fight for the cores."""
    pool = make_pool(partial(GradientWorker, "ALE/Pong-v5", 10, 0.99), 2, cpus_per_worker=2)
    assert pool.call(blas_threads) == [{1}, {1}]


def test_closing_gives_the_cpus_back(make_pool):
    pool = make_pool(EchoWorker, 4)
    pool.close()
    deadline = time.monotonic() + 15
    while ray.available_resources().get("CPU", 0) < 4:
        assert time.monotonic() < deadline, "CPUs are still held"
        time.sleep(0.05)
