"""What does the disk say of an experiment? Trials, what to restore, policies, configurations, statistics, frames."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.read.frame import Frames


def experiment(*names: str | Path, storage_path: str | Path = "results") -> "Frames":
    """One or several experiments, by name in the storage path or by any path, to take pandas frames from.

    Raises ConfigError, listing what there is, if one is not there, or if its files cannot be understood.
    """
    from experiments.read.experiments import read_experiment
    from experiments.read.frame import Frames  # the rest of this room does not need it
    from experiments.record.spec import find

    return Frames(*(read_experiment(find(Path(storage_path), str(name))) for name in names))
