"""Ray Tune at work on an experiment: exactly its configurations, its scheduler, its callbacks, its folder."""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import ray
from ray import tune

from experiments.ask.schedulers import SCHEDULERS
from experiments.ask.storage import locate
from experiments.plan.learners import Learner
from experiments.plan.trial_names import number_of
from experiments.read.restored import RestoredTrial, restore
from experiments.record.folders import TUNE_STATES
from experiments.record.mirror import Remote
from experiments.record.spec import ExperimentSpec
from experiments.run.callbacks import DiskGuard, Flush, Uploads
from experiments.run.loggers import JsonLogger, TensorBoard
from experiments.run.progress import Progress
from experiments.run.ray_internals import ErrorText
from experiments.run.ray_session import ship
from experiments.run.rounds import Rounds
from experiments.run.stopping import Stop, StopSignals, stoppable
from experiments.run.tune_trials import PlannedTrials, TrialName
from trainables.metrics import METRIC, MODE
from trainables.versions import OtherSourcesError

RESTARTS = 3
"""Times that an experiment goes on by itself after Tune gave up, as it does when Ray's memory monitor kills a trial."""

MAX_FAILURES = 3
"""Times that a trial goes on from its last checkpoint after an error: a killed actor does no lasting harm."""


def fit(
    deadline: float,
    learner: Learner,
    folder: Path,
    spec: ExperimentSpec,
    signals: StopSignals,
    callbacks: Sequence[tune.Callback],
    verbose: bool,
    planned_s: float | None = None,
) -> bool:
    """Have Tune run the experiment; where it gives up, go on from the last checkpoints until the ``deadline``.

    That is in seconds of ``time.monotonic``. Returns False if Tune gave up each time, or was stopped as it did.
    """
    for restarts in range(RESTARTS + 1):
        left = deadline - time.monotonic()
        if restarts and left <= 0:
            return True
        if restarts:
            print("Going on from the last checkpoints.", file=sys.stderr, flush=True)
        try:
            now = spec.but(time_budget_s=spec.time_budget_s and left)
            fit_once(learner, folder, now, signals, callbacks, verbose, None if restarts else planned_s)
            return True
        except (RuntimeError, tune.TuneError, ray.exceptions.RayError) as error:
            reason = str(error).strip().splitlines()[-1:] or [type(error).__name__]
            print(f"Ray Tune gave up: {reason[0]}", file=sys.stderr, flush=True)
            if signals.received or isinstance(error, OtherSourcesError):
                break
    return False


def fit_once(
    learner: Learner,
    folder: Path,
    spec: ExperimentSpec,
    signals: StopSignals,
    others: Sequence[tune.Callback],
    verbose: bool,
    planned_s: float | None = None,
) -> None:
    """Have Tune run the experiment once. Raises an error where it gives up."""
    restored = restore(folder, spec)
    for old in folder.glob(TUNE_STATES):
        old.unlink()  # of an earlier run: nobody reads it again
    view = Progress(spec, planned_s)
    callbacks = [signals, DiskGuard(folder, signals), view, *others]
    stop = Stop(signals, spec.time_budget_s)
    if home := Remote.of(folder):
        callbacks.append(Uploads(home))
    try:
        make_tuner(learner, folder, spec, restored, callbacks, verbose, stop).fit()
    finally:
        view.on_experiment_end([])  # which Tune leaves out where it gives up
        signals.release()


def make_tuner(
    learner: Learner,
    folder: Path,
    spec: ExperimentSpec,
    restored: Mapping[str, RestoredTrial],
    callbacks: Sequence[tune.Callback] = (),
    verbose: bool = False,
    stop: Stop | None = None,
) -> tune.Tuner:
    """A Tuner that runs exactly the configurations of ``spec``; those trials that were restored go on.

    Without ``stop`` no time budget ends it.
    """
    ship(learner)
    numbered = [(number_of(index), config) for index, config in enumerate(spec.configs)]
    points = [restored[number].config if number in restored else config for number, config in numbered]
    kind = SCHEDULERS[spec.scheduler].of_tune
    scheduler = (stoppable(kind, stop) if stop else kind)(learner, folder, spec, restored)
    in_rounds = isinstance(scheduler, Rounds)
    names = TrialName(spec.swept, {number: old.trial.name for number, old in restored.items()})
    return tune.Tuner(
        learner.trainable,
        param_space={name: tune.choice([point[name] for point in points]) for name in points[0]},
        tune_config=tune.TuneConfig(
            metric=METRIC,
            mode=MODE,
            num_samples=len(points),
            search_alg=PlannedTrials(points, restored, spec.max_concurrent, in_rounds),
            scheduler=scheduler,
            trial_name_creator=names,
            trial_dirname_creator=names,
            reuse_actors=in_rounds,
        ),
        run_config=_run_config(folder, spec, callbacks, verbose),
    )


def _run_config(
    folder: Path, spec: ExperimentSpec, callbacks: Sequence[tune.Callback], verbose: bool
) -> tune.RunConfig:
    storage_path, filesystem, kept = str(folder.parent), None, spec.keep_checkpoints
    if kept and spec.fork_of:
        kept += 1  # what it began with
    if spec.storage_uri:
        filesystem, root = locate(Remote(spec.storage_uri, folder).uri)
        storage_path = str(Path(root).parent)
    return tune.RunConfig(
        name=folder.name,
        storage_path=storage_path,
        storage_filesystem=filesystem,
        stop=spec.budget.limits,
        checkpoint_config=tune.CheckpointConfig(
            checkpoint_frequency=spec.checkpoint_frequency,
            checkpoint_at_end=True,
            num_to_keep=kept or None,
            checkpoint_score_attribute=METRIC,
            checkpoint_score_order=MODE,
        ),
        failure_config=tune.FailureConfig(max_failures=MAX_FAILURES),
        callbacks=[JsonLogger(folder), TensorBoard(folder, spec.swept), Flush(folder), ErrorText(), *callbacks],
        verbose=1 if verbose else 0,
    )
