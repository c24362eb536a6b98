"""What can be known before anything starts: whether the disk holds what an experiment will write."""

import shutil
from pathlib import Path

from experiments.plan.learners import Learner
from experiments.record.spec import ExperimentSpec
from experiments.run.stopping import RESERVE_BYTES
from experiments.run.tuner import KEEP
from trainables.checks import ConfigError


def checkpoint_bytes(learner: Learner, record: ExperimentSpec) -> int:
    """The most that the checkpoints of all trials take at once: those that are kept, and one that is being written."""
    states = (learner.trainable.untrained(learner.config_class.from_dict(config)) for config in record.configs)
    each = [sum(array.nbytes for array in state.arrays.values()) for state in states]
    return sum(each) * (KEEP[record.scheduler] + 1)


def require_disk(storage_path: Path, learner: Learner, record: ExperimentSpec) -> int:
    """The bytes of ``checkpoint_bytes``. Raises ConfigError if the disk has no room for them."""
    place = next(path for path in (storage_path.absolute(), *storage_path.absolute().parents) if path.exists())
    need, free = checkpoint_bytes(learner, record), shutil.disk_usage(place).free
    if need + RESERVE_BYTES > free:
        raise ConfigError(
            f"--storage-path {storage_path}: checkpoints take up to {need / 1e6:,.0f} MB and"
            f" {RESERVE_BYTES / 1e6:,.0f} MB stay free, but {free / 1e6:,.0f} MB are left on that disk"
        )
    return need
