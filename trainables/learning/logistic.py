"""A tanh network as it runs at every step of a game: one observation in, the likeliest action after noise out.

Logistic units take the place of tanh, the same function with other weights: tanh(x) = 2 sigmoid(2x) - 1. On CPUs with
AVX-512 the emulator's next frames take 5% longer after each ``np.tanh`` of a small vector, and after each ``@``.
"""

import math

import numpy as np
from scipy.special import expit

from trainables.learning.compiled import compiled
from trainables.learning.mlp import Layer

Array = np.ndarray
Arrays = tuple[Array, ...]


def logistic_layers(layers: list[Layer]) -> tuple[Arrays, Arrays]:
    """Weights and biases of the logistic network that computes what a tanh network does."""
    weights, biases = [], []
    for index, (weight, bias) in enumerate(layers):
        assert bias is not None
        if index:  # the inputs are sigmoids s, and tanh is 2s - 1
            weight, bias = 2 * weight, bias - weight.sum(axis=0)
        if index < len(layers) - 1:
            weight, bias = 2 * weight, 2 * bias
        weights.append(weight)
        biases.append(bias)
    return tuple(weights), tuple(biases)


def noisy_argmax_numpy(input_d: Array, weights: Arrays, biases: Arrays, outputs: Arrays, noise_k: Array) -> int:
    """``noisy_argmax`` in NumPy. A sum over rows adds them one after the other, where ``@`` would not."""
    lit = input_d.nonzero()[0]
    signal, first, *rest = input_d.take(lit), weights[0].take(lit, axis=0), *weights[1:]
    for weight, bias, out in zip((first, *rest), biases, outputs, strict=True):
        np.add.reduce(weight * signal[:, None], axis=0, out=out)
        out += bias
        signal = expit(out, out=out) if out is not outputs[-1] else out
    signal += noise_k
    return int(signal.argmax())


@compiled(otherwise=noisy_argmax_numpy)
def noisy_argmax(input_d: Array, weights: Arrays, biases: Arrays, outputs: Arrays, noise_k: Array) -> int:
    """The action a with the largest logit_a + noise_a; ``outputs`` hold a layer's width each, as room to work in.

    Inputs of zero, as the filter makes of all bytes of memory that never change, are passed over.
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
                out[unit] = np.float32(1) / (np.float32(1) + math.exp(-out[unit]))
        signal = out
    for action in range(len(signal)):
        signal[action] += noise_k[action]
    return int(signal.argmax())
