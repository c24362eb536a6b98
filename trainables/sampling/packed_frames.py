"""Frames as small as they can travel: about 180 bytes a step."""

from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from trainables.learning.inputs import SparseRows

Array = np.ndarray


class PackedFrames(NamedTuple):
    """n double frames, of which l pixels are not zero in all."""

    columns: Array  # int16 (l,), their numbers, one frame after the other
    values: Array  # int8 (l,), 1 or -1
    starts: Array  # int32 (n + 1,), where in them each frame begins, and the end

    @classmethod
    def of(cls, x_nd: sparse.csr_matrix) -> Self:
        """Pack frames (n, 12800)."""
        return cls(x_nd.indices.astype(np.int16), x_nd.data.astype(np.int8), x_nd.indptr.astype(np.int32))

    @property
    def rows(self) -> SparseRows:
        """The frames, float32."""
        parts = self.columns.astype(np.int32), self.values.astype(np.float32)
        return SparseRows(self.starts[:-1], self.starts[1:], *parts)
