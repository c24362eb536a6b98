"""Ray Tune at work on an experiment: exactly its configurations, its scheduler, its callbacks, its folder."""

import dataclasses
import logging
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import ray
from ray import tune

from experiments.ask.schedulers import SCHEDULERS
from experiments.ask.storage import locate
from experiments.disk.experiments import Experiment, read_experiment
from experiments.disk.folders import TUNE_STATES
from experiments.disk.mirror import Remote
from experiments.disk.restored import RestoredTrial, restore
from experiments.plan.trial_names import number_of
from experiments.run.callbacks import DiskGuard, Flush, Uploads
from experiments.run.ends import End, end_of_error, end_of_trials, unsent
from experiments.run.loggers import JsonLogger, TensorBoard
from experiments.run.progress import Progress
from experiments.run.ray_internals import ErrorText, in_one_line, patient
from experiments.run.ray_session import ship
from experiments.run.rounds import Rounds
from experiments.run.session import Session
from experiments.run.stopping import RAY_ENDS_S, RayWatch, Stop, stoppable
from experiments.run.tune_trials import PlannedTrials, TrialName
from trainables.checks import ConfigError
from trainables.metrics import METRIC, MODE

RESTART_AFTER_S = (1.0, 10.0, 60.0)
"""Seconds before each time that an experiment goes on by itself after Tune gave up, as it does when the disk or the
memory is full: by then others may have given back what they took."""

MAX_FAILURES = 3
"""Times that a trial goes on from its last checkpoint after an error: a killed actor does no lasting harm."""


def fit(session: Session) -> tuple[End, Experiment]:
    """Have Tune run the experiment; return why it ended, and what then lies on disk, which is sent home first."""
    session.signals.keep()
    with RayWatch(session.signals):
        gave_up = _run_tune(session)
    session.signals.release()
    home = Remote.of(session.folder)
    sent = not home or home.settle()  # before anything is read: Tune writes errors at home
    experiment = read_experiment(session.folder, running=False)  # this program holds the lock, but runs it no longer
    end = gave_up or end_of_trials(experiment, session.spec, session.signals.received)
    if not sent:
        end = unsent(end)
    return end, experiment


def _run_tune(session: Session) -> End | None:
    """Have Tune run the experiment; where it gives up, go on from the last checkpoints until the deadline.

    Returns how it gave up each time, or once for good; None if it came to an end, or was out of time.
    """
    gave_up = _try(session)
    for seconds in RESTART_AFTER_S:
        if gave_up is None or not gave_up.restarts:
            break
        session.signals.sleep(seconds)
        if session.seconds_left <= 0:
            return None
        print("Going on from the last checkpoints.", file=sys.stderr, flush=True)
        gave_up = _try(session.restarted())
    return gave_up


def _try(session: Session) -> End | None:
    """Have Tune run the experiment once; where it gives up, print its error and return what end that makes.

    It gives up, too, where the experiment's folder cannot be reached, as while a network's file system is away.
    """
    try:
        DiskGuard(session.folder, session.signals).wait()
        fit_once(session)
    except (OSError, RuntimeError, ConfigError, tune.TuneError, ray.exceptions.RayError) as error:
        if session.signals.received:
            # The signal may be about to end Ray's processes: then RayWatch ends this program within these seconds.
            time.sleep(RAY_ENDS_S)
        gave_up = end_of_error(error, session.signals.received)
        print(gave_up.error.format(error=in_one_line(error)), file=sys.stderr, flush=True)
        return gave_up
    return None


def fit_once(session: Session) -> None:
    """Have Tune run the experiment once. Raises an error where it gives up."""
    folder, spec, signals = session.folder, session.spec, session.signals
    logging.getLogger("ray.tune.tune").setLevel(logging.CRITICAL)  # The summary says which trials are not complete.
    restored = restore(folder, spec)
    for old in folder.glob(TUNE_STATES):
        old.unlink()  # It is of an earlier run, and what it says has been read into ``restored``.
    view = Progress(spec, session.planned_s)
    callbacks = [signals, DiskGuard(folder, signals), view, *session.callbacks]
    if home := Remote.of(folder):
        callbacks.append(Uploads(home))
    with_ours, stop = dataclasses.replace(session, callbacks=callbacks), Stop(signals, session.deadline)
    try:
        with patient():
            make_tuner(with_ours, restored, stop).fit()
    except Exception:
        for callback in (view, *session.callbacks):  # Tune itself tells none where it gives up.
            callback.on_experiment_end([])
        raise


def make_tuner(session: Session, restored: Mapping[str, RestoredTrial], stop: Stop | None = None) -> tune.Tuner:
    """A Tuner that runs exactly the configurations of the session; those trials that were restored go on.

    Without ``stop`` neither a signal nor the time budget ends it.
    """
    learner, folder, spec = session.learner, session.folder, session.spec
    ship(learner)
    points = []
    for index, config in enumerate(spec.configs):
        old = restored.get(number_of(index))
        points.append(old.trial.config if old else config)
    kind = SCHEDULERS[spec.scheduler].of_tune
    if stop:
        kind = stoppable(kind, stop)
    scheduler = kind(learner, folder, spec, restored)
    in_rounds = isinstance(scheduler, Rounds)
    names = TrialName(spec.swept, {number: old.trial.name for number, old in restored.items()}, spec.baseline)
    # Tune refuses a point with a setting that the space lacks, and warns of a value that is no choice there.
    space = {name: tune.choice([point[name] for point in points]) for name in points[0]}
    return tune.Tuner(
        learner.trainable,
        param_space=space,
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
        run_config=_run_config(session),
    )


def _run_config(session: Session) -> tune.RunConfig:
    """Where Tune saves, which checkpoints it keeps, at which limits it ends a trial, and which callbacks it has."""
    folder, spec = session.folder, session.spec
    kept = spec.keep_checkpoints
    if kept and spec.fork_of:
        kept += 1  # The checkpoint with which a trial of a fork began is kept beside its best ones.
    storage_path, filesystem = str(folder.parent), None
    if spec.storage_uri:
        filesystem, root = locate(Remote(spec.storage_uri, folder).uri)
        storage_path = str(Path(root).parent)
    ours = [JsonLogger(folder), TensorBoard(folder, spec.swept), Flush(folder), ErrorText()]
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
        callbacks=[*ours, *session.callbacks],
        verbose=int(session.run.verbose),
    )
