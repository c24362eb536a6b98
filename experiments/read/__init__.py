"""Results for notebooks and scripts: ``from experiments import read``, then ``read.experiment("NAME")``."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.analysis.frame import Frames


def experiment(*names: str | Path, storage_path: str | Path = "results") -> "Frames":
    """One or several experiments, by name in the storage path or by any path, to take pandas frames from.

    Raises ConfigError, listing what there is, if one is not there, or if its files cannot be understood.
    """
    from experiments.analysis.frame import Frames  # with pandas, which takes half a second
    from experiments.disk.experiments import read_experiment
    from experiments.disk.spec import find

    return Frames(*(read_experiment(find(Path(storage_path), str(name))) for name in names))
