"""The recursion of returns and advantages.

Compiled because each term needs the one after it, so that NumPy has no operation for it but a filter of SciPy, whose
import takes half a second of every process that starts.
"""

import numpy as np

from trainables.learning.kernels import compiled

Array = np.ndarray


@compiled()
def reversed_discounted_sum(x_n: Array, gamma: float, reset_n: Array) -> Array:
    """y[t] = x[t] + gamma * y[t+1] * (1 - reset[t]), from the last t to the first; float64 (n,)."""
    y_n = np.empty(len(x_n), np.float64)
    ahead = 0.0
    for t in range(len(x_n) - 1, -1, -1):
        if reset_n[t]:
            ahead = 0.0
        ahead = x_n[t] + gamma * ahead
        y_n[t] = ahead
    return y_n
