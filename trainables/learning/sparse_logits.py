"""A game's step through a network of ReLU units: what it makes of one sparse observation, in a single loop.

The ReLU is a ``max``. As an ``if`` it takes 0.7 us more, since whether a unit is active is what a CPU cannot guess.
"""

import numpy as np

from trainables.learning.compiled import compiled

Array = np.ndarray

SparseRow = tuple[Array, Array, int, int]
"""One observation, (columns, values, start, stop): inputs ``columns[start:stop]`` have ``values[start:stop]``, the rest
are 0. A game's rows share their arrays; a view for each would cost a microsecond a step."""


def sparse_logit_numpy(
    w1: Array, w2: Array, columns: Array, values: Array, start: int, stop: int, hidden: Array
) -> np.float32:
    """``sparse_logit`` in NumPy.

    ``@``, BLAS ``dot`` and ``maximum`` are no slower themselves, but on CPUs with AVX-512 the emulator's next frames
    take up to 6% longer after each of them. Hence einsum, and the ReLU as a mask.
    """
    np.einsum("k,kh->h", values[start:stop], w1.take(columns[start:stop], axis=0), out=hidden)
    hidden *= hidden > 0
    hidden *= w2
    return np.add.accumulate(hidden)[-1]


@compiled(otherwise=sparse_logit_numpy)
def sparse_logit(
    w1: Array, w2: Array, columns: Array, values: Array, start: int, stop: int, hidden: Array
) -> np.float32:
    """The logit relu(x W1) w2 of one sparse observation; ``hidden`` (h,) is room to work in."""
    hidden[:] = 0
    for k in range(start, stop):
        row, value = w1[columns[k]], values[k]
        for h in range(len(hidden)):
            hidden[h] += value * row[h]
    logit = np.float32(0)
    for h in range(len(hidden)):
        logit += max(hidden[h], np.float32(0)) * w2[h]
    return logit


def sparse_argmax_numpy(
    w1: Array,
    w2: Array,
    columns: Array,
    values: Array,
    start: int,
    stop: int,
    hidden: Array,
    logits: Array,
    noise: Array,
) -> int:
    """``sparse_argmax`` in NumPy, with einsum and a mask for the reasons above."""
    np.einsum("k,kh->h", values[start:stop], w1.take(columns[start:stop], axis=0), out=hidden)
    hidden *= hidden > 0
    logits[:] = np.add.accumulate(hidden[:, None] * w2, axis=0)[-1]
    logits += noise
    return int(logits.argmax())


@compiled(otherwise=sparse_argmax_numpy)
def sparse_argmax(
    w1: Array,
    w2: Array,
    columns: Array,
    values: Array,
    start: int,
    stop: int,
    hidden: Array,
    logits: Array,
    noise: Array,
) -> int:
    """The action a with the largest (relu(x W1) W2)_a + noise_a; ``hidden`` (h,) and ``logits`` (k,) are room."""
    hidden[:] = 0
    for k in range(start, stop):
        row, value = w1[columns[k]], values[k]
        for h in range(len(hidden)):
            hidden[h] += value * row[h]
    logits[:] = 0
    for h in range(len(hidden)):
        activation = max(hidden[h], np.float32(0))
        for a in range(len(logits)):
            logits[a] += activation * w2[h, a]
    for a in range(len(logits)):
        logits[a] += noise[a]
    return int(logits.argmax())
