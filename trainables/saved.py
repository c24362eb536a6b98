"""The checkpoints in a trial's folder: which of them can be used, which is the newest, and which is the best."""

import logging
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path

from trainables.checkpoints import CheckpointError, State, load_state, number, numbered

logger = logging.getLogger(__name__)


class Checkpoint:
    """A checkpoint's folder, and its state or why it cannot be used. It is read once, when that is first asked for.

    ``read`` returns the state and raises CheckpointError about a checkpoint that cannot be used. By default it looks at
    the state alone, which is cheap; one that reads the arrays, too, finds out whether training can go on from there.
    Properties of the state raise CheckpointError, in one line, where the checkpoint cannot be used.
    """

    def __init__(self, folder: Path, read: Callable[[Path], State] = load_state) -> None:
        self.folder, self._read = folder, read

    @cached_property
    def _state_or_reason(self) -> State | str:
        try:
            return self._read(self.folder)
        except CheckpointError as error:
            return str(error)

    @property
    def reason(self) -> str:
        """Why it cannot be used; empty if it can."""
        return self._state_or_reason if isinstance(self._state_or_reason, str) else ""

    @property
    def state(self) -> State:
        """All of it but its arrays."""
        if isinstance(self._state_or_reason, str):
            raise CheckpointError(self._state_or_reason)
        return self._state_or_reason

    @property
    def iteration(self) -> int:
        """Iterations made."""
        return self.state.iteration

    @property
    def steps(self) -> int:
        """Agent steps made."""
        return self.state.episodes.steps

    @property
    def score(self) -> float:
        """Mean return of its games of the last 100,000 agent steps of training; minus infinity before the first."""
        return self.state.episodes.score

    @property
    def evaluated(self) -> int:
        """The iteration of the latest evaluation before it; its own if the state does not say."""
        return int(self.state.evaluation.get("eval/iteration", self.iteration))

    @property
    def counters(self) -> dict[str, int]:
        """What it has behind it, by the names that a row of results has for it."""
        return {
            "training_iteration": self.iteration,
            "timesteps_total": self.steps,
            "episodes_total": self.state.episodes.games,
        }


class Checkpoints:
    """A trial's checkpoints, given by their folders in the order in which they were made."""

    def __init__(self, folders: Iterable[Path], read: Callable[[Path], State] = load_state) -> None:
        self.all = [Checkpoint(folder, read) for folder in folders]

    @property
    def usable(self) -> list[Checkpoint]:
        """Those that can be used, in the order in which they were made."""
        return [checkpoint for checkpoint in self.all if not checkpoint.reason]

    @property
    def damaged(self) -> list[Checkpoint]:
        """The others, each with its reason."""
        return [checkpoint for checkpoint in self.all if checkpoint.reason]

    @property
    def newest(self) -> Checkpoint | None:
        """The usable one that was made last; older ones need not be read for it. None without one."""
        for checkpoint in reversed(self.all):
            if not checkpoint.reason:
                return checkpoint
        return None

    @property
    def newest_number(self) -> int:
        """The highest number in a folder's name, whether that checkpoint can be used or not; -1 without any."""
        return number(self.all[-1].folder) if self.all else -1

    @property
    def iteration(self) -> int:
        """The iteration of the newest usable one; 0 without one."""
        return self.newest.iteration if self.newest else 0

    @property
    def best(self) -> Checkpoint | None:
        """The usable one with the highest score; of equal scores the one with most iterations. None without one."""
        return max(self.usable, key=lambda checkpoint: (checkpoint.score, checkpoint.iteration), default=None)


def usable(directory: str | Path, read: Callable[[Path], object]) -> Path:
    """``directory`` if it can be read, else the newest checkpoint beside it that can, with a warning.

    ``read`` raises CheckpointError about one that cannot. Raises CheckpointError, about ``directory``, if none can.
    """

    def read_whole(folder: Path) -> State:
        read(folder)
        return load_state(folder)

    asked = Checkpoint(Path(directory), read_whole)
    if not asked.reason:
        return asked.folder
    newest = Checkpoints(numbered(asked.folder.parent).values(), read_whole).newest
    if newest is None:
        raise CheckpointError(asked.reason)
    logger.warning("%s. Going on from %s, iteration %d, instead.", asked.reason, newest.folder, newest.iteration)
    return newest.folder
