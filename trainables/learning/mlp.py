"""A multilayer perceptron as pure functions of one flat parameter vector.

Everything a policy-gradient method asks of a network is a forward pass, a vector-Jacobian product (pull a gradient
back) and a Jacobian-vector product (push a direction forward). The same lines serve dense arrays and sparse rows
(``learning/inputs.py``).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from trainables.learning.inputs import Inputs, product, transposed_product

Array = np.ndarray
Tape = list[Any]
"""What ``forward`` remembers for ``vjp`` and ``jvp``: the input of every layer."""


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
        """Draw float32 parameters: weights from N(0, 1/inputs) ("Xavier", as Karpathy 2016 calls it), biases zero.

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
                cotangent_nk *= self._derivative(tape[index])
        return grad_p

    def jvp(self, theta_p: Array, tape: Tape, tangent_p: Array) -> Array:
        """Push a direction in parameter space forward to the outputs.

            jvp(v)_n = (d out_n / d theta) v

        Returns (n, k).
        """
        layers = zip(self.layers(theta_p), self.layers(tangent_p), tape, strict=True)
        _, tangent, signal = next(layers)
        signal_tangent = _affine(tangent, signal)
        for layer, tangent, signal in layers:
            signal_tangent *= self._derivative(signal)
            signal_tangent = _affine(tangent, signal) + signal_tangent @ layer.weight
        return signal_tangent

    def restrict(self, columns: Array) -> "MLP":
        """The network that sees only the inputs ``columns`` (m,).

        Where all other inputs are zero, both compute the same, and the gradient of the weights left out is zero.
        """
        return MLP((len(columns), *self.sizes[1:]), self.activation, self.bias)

    def restrict_params(self, theta_p: Array, columns: Array) -> Array:
        """The restricted network's part of this network's parameters; a copy."""
        w1_dh, rest = self._first_weight(theta_p)
        return np.concatenate([w1_dh[columns].ravel(), rest])

    def expand_params(self, restricted_p: Array, columns: Array, theta_p: Array) -> Array:
        """A copy of ``theta_p`` in which the restricted network's parameters have taken their places."""
        theta_p = theta_p.copy()
        w1_dh, rest = self._first_weight(theta_p)
        w1_dh[columns], rest[:] = self.restrict(columns)._first_weight(restricted_p)
        return theta_p

    def _first_weight(self, theta_p: Array) -> tuple[Array, Array]:
        """Views of the first weight matrix (d, h), and of all that follows it."""
        inputs, width, *_ = self.sizes
        return theta_p[: inputs * width].reshape(inputs, width), theta_p[inputs * width :]

    def _activate(self, preactivation: Array) -> Array:
        """The hidden nonlinearity, in place: every caller owns its preactivation."""
        if self.activation == "relu":
            return np.maximum(preactivation, 0, out=preactivation)
        return np.tanh(preactivation, out=preactivation)

    def _derivative(self, activation: Array) -> Array:
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
