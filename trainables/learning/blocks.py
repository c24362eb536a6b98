"""Sums over a batch, block by block."""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TypeVar

import numpy as np

Array = np.ndarray
BlockT = TypeVar("BlockT")

BLOCK = 4096
"""Rows that an update takes at once: what it computes of them, some 1 MB a layer, then stays in a core's cache."""


def row_blocks(rows: int) -> list[slice]:
    """Slices that cover ``rows`` rows, the same for every caller and machine, so that sums over them are, too."""
    return [slice(start, start + BLOCK) for start in range(0, rows, BLOCK)]


def sum_over_blocks(function: Callable[[BlockT], Array | float], blocks: Iterable[BlockT]) -> Array:
    """The sum of a function of each block, in order and in float64."""
    return reduce(np.add, (np.asarray(function(block), np.float64) for block in blocks))
