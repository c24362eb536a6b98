"""Environments in the form that ``rollout`` plays: what is observed, and what an action number means."""

import numpy as np
from scipy import sparse

from trainables.sampling.frames import DifferenceFrames, SparseRow, stack_rows
from trainables.sampling.pong import DOWN, UP, PongConsole


class PongPixels:
    """Pong seen as difference frames; action 1 moves up, action 0 down (the seeds' two actions)."""

    def __init__(self, env_id: str = "ALE/Pong-v5") -> None:
        self.console = PongConsole(env_id)
        self._frames = DifferenceFrames(self.console.ale)

    def reset(self, rng: np.random.Generator) -> SparseRow:
        """Start a game. The first difference frame is zero."""
        self.console.reset(rng)
        return self._frames.reset(self.console.start_screen)

    def step(self, action: int) -> tuple[SparseRow, float, bool, bool]:
        """Move up (1) or down (0) for one agent step."""
        console = self.console
        reward = console.step(UP if action else DOWN)
        return self._frames.observe(), reward, console.terminated, console.truncated

    def stack(self, observations: list[SparseRow]) -> sparse.csr_matrix:
        """Difference frames as a sparse matrix (n, 6400)."""
        return stack_rows(observations)
