"""What a new experiment needs before it starts: CPUs, a free name, callbacks that are there, and room on the disk."""

import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.ask.flags import RunFlags
from experiments.disk import mirror
from experiments.plan.learners import imported
from experiments.plan.resources import ClusterResources, fewer_cores, local_cpus
from trainables.checks import ConfigError

RESERVE_BYTES = 200 * 2**20
"""Free disk space below which no write is begun: it is kept for what is being written already."""


def resources_for(run: RunFlags) -> ClusterResources:
    """What a new experiment can run on. A cluster is asked, by a Ray that is attached to it; here no Ray starts yet."""
    if not run.address:
        return ClusterResources((local_cpus(),), fewer_cores())
    from experiments.run.ray_session import start_ray  # Ray, which a plan for this machine does without

    return start_ray(run.address, run.verbose)


def require_free(run: RunFlags) -> None:
    """Raise ConfigError if a new experiment's name is taken, or if a callback cannot be imported."""
    if run.name and mirror.taken(run, run.name):
        raise ConfigError(f"--name {run.name!r} exists already in {run.storage_path}; --resume {run.name} continues it")
    for typed in run.callback:
        factory(typed)


def factory(typed: str) -> Callable[[], Any]:
    """What ``module:factory`` names. Raises ConfigError if it cannot be imported, or called."""
    _, found = imported(typed)
    if not callable(found):
        raise ConfigError(f"--callback {typed}: {found!r} cannot be called; accepted is a function or a class")
    return found


def require_room(run: RunFlags, need: int) -> None:
    """Raise ConfigError if results cannot be written, or if the disk has no room for ``need`` bytes of checkpoints."""
    path = run.folder.absolute()
    # The nearest folder that is there. os.path.exists is False, too, where this user may not look.
    above = next(folder for folder in (path, *path.parents) if os.path.exists(folder))
    if not os.path.isdir(above) or not os.access(above, os.W_OK | os.X_OK):
        raise ConfigError(f"--storage-path {run.folder} cannot be written: {above} is no folder that you may write to")
    free = free_bytes(above)
    if need + RESERVE_BYTES > free:
        hint = "" if run.kept else "; --keep-checkpoints best takes less"
        raise ConfigError(
            f"--storage-path {run.folder}: checkpoints take up to {need / 1e6:,.0f} MB and"
            f" {RESERVE_BYTES / 1e6:,.0f} MB stay free, but {free / 1e6:,.0f} MB are left on that disk{hint}"
        )


def free_bytes(folder: Path) -> float:
    """Bytes that are free on a folder's disk; infinity where its file system does not say, as some of FUSE do not."""
    disk = shutil.disk_usage(folder)
    return disk.free if disk.total else math.inf
