"""What tests ask of a trial and of its checkpoints."""

import json
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from trainables.checkpoints import ARRAYS, STATE, _state_sha256
from trainables.sampling.pool import array_bytes, play_to_learn


def trained(trial, iterations):
    results = [trial.train() for _ in range(iterations)]
    return trial.arrays, [result["episode_reward_batch_mean"] for result in results]


class SerialPool:
    """Plays in this process what a pool's actors play in theirs."""

    def __init__(self):
        self.counts = {"worker_restarts": 0, "bytes_received": 0, "bytes_between_nodes": 0}

    def renew(self, make_worker, _game_timeout_s):
        self.worker = make_worker()

    def play(self, weights, numbers, block_size=1, how=play_to_learn):
        for first in range(0, len(numbers), block_size):
            answer = how(self.worker, weights, tuple(numbers[first : first + block_size]))
            self.counts["bytes_received"] += array_bytes(answer)
            yield answer

    def close(self):
        pass


def serial(trainable):
    """A trainable without actors, and so without Ray: for what a trial makes of its games, whoever plays them."""

    class Serial(trainable):
        def _setup_logdir(self):
            pass

        def setup(self, config):
            self.pool = getattr(self, "pool", None) or SerialPool()
            super().setup(config)

    return Serial


def assert_same(left, right):
    assert left.keys() == right.keys()
    for name, array in left.items():
        np.testing.assert_array_equal(array, right[name], err_msg=name)


def arrays_of(checkpoint):
    return load_file(Path(checkpoint) / ARRAYS)


class Trap:
    """Whoever unpickles it creates the file ``sprung``."""

    def __init__(self, sprung):
        self.sprung = sprung

    def __reduce__(self):
        return Path.touch, (self.sprung,)


@contextmanager
def edited_state(checkpoint):
    """The content of ``state.json``, to be changed; its checksum is made right again: an attacker can do that, too."""
    path = Path(checkpoint) / STATE
    state = json.loads(path.read_text(encoding="utf-8"))
    del state["state_sha256"]
    yield state
    path.write_text(json.dumps(state | {"state_sha256": _state_sha256(state)}), encoding="utf-8")


def wait_until(condition, complaint, seconds=60):
    """The first true value of a condition."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, complaint
        time.sleep(0.05)
    return value


def untimed(result):
    """The metrics that a seed decides: all but clocks, processes, addresses and speed."""
    varying = ("perf/", "time", "timestamp", "pid", "node_ip", "date", "iterations_since", "trial_id", "config")
    return {key: value for key, value in result.items() if not key.startswith(varying)}


CARTPOLE = {
    "env_id": "CartPole-v1",
    "reset_on_reward": False,
    "coarse_coding": False,
    "hidden_sizes": (8,),
    "slots": 0,
    "timesteps_per_batch": 300,
    "num_workers": 1,
    "seed": 4,
}
"""Settings of TRPO with games of milliseconds."""

SEGMENTS = {"slots": 3, "segment_length": 400, "updates_per_iteration": 2}
"""Settings of a trial whose games go on from update to update and iteration to iteration."""
