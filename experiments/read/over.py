"""When a trial is over, and how it ended: the one rule, for what is listed and for what goes on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.ask.budget import Budget
from experiments.record import names
from trainables import checkpoints


def is_over(rows: Sequence[Mapping[str, Any]], budget: Budget, before: Sequence[Budget], saved: int) -> bool:
    """Whether a trial has come to its end, and needs nothing more.

    Its last row says that it is done; not if that row ends one of the budgets that it had ``before`` it was extended,
    and not its present one. At the end of its budget a trial saves once more, so its newest checkpoint, of the
    iteration ``saved`` (0 without one), is that of its last row. A trial that diverged ends anyway.
    """
    if not rows or not rows[-1].get("done"):
        return False
    if budget.limits and budget.share(rows[-1]) == 1:
        return saved >= rows[-1]["training_iteration"]
    return bool(rows[-1].get("diverged")) or not any(earlier.ended(rows) for earlier in before if earlier.limits)


def ending(rows: Sequence[Mapping[str, Any]], budget: Budget) -> str:
    """How a trial that did not fail came to its end; a scheduler or a sweep's time budget can stop it early."""
    if rows and rows[-1].get("diverged"):
        return "diverged"
    return "finished" if rows and budget.limits and budget.share(rows[-1]) == 1 else "stopped"


def saved_iteration(folder: Path) -> int:
    """The iteration of a trial's newest whole checkpoint; 0 without one."""
    for path in reversed(names.checkpoints(folder)):
        try:
            return checkpoints.load_state(path).iteration
        except checkpoints.CheckpointError:
            continue
    return 0
