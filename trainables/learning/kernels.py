"""Compiled loops, and nothing else: the only module that knows numba.

A loop is compiled where it runs at every step of a game, or walks through the large arrays of an update. The NumPy form
of each is its oracle in the tests: the same bits, since both add one number after the other, in order.
"""

import contextlib
import math
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

Array = np.ndarray
Arrays = tuple[Array, ...]
Loop = TypeVar("Loop", bound=Callable[..., Any])

SparseRow = tuple[Array, Array, int, int]
"""One observation, (columns, values, start, stop): inputs ``columns[start:stop]`` have ``values[start:stop]``, the rest
are 0. The rows of a game share their arrays; a view for each would cost a microsecond a step."""

CLIP = np.float32(5)
"""Filtered observations lie within this many standard deviations."""


def _kept() -> bool:
    """Whether what is compiled can be kept on disk, beside this file or in the user's cache folder."""
    try:
        numba.njit(cache=True)(_kept)
    except RuntimeError:
        print("Compiled loops cannot be kept on disk: each process compiles its own, for 1 to 2 s.", file=sys.stderr)
        return False
    return True


KEPT = _kept()


def compiled(nogil: bool = False) -> Callable[[Loop], Loop]:
    """Decorator: compile the loop when it is first called, and keep the result on disk if that can be.

    ``nogil`` lets other threads run meanwhile: right for a loop of a millisecond, too dear for one of a microsecond.
    Divisions by zero are NumPy's: infinite, without an error.
    """

    def decorate(loop: Loop) -> Loop:
        dispatcher = numba.njit(cache=KEPT, nogil=nogil, error_model="numpy")(loop)
        cache = getattr(dispatcher, "_cache", None)
        if cache:  # There is none where NUMBA_DISABLE_JIT leaves the loop as it is.
            _forgive(cache)
        return dispatcher  # type: ignore[return-value]

    return decorate


def _forgive(cache: Any) -> None:
    """Have a loop's file that cannot be used be made anew, and one that cannot be written be left out.

    A power cut or a full disk cuts such files, and numba raises whatever their remains make pickle raise.
    """
    load, save = cache.load_overload, cache.save_overload

    def load_overload(signature: Any, target_context: Any) -> Any:
        try:
            return load(signature, target_context)
        except Exception:  # whatever pickle makes of what is left
            with contextlib.suppress(OSError):
                cache.flush()
            return None

    def save_overload(signature: Any, data: Any) -> None:
        try:
            save(signature, data)
        except OSError:
            # The loop's index may be on disk, and name a file that an older form of the loop has left there.
            with contextlib.suppress(OSError):
                cache.flush()

    cache.load_overload, cache.save_overload = load_overload, save_overload


# Every step of a game. Compiled because the emulator takes 190 us for one, and each call of NumPy 1 us and more.
# The ReLU is a ``max``: as an ``if`` it takes 0.7 us more, since a CPU cannot guess which units are active.


@compiled()
def _weighted_sum(weight_dh: Array, row: SparseRow, out_h: Array) -> None:
    """x W of one sparse observation, into ``out_h`` (h,).

    Four terms at a time, added in the same order as one by one, take 0.7 of the time: the sum so far is read and
    written once for four rows of weights.
    """
    columns, values, start, stop = row
    out_h[:] = 0
    k = start
    while k + 4 <= stop:
        a, b, c, d = values[k], values[k + 1], values[k + 2], values[k + 3]
        a_h, b_h = weight_dh[columns[k]], weight_dh[columns[k + 1]]
        c_h, d_h = weight_dh[columns[k + 2]], weight_dh[columns[k + 3]]
        for h in range(len(out_h)):
            out_h[h] = out_h[h] + a * a_h[h] + b * b_h[h] + c * c_h[h] + d * d_h[h]
        k += 4
    while k < stop:
        value, weight_h = values[k], weight_dh[columns[k]]
        for h in range(len(out_h)):
            out_h[h] += value * weight_h[h]
        k += 1


@compiled()
def sparse_logit(w1: Array, w2: Array, row: SparseRow, hidden: Array) -> np.float32:
    """The logit relu(x W1) w2 of one sparse observation x, with W1 (d, h) and w2 (h,); ``hidden`` (h,) is scratch."""
    _weighted_sum(w1, row, hidden)
    logit = np.float32(0)
    for h in range(len(hidden)):
        logit += max(hidden[h], np.float32(0)) * w2[h]
    return logit


@compiled()
def sparse_argmax(w1: Array, w2: Array, row: SparseRow, hidden: Array, logits: Array, noise: Array) -> int:
    """The action a with the largest (relu(x W1) W2)_a + noise_a, with W2 (h, k); ``hidden``, ``logits`` are scratch."""
    _weighted_sum(w1, row, hidden)
    logits[:] = 0
    for h in range(len(hidden)):
        activation = max(hidden[h], np.float32(0))
        for a in range(len(logits)):
            logits[a] += activation * w2[h, a]
    for a in range(len(logits)):
        logits[a] += noise[a]
    return int(logits.argmax())


@compiled()
def tanh_argmax(input_d: Array, weights: Arrays, biases: Arrays, outputs: Arrays, noise_k: Array) -> int:
    """The action a with the largest logit_a + noise_a of a tanh network; ``outputs`` hold a layer each, as scratch.

    Inputs of zero, as the filter makes of all bytes of memory that never change, are passed over.
    tanh(x) = 1 - 2 / (1 + exp(2 x)) takes 1 us less for 128 units than ``math.tanh``.
    """
    signal = input_d
    for index in range(len(weights)):
        weight, bias, out = weights[index], biases[index], outputs[index]
        out[:] = 0
        for row in range(len(signal)):
            value = signal[row]
            if value != 0:
                for unit in range(len(out)):
                    out[unit] += value * weight[row, unit]
        for unit in range(len(out)):
            out[unit] += bias[unit]
            if index < len(weights) - 1:
                out[unit] = np.float32(1) - np.float32(2) / (np.float32(1) + math.exp(np.float32(2) * out[unit]))
        signal = out
    for action in range(len(signal)):
        signal[action] += noise_k[action]
    return int(signal.argmax())


@compiled()
def filtered_row(x_d: Array, mean_d: Array, scale_d: Array) -> Array:
    """clip((x - mean) * scale, -CLIP, CLIP) of one observation (d,); returns float32."""
    y_d = np.empty_like(mean_d)
    for d in range(len(y_d)):
        y = (np.float32(x_d[d]) - mean_d[d]) * scale_d[d]
        y_d[d] = min(max(y, -CLIP), CLIP)
    return y_d


# Products of sparse and dense matrices, and sums of rows. Compiled because they are most of an update's arithmetic:
# SciPy's products take half as long again, and its transposed one fills an array of its own, which is then copied.


@compiled(nogil=True)
def sparse_product(starts: Array, stops: Array, columns: Array, values: Array, weight_dh: Array, out_nh: Array) -> None:
    """Row n of ``out_nh`` becomes the sum of ``values[k] * weight_dh[columns[k]]``, k = starts[n] .. stops[n] - 1."""
    for n in range(len(out_nh)):
        _weighted_sum(weight_dh, (columns, values, starts[n], stops[n]), out_nh[n])


@compiled(nogil=True)
def sparse_transposed_product(
    starts: Array, stops: Array, columns: Array, values: Array, y_nh: Array, out_dh: Array
) -> None:
    """Row d of ``out_dh`` becomes the sum of ``values[k] * y_nh[n]`` over all k in row n with ``columns[k]`` = d."""
    out_dh[:] = 0
    for n in range(len(y_nh)):
        y_h = y_nh[n]
        for k in range(starts[n], stops[n]):
            value, out_h = values[k], out_dh[columns[k]]
            for h in range(len(y_h)):
                out_h[h] += value * y_h[h]


@compiled()
def add_rows(total: Array, rows: Array, grad: Array, group: Array, sign: Array) -> None:
    """Add, in place, ``sign[j] * grad[group[j]]`` to row ``rows[j]`` of ``total``, for all j in turn."""
    for j in range(len(rows)):
        total_row, grad_row, factor = total[rows[j]], grad[group[j]], sign[j]
        for h in range(len(total_row)):
            total_row[h] += factor * grad_row[h]


# Compiled because each term needs the one after it: NumPy has no operation for that.


@compiled()
def discounted_sum(x_n: Array, gamma: float, reset_n: Array) -> Array:
    """Discounted sums of a sequence from each step to its end, or to the next reset; float64 (n,).

        y[t] = x[t] + gamma * y[t+1] * (1 - reset[t]),   y[n] = 0,   t = 0 .. n-1

    ``reset_n`` (bool) marks the last step of a stretch: nothing behind it reaches the steps before it.
    """
    y_n = np.empty(len(x_n), np.float64)
    ahead = 0.0
    for t in range(len(x_n) - 1, -1, -1):
        if reset_n[t]:
            ahead = 0.0
        ahead = x_n[t] + gamma * ahead
        y_n[t] = ahead
    return y_n


# Steps of optimisers. Compiled because they are as long as memory takes: one pass over all arrays, where NumPy makes
# one for each operation, takes half the time, and PPO makes dozens of these steps an update.


@compiled(nogil=True)
def rmsprop_step(theta_p: Array, grad_p: Array, mean_square_p: Array, decay: float, rate: float) -> None:
    """``RMSProp``'s step, in place: theta and the mean square are written over."""
    old, new, epsilon, rate32 = np.float32(decay), np.float32(1 - decay), np.float32(1e-5), np.float32(rate)
    for p in range(len(theta_p)):
        mean_square_p[p] = old * mean_square_p[p] + new * grad_p[p] * grad_p[p]
        theta_p[p] += rate32 * (grad_p[p] / (np.sqrt(mean_square_p[p]) + epsilon))


@compiled(nogil=True)
def adam_step(theta_p: Array, grad_p: Array, mean_p: Array, mean_square_p: Array, rate: float) -> None:
    """``Adam``'s step, in place; ``rate`` is the learning rate with both bias corrections."""
    old, new, old_square, new_square = np.float32(0.9), np.float32(1 - 0.9), np.float32(0.999), np.float32(1 - 0.999)
    epsilon, rate32 = np.float32(1e-8), np.float32(rate)
    for p in range(len(theta_p)):
        mean_p[p] = old * mean_p[p] + new * grad_p[p]
        mean_square_p[p] = old_square * mean_square_p[p] + new_square * grad_p[p] * grad_p[p]
        theta_p[p] += rate32 * (mean_p[p] / (np.sqrt(mean_square_p[p]) + epsilon))
