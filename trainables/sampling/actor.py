"""A rollout actor: what runs in a worker's process."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import ray

from trainables.sampling.process import freeze_imported_objects, set_malloc_thresholds
from trainables.sampling.task_queue import Block
from trainables.sampling.worker import Worker


@ray.remote
class RolloutActor:
    """A process with a worker in it, which does what a pool asks for, in turn."""

    def __init__(self, make_worker: Callable[[], Worker]) -> None:
        set_malloc_thresholds()
        self._worker = make_worker()
        freeze_imported_objects()

    def start(self) -> str:
        """Answer once the worker is built; return the node that it is on."""
        return ray.get_runtime_context().get_node_id()

    def build(self, make_worker: Callable[[], Worker]) -> str:
        """Have another worker in place of the present one; answer as ``start`` does."""
        self._worker = make_worker()
        return self.start()

    def play(self, blocks: Sequence[Block], how: Callable, *weights: Any) -> list[Any]:
        """The answers of all blocks, or of those before one that raises an error: asked for first, it does so again.

        Without ``weights``, those of the last call.
        """
        if weights:
            (self._weights,) = weights
        answers: list[Any] = []
        # A policy that diverged overflows. The learner sees it in the results; a warning a layer helps nobody.
        with np.errstate(all="ignore"):
            for block in blocks:
                try:
                    answers.append(how(self._worker, self._weights, block))
                except Exception:
                    if not answers:
                        raise
                    break
        return answers

    def call(self, function: Callable[[Worker], Any]) -> Any:
        """Run a function on the worker: for tests and diagnosis."""
        return function(self._worker)
