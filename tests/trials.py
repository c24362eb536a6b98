"""What tests of both Trainables ask of a trial."""

import time

import numpy as np


def trained(trial, iterations):
    results = [trial.train() for _ in range(iterations)]
    return trial.get_arrays(), [result["episode_reward_batch_mean"] for result in results]


def assert_same(left, right):
    assert left.keys() == right.keys()
    for name, array in left.items():
        np.testing.assert_array_equal(array, right[name], err_msg=name)


def wait_until(condition, complaint, seconds=15):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.05)
