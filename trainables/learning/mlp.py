"""A multilayer perceptron as pure functions of one flat parameter vector.

Everything a policy-gradient method asks of a network is a forward pass, a vector-Jacobian product (pull a gradient
back) and a Jacobian-vector product (push a direction forward). The same lines serve dense arrays and sparse rows
(``learning/products.py``).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from trainables.learning.products import Inputs, product, transposed_product

Array = np.ndarray
Tape = list[Inputs]
"""What ``forward`` remembers for ``vjp`` and ``jvp``: the input of every layer."""


BLOCK = 4096
"""Rows that an update takes at once: what it makes of them, some 1 MB a layer, then stays in a core's cache."""


def row_blocks(rows: int) -> list[slice]:
    """Slices that cover ``rows`` rows, the same for every caller and machine, so that sums over them are, too."""
    return [slice(start, start + BLOCK) for start in range(0, rows, BLOCK)]


class Layer(NamedTuple):
    """Views of one layer's parameters inside ``theta``."""

    weight: Array  # (inputs, outputs): a row per input, so that sparse inputs gather rows
    bias: Array | None  # (outputs,), or None for a network without biases


@dataclass(frozen=True)
class MLP:
    """A perceptron's shape; its parameters travel separately as ``theta_p``.

    ``sizes`` lists inputs, hidden layers and outputs. The output layer is linear.
    """

    sizes: tuple[int, ...]
    activation: Literal["relu", "tanh"] = "tanh"
    bias: bool = True

    @cached_property
    def num_params(self) -> int:
        """Entries of ``theta``."""
        return sum((inputs + self.bias) * outputs for inputs, outputs in self._shapes)

    @property
    def _shapes(self) -> list[tuple[int, int]]:
        return list(zip(self.sizes[:-1], self.sizes[1:], strict=True))

    def layers(self, theta_p: Array) -> list[Layer]:
        """Views (no copies) of every layer's weight and bias in ``theta_p``.

        Raises ValueError if ``theta_p`` has not exactly ``num_params`` entries.
        """
        if theta_p.shape != (self.num_params,):
            raise ValueError(f"theta has shape {theta_p.shape}, but sizes {self.sizes} need ({self.num_params},)")
        layers, start = [], 0
        for inputs, outputs in self._shapes:
            stop = start + inputs * outputs
            weight = theta_p[start:stop].reshape(inputs, outputs)
            bias = theta_p[stop : stop + outputs] if self.bias else None
            layers.append(Layer(weight, bias))
            start = stop + outputs * self.bias
        return layers

    def init(self, rng: np.random.Generator, output_scale: float = 1.0) -> Array:
        """Draw float32 parameters: weights from N(0, 1/inputs) ("Xavier", as in the seeds), biases zero.

        ``output_scale`` multiplies the last layer's weights; 0.1 makes a policy start close to uniform (modular_rl).
        """
        theta_p = np.zeros(self.num_params, np.float32)
        layers = self.layers(theta_p)
        for weight, _ in layers:
            weight[:] = rng.standard_normal(weight.shape, np.float32) / np.sqrt(np.float32(len(weight)))
        layers[-1].weight[:] *= np.float32(output_scale)
        return theta_p

    def forward(self, theta_p: Array, x_nd: Inputs) -> tuple[Array, Tape]:
        """Outputs (n, k) of n inputs, and the tape that ``vjp`` and ``jvp`` read."""
        tape: Tape = []
        signal: Inputs = x_nd
        *hidden, last = self.layers(theta_p)
        for layer in hidden:
            tape.append(signal)
            signal = self._activate(_affine(layer, signal))
        tape.append(signal)
        return _affine(last, signal), tape

    def vjp(self, theta_p: Array, tape: Tape, cotangent_nk: Array) -> Array:
        """Pull a gradient with respect to the outputs back to the parameters.

            vjp(c) = sum_n  (d out_n / d theta)^T c_n

        Returns (p,) in ``theta``'s dtype.
        """
        grad_p = np.empty_like(theta_p)
        layers = self.layers(theta_p)
        for index in reversed(range(len(layers))):
            grad = self.layers(grad_p)[index]
            transposed_product(tape[index], cotangent_nk, grad.weight)
            if grad.bias is not None:
                grad.bias[:] = cotangent_nk.sum(axis=0)
            if index:
                cotangent_nk = cotangent_nk @ layers[index].weight.T
                cotangent_nk *= self._slope(tape[index])
        return grad_p

    def jvp(self, theta_p: Array, tape: Tape, tangent_p: Array) -> Array:
        """Push a direction in parameter space forward to the outputs.

            jvp(v)_n = (d out_n / d theta) v

        Returns (n, k).
        """
        moved: Array | None = None  # the direction's image in the signal that enters the layer
        steps = zip(self.layers(theta_p), self.layers(tangent_p), tape, strict=True)
        for index, (layer, tangent, signal) in enumerate(steps):
            pushed = _affine(tangent, signal)
            if moved is not None:
                moved *= self._slope(tape[index])
                pushed += moved @ layer.weight
            moved = pushed
        assert moved is not None
        return moved

    def narrow(self, columns: Array) -> "MLP":
        """The network that sees only some inputs.

        Where all other inputs are zero, both compute the same, and the gradient of the rows left out is zero.
        """
        return MLP((len(columns), *self.sizes[1:]), self.activation, self.bias)

    def narrowed(self, theta_p: Array, columns: Array) -> Array:
        """The narrow network's part of this one's parameters."""
        w1_dh, rest = self._first(theta_p)
        return np.concatenate([w1_dh[columns].ravel(), rest])

    def widened(self, narrow_p: Array, columns: Array, theta_p: Array) -> Array:
        """``theta_p`` with the narrow network's parameters in their places; it stays as it is itself."""
        theta_p = theta_p.copy()
        (w1_dh, rest), (narrow_w1, narrow_rest) = self._first(theta_p), self.narrow(columns)._first(narrow_p)
        w1_dh[columns], rest[:] = narrow_w1, narrow_rest
        return theta_p

    def _first(self, theta_p: Array) -> tuple[Array, Array]:
        """Views of the first weight matrix, and of all that follows it."""
        inputs, width, *_ = self.sizes
        return theta_p[: inputs * width].reshape(inputs, width), theta_p[inputs * width :]

    def _activate(self, preactivation: Array) -> Array:
        """The hidden nonlinearity, in place: every caller owns its preactivation."""
        if self.activation == "relu":
            return np.maximum(preactivation, 0, out=preactivation)
        return np.tanh(preactivation, out=preactivation)

    def _slope(self, activation: Array) -> Array:
        """Derivative of the nonlinearity, from its own output."""
        if self.activation == "relu":
            return activation > 0
        square = activation * activation
        return np.subtract(1, square, out=square)


def _affine(layer: Layer, signal: Inputs) -> Array:
    out = product(signal, layer.weight)
    if layer.bias is not None:
        out += layer.bias
    return out
