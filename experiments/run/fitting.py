"""Tune at work on an experiment: again where it gives up."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import ray
from ray import tune

from experiments.plan.learners import Learner
from experiments.read.restored import restore
from experiments.record import folders
from experiments.record.mirror import Remote
from experiments.record.spec import ExperimentSpec
from experiments.run.console import SweepView, UpdateLines
from experiments.run.disk import DiskGuard
from experiments.run.stop_signals import StopSignals
from experiments.run.tuner import make_tuner
from experiments.run.uploads import Uploads

RESTARTS = 3
"""Times that an experiment goes on by itself after Tune gave up, as it does when Ray's memory monitor kills a trial."""


def fit_until(
    deadline: float,
    learner: Learner,
    folder: Path,
    spec: ExperimentSpec,
    signals: StopSignals,
    callbacks: Sequence[tune.Callback],
    verbose: bool,
) -> bool:
    """Have Tune run the experiment; where it gives up, go on from the last checkpoints in the time that is left.

    ``deadline`` is in seconds of ``time.monotonic``. Returns False if Tune was stopped as it gave up, or gave up each
    time.
    """
    for restarts in range(RESTARTS + 1):
        left = deadline - time.monotonic()
        if restarts and left <= 0:
            return True
        if restarts:
            print("Going on from the last checkpoints.", file=sys.stderr, flush=True)
        try:
            in_time = spec.but(time_budget_s=spec.time_budget_s and left)
            _fit(learner, folder, in_time, signals, callbacks, verbose)
            return True
        except (RuntimeError, tune.TuneError, ray.exceptions.RayError) as error:
            reason = str(error).strip().splitlines()[-1:] or [type(error).__name__]
            print(f"Ray Tune gave up: {reason[0]}", file=sys.stderr, flush=True)
            if signals.received:
                break
    return False


def _fit(
    learner: Learner,
    folder: Path,
    spec: ExperimentSpec,
    signals: StopSignals,
    others: Sequence[tune.Callback],
    verbose: bool,
) -> None:
    restored = restore(folder, spec)
    for old in folder.glob(folders.TUNE_STATES):
        old.unlink()  # of an earlier run: nobody reads it again
    view = UpdateLines(spec.budget) if len(spec.configs) == 1 else SweepView(spec)
    callbacks = [signals, DiskGuard(folder, signals), view, *others]
    if home := Remote.of(folder):
        callbacks.append(Uploads(home))
    try:
        make_tuner(learner, folder, spec, restored, callbacks, verbose).fit()
    finally:
        view.on_experiment_end([])  # which Tune leaves out where it gives up
        signals.release()
