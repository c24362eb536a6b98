"""What of rows and arrays is compared, and how the first difference is named."""

import numpy as np
import pytest

from experiments.read.recomputed import NOT_COMPARED, compare_arrays, compare_rows, compare_states
from trainables.config import PGConfig

ROW = {"episode_reward_mean": -20.5, "policy/kl": 0.1 + 0.2, "done": False, "config": PGConfig().to_dict()}


def test_what_is_not_compared_are_times_places_and_who_ended_a_trial():
    assert sorted(NOT_COMPARED) == [
        *("date", "done", "hostname", "iterations_since_restore", "node_ip", "pid", "time_since_restore"),
        *("time_this_iter_s", "time_total_s", "timestamp", "timesteps_since_restore", "trial_id"),
    ]
    apart = dict.fromkeys(NOT_COMPARED, 1) | {"perf/update_s": 2.0}
    assert compare_rows("pg", ROW, ROW | apart) is None
    faster = ROW["config"] | {"num_workers": 7, "cpus_per_worker": 0.5, "placement": "spread", "game_timeout_s": 1.0}
    assert compare_rows("pg", ROW, ROW | {"config": faster}) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policy/kl": 0.3}, "policy/kl: recorded 0.30000000000000004, recomputed 0.3"),
        ({"episode_reward_mean": 20.5}, "episode_reward_mean: recorded -20.5, recomputed 20.5"),
        ({"config": PGConfig(gamma=0.9).to_dict()}, "config.gamma: recorded 0.99, recomputed 0.9"),
        ({"a_field_to_come": 1}, "a_field_to_come: recorded nothing, recomputed 1"),
    ],
)
def test_every_other_field_is_compared_also_one_that_nobody_knows_yet(change, said):
    assert str(compare_rows("pg", ROW, ROW | change)) == said
    assert compare_rows("pg", ROW | change, ROW)


def test_an_array_of_which_one_bit_is_another_one():
    old = {"theta": np.array([[1.0, 0.0], [3.0, 4.0]], np.float32), "count": np.array(3)}
    assert compare_arrays(old, {name: array.copy() for name, array in old.items()}) is None
    new = old | {"theta": np.array([[1.0, -0.0], [3.0, 5.0]], np.float32)}
    said = "theta[0, 1], and 1 more of its 4 values: recorded 0.0, recomputed -0.0"
    assert str(compare_arrays(old, new)) == said
    assert str(compare_arrays(old, {"theta": old["theta"]})) == "count: recorded there, recomputed missing"
    wide = old | {"theta": old["theta"].astype(float)}
    assert str(compare_arrays(old, wide)) == "theta: recorded float32(2, 2), recomputed float64(2, 2)"
    assert "count[], and 0 more of its 1 values: recorded 3, recomputed 4" in str(
        compare_arrays(old, old | {"count": np.array(4)})
    )


def test_the_counters_of_a_checkpoint_that_are_other_ones():
    state = {"iteration": 3, "episodes": {"games": 5, "recent_returns": [-21.0]}, "versions": {"numpy": "1"}}
    assert compare_states(state, state | {"versions": {}}) is None
    other = state | {"episodes": {"games": 5, "recent_returns": [-20.0]}}
    assert str(compare_states(state, other)) == "episodes.recent_returns: recorded [-21.0], recomputed [-20.0]"
