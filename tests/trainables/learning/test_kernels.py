"""Each compiled loop against its plain NumPy form: the same bits, since both add in the same order."""

import importlib
import resource
import runpy

import numpy as np
import pytest
from scipy import sparse

from tests.helpers import numpy_kernels
from trainables.learning import kernels
from trainables.learning.inputs import SparseRows, product, transposed_product
from trainables.learning.kernels import (
    adam_step,
    add_rows,
    discounted_sum,
    filtered_row,
    rmsprop_step,
    sparse_argmax,
    sparse_logit,
    tanh_argmax,
)
from trainables.learning.policies import FilteredPolicy
from trainables.sampling.console import PongConsole
from trainables.sampling.frames import BINARY, BOTTOM, TOP, changed_pixels, present_pixels


def test_the_sparse_networks_outputs_add_in_numpys_order():
    rng = np.random.default_rng(0)
    for hidden in (2, 3, 7, 200, 513):  # with one unit, NumPy sums pairwise
        w1, w2 = rng.standard_normal((900, hidden), np.float32), rng.standard_normal(hidden, np.float32)
        for active in (0, 1, 28, 66):
            row = rng.permutation(900)[: active + 9], rng.choice([-1, 1], active + 9).astype(np.float32), 4, 4 + active
            room = np.empty(hidden, np.float32)
            assert sparse_logit(w1, w2, row, room) == numpy_kernels.sparse_logit(w1, w2, row, room)
            w2_k, noise, logits = (
                rng.standard_normal((hidden, 3), np.float32),
                rng.gumbel(size=3).astype(np.float32),
                np.empty((2, 3), np.float32),
            )
            call = w1, w2_k, row, room
            action = sparse_argmax(*call, logits[0], noise)
            assert action == numpy_kernels.sparse_argmax(*call, logits[1], noise)
            np.testing.assert_array_equal(*logits)


@pytest.mark.parametrize("hidden_sizes", [(64, 64), (2,), (3, 2), (8, 8, 8), (513,)])
def test_the_tanh_networks_choice_is_numpys(hidden_sizes):
    """Its tanh, by way of exp, and NumPy's differ in the last bits of a float32."""
    policy, rng = FilteredPolicy(128, hidden_sizes, 3), np.random.default_rng(0)
    theta_p = 3 * policy.mlp.init(rng)
    weights, biases = zip(*policy.mlp.layers(theta_p), strict=True)
    outputs, expected = (tuple(np.empty_like(bias) for bias in biases) for _ in range(2))
    for _ in range(50):
        input_d = rng.standard_normal(128).astype(np.float32) * (rng.random(128) < 0.3)
        noise_k = rng.gumbel(size=3).astype(np.float32)
        action = tanh_argmax(input_d, weights, biases, outputs, noise_k)
        assert action == numpy_kernels.tanh_argmax(input_d, weights, biases, expected, noise_k)
        for output, expected_output in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(output, expected_output, atol=3e-6)
        logit_k = policy.mlp.forward(theta_p, input_d[None])[0][0]
        np.testing.assert_allclose(outputs[-1], logit_k + noise_k, atol=1e-5)


def test_the_tanh_of_inputs_that_overflow_is_one():
    weights, biases = (np.eye(2, dtype=np.float32),) * 2, (np.zeros(2, np.float32),) * 2
    outputs = np.empty(2, np.float32), np.empty(2, np.float32)
    tanh_argmax(np.array([1e38, -1e38], np.float32), weights, biases, outputs, np.zeros(2, np.float32))
    assert outputs[0].tolist() == [1, -1]


def test_the_filter_is_numpys():
    rng = np.random.default_rng(0)
    mean_d, scale_d = rng.standard_normal((2, 128)).astype(np.float32)
    for row_d in (rng.integers(0, 256, 128).astype(np.uint8), rng.standard_normal(128).astype(np.float32)):
        filtered_d = filtered_row(row_d, mean_d, scale_d)
        np.testing.assert_array_equal(filtered_d, numpy_kernels.filtered_row(row_d, mean_d, scale_d))
        assert filtered_d.dtype == np.float32


def test_the_discounted_sum_is_scipys_filter():
    rng = np.random.default_rng(0)
    for x_n in (rng.standard_normal(3000), rng.integers(-1, 2, 3000).astype(np.float32), np.zeros(0)):
        for reset_n in (np.zeros(len(x_n), bool), rng.random(len(x_n)) < 0.02):
            np.testing.assert_array_equal(
                discounted_sum(x_n, 0.98, reset_n), numpy_kernels.discounted_sum(x_n, 0.98, reset_n)
            )


def test_the_optimisers_take_numpys_steps():
    rng = np.random.default_rng(0)
    theta_p, mean_p, mean_square_p = rng.standard_normal((3, 10_007), np.float32)
    grad_p = rng.standard_normal(10_007, np.float32) * (rng.random(10_007) < 0.5)
    for form, numpy_form, *given in (
        (adam_step, numpy_kernels.adam_step, theta_p.copy(), grad_p, mean_p, mean_square_p**2, 1e-3),
        (rmsprop_step, numpy_kernels.rmsprop_step, theta_p, grad_p, mean_square_p**2, 0.99, 1e-3),
    ):
        expected = numpy_form(*given)
        form(*given)
        written = [given[0], *(each for each in given[2:] if isinstance(each, np.ndarray))]
        for array, expected_array in zip(written, expected, strict=True):
            np.testing.assert_array_equal(array, expected_array)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_products_add_in_scipys_order(dtype):
    rng = np.random.default_rng(0)
    x_nd = sparse.random(70, 40, 0.2, "csr", dtype, rng)
    weight_dh, y_nh = rng.standard_normal((40, 13)).astype(dtype), rng.standard_normal((70, 13)).astype(dtype)
    np.testing.assert_array_equal(product(x_nd, weight_dh), x_nd @ weight_dh)
    out_dh = np.full((40, 13), np.nan, dtype)
    transposed_product(x_nd, y_nh, out_dh)
    np.testing.assert_array_equal(out_dh, x_nd.T @ y_nh)
    rows = rng.permutation(70)[:30]
    some = SparseRows.of(x_nd).take(rows)
    np.testing.assert_array_equal(product(some, weight_dh), x_nd[rows] @ weight_dh)
    transposed_product(some, y_nh[rows], out_dh)
    np.testing.assert_array_equal(out_dh, x_nd[rows].T @ y_nh[rows])
    joined = SparseRows.join([SparseRows.of(x_nd[:50]), SparseRows.of(x_nd[50:])])
    weight_dh = weight_dh.astype(np.float32)
    np.testing.assert_array_equal(product(joined, weight_dh), x_nd.astype(np.float32) @ weight_dh)


@pytest.mark.parametrize("rows", ["once", "again and again"])
def test_rows_are_added_in_scipys_order(rows):
    rng = np.random.default_rng(0)
    grad, sign = rng.standard_normal((50, 7), np.float32), rng.choice([-1, 1], 20).astype(np.float32)
    if rows == "once":  # a game's gradient, to the batch's
        rows, group = rng.permutation(50)[:20].astype(np.int32), rng.integers(0, 9, 20).astype(np.int32)
        total = np.stack([rng.standard_normal((50, 7), np.float32)] * 2)
    else:  # weights of duplicate pixels
        rows, group = rng.integers(0, 4, 20).astype(np.int32), rng.permutation(50)[:20].astype(np.int32)
        total = np.zeros((2, 50, 7), np.float32)
    for form, array in zip((add_rows, numpy_kernels.add_rows), total, strict=True):
        form(array, rows, grad, group, sign)
    np.testing.assert_array_equal(*total)


def test_pixels_of_real_frames_are_numpys():
    console, rng = PongConsole(), np.random.default_rng(0)
    console.reset(rng)
    before = np.stack([console.start_screen.view(np.uint64)[TOP:BOTTOM:2]] * 2)
    for _ in range(200):
        console.step(int(rng.integers(3, 5)))
        screen = console.ale.getScreen().view(np.uint64)
        found = []
        for form, rows in ((changed_pixels, before[0]), (numpy_kernels.changed_pixels, before[1])):
            columns, values = np.empty(9000, np.int32), np.empty(9000, np.float32)
            present = present_pixels if form is changed_pixels else numpy_kernels.present_pixels
            end = form(screen, rows, BINARY, columns, values, 3)
            end = present(rows, BINARY, columns, values, end)
            found.append((columns[3:end], values[3:end]))
        np.testing.assert_array_equal(*(columns for columns, _ in found))
        np.testing.assert_array_equal(*(values for _, values in found))


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("left", [0, 20])
def test_a_compiled_loop_whose_file_was_cut_is_compiled_anew_and_kept_again(tmp_path, monkeypatch, kind, left):
    """A power cut or a full disk cuts them."""
    (tmp_path / "a_loop.py").write_text("def loop(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("numba.config.CACHE_DIR", "")  # Who sets NUMBA_CACHE_DIR has these files elsewhere.
    loop = importlib.import_module("a_loop").loop
    assert kernels.compiled()(loop)(1.0) == 2.0
    (kept,) = tmp_path.rglob(f"*.{kind}")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:left])
    assert kernels.compiled()(loop)(1.0) == 2.0
    assert len(kept.read_bytes()) == len(whole)


def test_a_compiled_loop_that_could_not_be_kept_never_runs_in_the_form_that_was_kept_before(tmp_path, monkeypatch):
    """A full disk may have room for the small index of a loop's files, and none for the loop itself."""
    monkeypatch.setattr("numba.config.CACHE_DIR", "")  # as above
    file = tmp_path / "grown.py"
    file.write_text("def loop(x):\n    return x + 1\n")
    assert kernels.compiled()(runpy.run_path(str(file))["loop"])(1.0) == 2.0
    file.write_text("def loop(x):\n    return x + 20\n")
    longer = runpy.run_path(str(file))["loop"]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        assert kernels.compiled()(longer)(1.0) == 21.0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert kernels.compiled()(longer)(1.0) == 21.0
