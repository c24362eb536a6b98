"""Disk space: whether an experiment's checkpoints will fit, and what happens while the disk is nearly full."""

import itertools
import math
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from ray import tune
from ray.tune.experiment import Trial

from experiments.ask.schedulers import SCHEDULERS
from experiments.plan.capacity import trials_of_round
from experiments.plan.learners import GAME_STEPS, Learner
from experiments.record.spec import ExperimentSpec
from experiments.run.stop_signals import StopSignals
from trainables.checks import ConfigError
from trainables.config import Config

BESIDE_KEPT = 2
"""Checkpoints that a trial has beside the best ones while it saves: the latest, and the one that is being written."""

RESERVE_BYTES = 200 * 2**20
"""Free disk space below which nothing is written any more: for what is being written already."""

LOOK_EVERY_S = 5.0


def checkpoint_bytes(learner: Learner, spec: ExperimentSpec) -> int:
    """The most that the checkpoints of all trials take at once.

    Where all are kept, of each round of halving those of the trials that have most of them; games count as short.
    """
    configs = [learner.config_class.from_dict(config) for config in spec.configs]
    states = map(learner.trainable.untrained, configs)
    each = [sum(array.nbytes for array in state.checkpoint_arrays.values()) for state in states]
    if spec.keep_checkpoints:
        return sum(each) * (spec.keep_checkpoints + BESIDE_KEPT)
    total = sum(each) * BESIDE_KEPT
    ends = spec.rungs or [spec.budget.limits[spec.budget.time_attr]]
    for round_, (begin, end) in enumerate(itertools.pairwise([0, *ends])):
        made = [size * _saved(learner, spec, config, end - begin) for size, config in zip(each, configs, strict=True)]
        total += sum(sorted(made, reverse=True)[: trials_of_round(len(configs), round_)])
    return total


def _saved(learner: Learner, spec: ExperimentSpec, config: Config, span: int) -> int:
    """Checkpoints that a trial makes at most in a span of the budget's unit."""
    steps = learner.iteration_steps(config, GAME_STEPS) if spec.budget.unit == "timesteps" else 1
    iterations = min(math.ceil(span / steps), spec.iterations or math.inf)
    evaluated = iterations / config.eval_interval if config.eval_interval else 0
    exchanged = span / spec.interval if SCHEDULERS[spec.scheduler].saves_at_decisions else 1
    return math.ceil(iterations / spec.checkpoint_frequency) + math.ceil(evaluated) + math.ceil(exchanged)


def require_disk(storage_path: Path, learner: Learner, spec: ExperimentSpec) -> int:
    """The bytes of ``checkpoint_bytes``. Raises ConfigError if the disk has no room for them."""
    folder = next(path for path in (storage_path.absolute(), *storage_path.absolute().parents) if path.exists())
    need, free = checkpoint_bytes(learner, spec), shutil.disk_usage(folder).free
    if need + RESERVE_BYTES > free:
        hint = "" if spec.keep_checkpoints else "; --keep-checkpoints best takes less"
        raise ConfigError(
            f"--storage-path {storage_path}: checkpoints take up to {need / 1e6:,.0f} MB and"
            f" {RESERVE_BYTES / 1e6:,.0f} MB stay free, but {free / 1e6:,.0f} MB are left on that disk{hint}"
        )
    return need


class DiskGuard(tune.Callback):
    """Lets everything wait while the disk is nearly full: a file that is written then is a file lost."""

    def __init__(self, folder: Path, signals: StopSignals) -> None:
        self.folder, self._signals = folder, signals
        self._looked = 0.0

    def on_step_begin(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """Return once there is room, or once the experiment is to stop. Trials wait after their present iteration."""
        if time.monotonic() - self._looked < LOOK_EVERY_S:
            return
        waited = False
        while (free := shutil.disk_usage(self.folder).free) < RESERVE_BYTES and not self._signals.received:
            if not waited:
                print(
                    f"The disk of {self.folder} is nearly full ({free / 2**20:.0f} MB free): the experiment waits until"
                    f" there are {RESERVE_BYTES / 2**20:.0f} MB. Nothing is lost; Ctrl-C ends it.",
                    file=sys.stderr,
                    flush=True,
                )
            waited = True
            time.sleep(1)
        if waited and not self._signals.received:
            print("There is room again: going on.", file=sys.stderr, flush=True)
        self._looked = time.monotonic()
