"""The plain NumPy and SciPy form of each compiled loop: the oracle that it is compared with, bit for bit."""

import numpy as np
from scipy import sparse
from scipy.signal import lfilter

from trainables.learning.kernels import CLIP
from trainables.sampling.frames import BOTTOM, COURT, NUM_PIXELS, TOP


def sparse_logit(w1, w2, row, hidden):
    columns, values, start, stop = row
    np.einsum("k,kh->h", values[start:stop], w1.take(columns[start:stop], axis=0), out=hidden)
    hidden *= hidden > 0
    hidden *= w2
    return np.add.accumulate(hidden)[-1]


def sparse_argmax(w1, w2, row, hidden, logits, noise):
    columns, values, start, stop = row
    np.einsum("k,kh->h", values[start:stop], w1.take(columns[start:stop], axis=0), out=hidden)
    hidden *= hidden > 0
    logits[:] = np.add.accumulate(hidden[:, None] * w2, axis=0)[-1]
    logits += noise
    return int(logits.argmax())


def tanh_argmax(input_d, weights, biases, outputs, noise_k):
    """A sum over rows adds them one after the other, where ``@`` would not."""
    active = input_d.nonzero()[0]
    signal, first, *rest = input_d.take(active), weights[0].take(active, axis=0), *weights[1:]
    for weight, bias, out in zip((first, *rest), biases, outputs, strict=True):
        np.add.reduce(weight * signal[:, None], axis=0, out=out)
        out += bias
        signal = np.tanh(out, out=out) if out is not outputs[-1] else out
    signal += noise_k
    return int(signal.argmax())


def filtered_row(x_d, mean_d, scale_d):
    y_d = x_d - mean_d
    y_d *= scale_d
    return y_d.clip(-CLIP, CLIP, out=y_d)


def add_rows(total, rows, grad, group, sign):
    """Where a row comes up more than once, it has to be zero before: only then are both forms the same bits."""
    touched, place = np.unique(rows, return_inverse=True)
    sums = sparse.csr_matrix((sign, (place, np.arange(len(rows)))), (len(touched), len(rows)))
    total[touched] += sums @ grad[group]


def rmsprop_step(theta_p, grad_p, mean_square_p, decay, rate):
    new_mean_square_p = decay * mean_square_p + (1 - decay) * grad_p * grad_p
    step_p = grad_p / (np.sqrt(new_mean_square_p) + np.float32(1e-5))
    return theta_p + rate * step_p, new_mean_square_p


def adam_step(theta_p, grad_p, mean_p, mean_square_p, rate):
    new_mean_p = 0.9 * mean_p + (1 - 0.9) * grad_p
    new_mean_square_p = 0.999 * mean_square_p + (1 - 0.999) * grad_p * grad_p
    step_p = new_mean_p / (np.sqrt(new_mean_square_p) + np.float32(1e-8))
    return theta_p + rate * step_p, new_mean_p, new_mean_square_p


def discounted_sum(x_n, gamma, reset_n):
    """The recursion is a first-order linear filter run backwards through each stretch."""
    y_n = np.empty(len(x_n), np.float64)
    last = np.flatnonzero(reset_n) + 1
    for start, stop in zip([0, *last], [*last, len(x_n)], strict=True):
        y_n[start:stop] = lfilter([1.0], [1.0, -gamma], x_n[start:stop][::-1])[::-1]
    return y_n


def changed_pixels(screen, before, lit, columns, values, start):
    """Four bytes (two kept pixels) at a time: a paddle is as wide as one such word."""
    now_words, before_words = screen[TOP:BOTTOM:2].view(np.uint32), before.view(np.uint32)
    words = (now_words != before_words).ravel().nonzero()[0]
    now, then = now_words.ravel().take(words), before_words.ravel().take(words)
    difference = (lit.take(now.view(np.uint8)) - lit.take(then.view(np.uint8)))[::2]
    np.copyto(before_words, now_words)
    pixels = difference.nonzero()[0]
    stop = start + len(pixels)
    columns[start:stop] = 2 * words.take(pixels >> 1) + (pixels & 1)
    values[start:stop] = difference.take(pixels)
    return stop


def present_pixels(screen, lit, columns, values, start):
    now_words = screen.view(np.uint32)
    words = (now_words != COURT.astype(np.uint32)).ravel().nonzero()[0]
    frame = lit.take(now_words.ravel().take(words).view(np.uint8))[::2]
    pixels = frame.nonzero()[0]
    stop = start + len(pixels)
    columns[start:stop] = NUM_PIXELS + 2 * words.take(pixels >> 1) + (pixels & 1)
    values[start:stop] = 1
    return stop
