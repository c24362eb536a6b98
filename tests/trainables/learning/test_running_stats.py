"""Moments merge into the whole's, and the filter is their z-score."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.learning.running_stats import CLIP, Filter, Moments


@given(sizes=st.lists(st.integers(1, 20), min_size=1, max_size=6), shift=st.sampled_from([0.0, 1e3]))
@settings(deadline=None, derandomize=True)
def test_merged_moments_are_the_moments_of_the_whole(sizes, shift):
    rng = np.random.default_rng(sum(sizes))
    parts = [rng.normal(shift, 2, (size, 3)) for size in sizes]
    merged = Moments.empty(3)
    for part in parts:
        merged = merged.merge(Moments.of(part))
    whole = Moments.of(np.concatenate(parts))
    assert merged.rows == whole.rows == sum(sizes)
    np.testing.assert_allclose(merged.mean_d, whole.mean_d)
    np.testing.assert_allclose(merged.squares_d, whole.squares_d, rtol=1e-6, atol=1e-9)


def test_bytes_do_not_overflow():
    x_nd = np.random.default_rng(0).integers(0, 256, (1000, 4), dtype=np.uint8)
    moments = Moments.of(x_nd)
    np.testing.assert_allclose(moments.mean_d, x_nd.astype(float).mean(axis=0))
    np.testing.assert_allclose(moments.squares_d / 999, x_nd.astype(float).var(axis=0, ddof=1))


def test_filtered_observations_have_mean_0_and_deviation_1():
    x_nd = np.random.default_rng(0).normal([5, -100], [0.1, 30], (2000, 2)).astype(np.float32)
    y_nd = Moments.of(x_nd).filter()(x_nd)
    assert y_nd.dtype == np.float32
    np.testing.assert_allclose(y_nd.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(y_nd.std(axis=0), 1, atol=1e-2)


def test_outliers_are_clipped_and_inputs_that_stand_still_are_zero():
    x_nd = np.column_stack([[0.0] * 999 + [1000.0], np.full(1000, 62.0)])
    y_nd = Moments.of(x_nd).filter()(x_nd)
    assert y_nd[-1, 0] == CLIP
    assert not y_nd[:, 1].any()


@pytest.mark.parametrize("count", [0, 1])
def test_without_statistics_the_filter_only_clips(count):
    see = Moments.of(np.full((1, 2), 7.0)).filter() if count else Moments.empty(2).filter()
    np.testing.assert_array_equal(see(np.array([[1, 200]], np.uint8)), [[1, CLIP]])


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_a_row_at_a_time_is_the_same(dtype):
    x_nd = np.random.default_rng(0).integers(0, 256, (50, 6)).astype(dtype)
    see = Moments.of(x_nd[:20] // 2).filter()
    see_row = see.row_filter()
    np.testing.assert_array_equal(np.stack([see_row(x_d) for x_d in x_nd]), see(x_nd))


def test_filters_leave_their_input_alone():
    x_nd = np.ones((2, 3), np.float32)
    see = Filter(np.full(3, 0.5, np.float32), np.full(3, 2, np.float32))
    see(x_nd)
    see.row_filter()(x_nd[0])
    np.testing.assert_array_equal(x_nd, 1)
