"""Games from pixels, as small as they can travel: about 180 bytes a step."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from trainables.sampling.frames import DoubleFrames, stack_rows
from trainables.sampling.rollout import Trajectory

Array = np.ndarray


class PackedGame(NamedTuple):
    """A game of n steps. Of n + 1 frames, l pixels are not zero in all."""

    columns: Array  # int16 (l,), their numbers, one frame after the other
    values: Array  # int8 (l,), 1 or -1
    starts: Array  # int32 (n + 2,), where in them each frame begins, and the end
    action_n: Array  # int8 (n,)
    reward_n: Array  # int8 (n,)
    truncated: bool  # cut off by a limit: then the last frame is worth something

    @classmethod
    def of(cls, game: Trajectory) -> Self:
        """Pack a game; its last frame, which no action followed, comes along."""
        last_frame = stack_rows([game.last_obs], DoubleFrames.num_pixels)
        x_nd = sparse.vstack([game.obs_nd, last_frame], format="csr")
        columns, values, starts = x_nd.indices.astype(np.int16), x_nd.data.astype(np.int8), x_nd.indptr.astype(np.int32)
        return cls(columns, values, starts, game.action_n, game.reward_n.astype(np.int8), game.truncated)

    @property
    def frames(self) -> sparse.csr_matrix:
        """Its double frames (n + 1, 12800), float32."""
        parts = self.values.astype(np.float32), self.columns.astype(np.int32), self.starts
        return sparse.csr_matrix(parts, (len(self.starts) - 1, DoubleFrames.num_pixels))


def pack_games(weights: Array, games: Sequence[Trajectory]) -> list[PackedGame]:
    """The games alone; the weights are those of the learner, which knows them."""
    return [PackedGame.of(game) for game in games]
