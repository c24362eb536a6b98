"""Steps of optimisers, entry by entry.

Compiled because an update of a million parameters is as long as memory takes: one pass over all arrays, where NumPy
makes one for each operation, takes half the time. PPO makes dozens of these steps an update.
"""

import numpy as np

from trainables.learning.kernels import compiled

Array = np.ndarray


@compiled(nogil=True)
def rmsprop_step(theta_p: Array, grad_p: Array, mean_square_p: Array, decay: float, rate: float) -> None:
    """``RMSProp``'s step, in place: theta and the mean square are written over."""
    old, new, epsilon, rate32 = np.float32(decay), np.float32(1 - decay), np.float32(1e-5), np.float32(rate)
    for p in range(len(theta_p)):
        mean_square_p[p] = old * mean_square_p[p] + new * grad_p[p] * grad_p[p]
        theta_p[p] += rate32 * (grad_p[p] / (np.sqrt(mean_square_p[p]) + epsilon))


@compiled(nogil=True)
def adam_step(theta_p: Array, grad_p: Array, mean_p: Array, mean_square_p: Array, rate: float) -> None:
    """``Adam``'s step, in place: theta, mean and mean square are written over.

    ``rate`` is the learning rate with both bias corrections.
    """
    old, new, old_square, new_square = np.float32(0.9), np.float32(1 - 0.9), np.float32(0.999), np.float32(1 - 0.999)
    epsilon, rate32 = np.float32(1e-8), np.float32(rate)
    for p in range(len(theta_p)):
        mean_p[p] = old * mean_p[p] + new * grad_p[p]
        mean_square_p[p] = old_square * mean_square_p[p] + new_square * grad_p[p] * grad_p[p]
        theta_p[p] += rate32 * (mean_p[p] / (np.sqrt(mean_square_p[p]) + epsilon))
