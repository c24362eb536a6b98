"""The two forms of a loop, compiled and NumPy's, return the same bits; so nobody needs numba to repeat a result."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from trainables.learning.compiled import COMPILED
from trainables.learning.logistic import logistic_layers, noisy_argmax, noisy_argmax_numpy
from trainables.learning.optimisers import adam, adam_numpy, rmsprop, rmsprop_numpy
from trainables.learning.policies import CategoricalPolicy
from trainables.learning.products import add_rows, add_rows_numpy, product, transposed_product
from trainables.learning.returns import discounted_sum, discounted_sum_numpy
from trainables.learning.running_stats import filtered_row, filtered_row_numpy
from trainables.learning.sparse_logits import sparse_argmax, sparse_argmax_numpy, sparse_logit, sparse_logit_numpy

PLAY = """
import hashlib, sys
import numpy as np
if sys.argv[1] == "numpy":
    sys.modules["numba"] = None  # as where it is not installed: importing it fails
from trainables.learning.compiled import COMPILED
from trainables.learning.running_stats import Moments
from trainables.sampling.rollout import GameNumber
from trainables.sampling.memory_worker import FilteredWeights, TrajectoryWorker
from trainables.sampling.pixel_workers import FrameWorker, GradientWorker
assert COMPILED == (sys.argv[1] == "numba")
worker = GradientWorker("ALE/Pong-v5", hidden_size=200, gamma=0.98)
theta = 3 * worker.policy.mlp.init(np.random.default_rng(0))  # further from an even policy than a first theta is
number = GameNumber(seed=0, iteration=0, game=0)
block = worker.play_block(theta, [number])
print(block.summaries[0][:2], hashlib.sha256(b"".join(part.tobytes() for part in block.gradient)).hexdigest())
worker = FrameWorker("ALE/Pong-v5", hidden_size=200)
theta = 3 * worker.policy.mlp.init(np.random.default_rng(0))
(game,) = worker.play_block(theta, [number]).games
print(len(game.action_n), hashlib.sha256(b"".join(part.tobytes() for part in game[:5])).hexdigest())
worker = TrajectoryWorker("ALE/Pong-v5", hidden_sizes=(64, 64))
theta = worker.policy.init(np.random.default_rng(0))
seen = worker.play(FilteredWeights(theta, Moments.empty(128).filter()), number)
weights = FilteredWeights(theta, seen.moments.filter())
game = worker.play(weights, number)
print(game.summary[:2], hashlib.sha256(game.trajectory.obs_nd.tobytes()).hexdigest())
"""


def test_games_and_gradients_are_bit_identical_with_and_without_numba():
    with_numba, without = (
        subprocess.run([sys.executable, "-c", PLAY, form], capture_output=True, text=True, check=True).stdout
        for form in ("numba", "numpy")
    )
    assert with_numba == without
    assert without.count("\n") == 3


def test_both_forms_of_the_sparse_networks_outputs_add_in_the_same_order():
    assert COMPILED, "the test extra brings numba"
    rng = np.random.default_rng(0)
    for hidden in (2, 3, 7, 200, 513):  # with one unit, NumPy sums pairwise
        w1, w2 = rng.standard_normal((900, hidden), np.float32), rng.standard_normal(hidden, np.float32)
        for lit in (0, 1, 28, 66):
            row = rng.permutation(900)[: lit + 9], rng.choice([-1, 1], lit + 9).astype(np.float32), 4, 4 + lit
            room = np.empty(hidden, np.float32)
            assert sparse_logit(w1, w2, *row, room) == sparse_logit_numpy(w1, w2, *row, room)
            w2_k, noise, logits = (
                rng.standard_normal((hidden, 3), np.float32),
                rng.gumbel(size=3).astype(np.float32),
                np.empty((2, 3), np.float32),
            )
            call = w1, w2_k, *row, room
            action = sparse_argmax(*call, logits[0], noise)
            assert action == sparse_argmax_numpy(*call, logits[1], noise)
            np.testing.assert_array_equal(*logits)


@pytest.mark.parametrize("hidden_sizes", [(64, 64), (2,), (3, 2), (8, 8, 8), (513,)])  # one unit NumPy sums pairwise
def test_both_forms_of_the_tanh_networks_choice_come_to_the_same_outputs(hidden_sizes):
    policy, rng = CategoricalPolicy(128, hidden_sizes, 3), np.random.default_rng(0)
    weights, biases = logistic_layers(policy.mlp.layers(3 * policy.mlp.init(rng)))
    rooms, other_rooms = ([np.empty_like(bias) for bias in biases] for _ in range(2))
    for _ in range(50):
        input_d = rng.standard_normal(128).astype(np.float32) * (rng.random(128) < 0.3)
        noise_k = rng.gumbel(size=3).astype(np.float32)
        action = noisy_argmax(input_d, weights, biases, tuple(rooms), noise_k)
        assert action == noisy_argmax_numpy(input_d, weights, biases, tuple(other_rooms), noise_k)
        for room, other in zip(rooms, other_rooms, strict=True):
            np.testing.assert_array_equal(room, other)


def test_both_forms_of_the_filter_agree():
    rng = np.random.default_rng(0)
    mean_d, scale_d = rng.standard_normal((2, 128)).astype(np.float32)
    for row_d in (rng.integers(0, 256, 128).astype(np.uint8), rng.standard_normal(128).astype(np.float32)):
        filtered_d = filtered_row(row_d, mean_d, scale_d)
        np.testing.assert_array_equal(filtered_d, filtered_row_numpy(row_d, mean_d, scale_d))
        assert filtered_d.dtype == np.float32


def test_both_forms_of_the_discounted_sum_agree():
    rng = np.random.default_rng(0)
    for x_n in (rng.standard_normal(3000), rng.integers(-1, 2, 3000).astype(np.float32), np.zeros(0)):
        for reset_n in (np.zeros(len(x_n), bool), rng.random(len(x_n)) < 0.02):
            np.testing.assert_array_equal(discounted_sum(x_n, 0.98, reset_n), discounted_sum_numpy(x_n, 0.98, reset_n))


def test_both_forms_of_the_optimisers_take_the_same_steps():
    rng = np.random.default_rng(0)
    theta_p, mean_p, mean_square_p = rng.standard_normal((3, 10_007), np.float32)
    grad_p = rng.standard_normal(10_007, np.float32) * (rng.random(10_007) < 0.5)
    for form, numpy_form, *given in (
        (adam, adam_numpy, theta_p, grad_p, mean_p, mean_square_p**2, 1e-3),
        (rmsprop, rmsprop_numpy, theta_p, grad_p, mean_square_p**2, 0.99, 1e-3),
    ):
        for array, expected_array in zip(form(*given), numpy_form(*given), strict=True):
            np.testing.assert_array_equal(array, expected_array)
            assert array.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_products_add_in_scipys_order(dtype):
    rng = np.random.default_rng(0)
    x_nd = sparse.random(70, 40, 0.2, "csr", dtype, rng)
    weight_dh, y_nh = rng.standard_normal((40, 13)).astype(dtype), rng.standard_normal((70, 13)).astype(dtype)
    np.testing.assert_array_equal(product(x_nd, weight_dh), x_nd @ weight_dh)
    out_dh = np.full((40, 13), np.nan, dtype)
    transposed_product(x_nd, y_nh, out_dh)
    np.testing.assert_array_equal(out_dh, x_nd.T @ y_nh)


@pytest.mark.parametrize("rows", ["once", "again and again"])
def test_both_forms_of_adding_rows_add_in_the_same_order(rows):
    rng = np.random.default_rng(0)
    grad, sign = rng.standard_normal((50, 7), np.float32), rng.choice([-1, 1], 20).astype(np.float32)
    if rows == "once":  # a game's gradient, to the batch's
        rows, group = rng.permutation(50)[:20].astype(np.int32), rng.integers(0, 9, 20).astype(np.int32)
        total = np.stack([rng.standard_normal((50, 7), np.float32)] * 2)
    else:  # weights of pixels that are alike
        rows, group = rng.integers(0, 4, 20).astype(np.int32), rng.permutation(50)[:20].astype(np.int32)
        total = np.zeros((2, 50, 7), np.float32)
    for form, array in zip((add_rows, add_rows_numpy), total, strict=True):
        form(array, rows, grad, group, sign)
    np.testing.assert_array_equal(*total)


def test_the_logistic_network_is_the_tanh_network():
    policy, rng = CategoricalPolicy(5, (7, 6), 3), np.random.default_rng(0)
    theta_p = policy.mlp.init(rng)
    weights, biases = logistic_layers(policy.mlp.layers(theta_p))
    outputs = tuple(np.empty_like(bias) for bias in biases)
    for input_d in rng.standard_normal((20, 5), np.float32):
        noisy_argmax(input_d, weights, biases, outputs, np.zeros(3, np.float32))
        np.testing.assert_allclose(outputs[-1], policy.mlp.forward(theta_p, input_d[None])[0][0], atol=1e-5)
