"""An experiment from its start or its continuation to its end, for sweeps and single runs alike."""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import ray
from ray import tune

from experiments.ask.budget import Budget
from experiments.ask.flags import RunFlags
from experiments.plan.learners import Learner
from experiments.plan.plan import require_fits
from experiments.read.next_command import next_command
from experiments.read.restored import RestoredTrial, all_over, describe, restore
from experiments.record import folders, mirror
from experiments.record.lock import exclusive
from experiments.record.mirror import Remote
from experiments.record.spec import ExperimentSpec
from experiments.run.cluster import require_shared
from experiments.run.console import SweepView, UpdateLines
from experiments.run.disk import DiskGuard, require_disk
from experiments.run.ray_internals import require_internals
from experiments.run.ray_session import start_ray
from experiments.run.stop_signals import StopSignals
from experiments.run.tuner import make_tuner
from experiments.run.uploads import Uploads
from experiments.show.summary import summarise
from trainables.checks import ConfigError

RESTARTS = 3
"""Times that an experiment goes on by itself after Tune gave up, as it does when Ray's memory monitor kills a trial."""

UNFINISHED = 3
"""Exit status of an experiment that ended before its trials did."""


def start(
    learner: Learner, spec: ExperimentSpec, run: RunFlags, prepare: Callable[[Path], None] | None = None
) -> tuple[int, Path]:
    """Run a new experiment, after ``prepare`` has put into its folder what it starts from.

    Returns the program's exit status and the experiment's folder. Raises ConfigError if it cannot start.
    """
    require_internals()
    if run.name and mirror.taken(run, run.name):
        raise ConfigError(f"--name {run.name!r} exists already in {run.storage_path}; --resume {run.name} continues it")
    if run.uri:
        start_ray(run.address, run.verbose)
    if run.uri or run.address:
        require_shared(run.uri or str(run.folder.absolute()))
    require_disk(run.folder, learner, spec)
    folder = folders.create(run.folder, run.name, learner.name, spec.to_dict())
    with exclusive(folder):
        if prepare:
            prepare(folder)
        if home := Remote.of(folder):
            home.publish()
        if not run.address:
            start_ray(None, run.verbose)
        return _run(learner, folder, spec, run.verbose), folder


def resume(learner: Learner, run: RunFlags, budget: Budget | None = None) -> tuple[int, Path]:
    """Continue the experiment that ``--resume`` names, or the one to which ``--extend`` gives a larger ``budget``.

    Returns the program's exit status and the experiment's folder. Raises ConfigError if there is no such experiment of
    this learner, if another program runs it, or if its files contradict each other.
    """
    require_internals()
    folder = mirror.find(run, run.resume or run.extend or "", learner.name)
    with exclusive(folder):
        spec = ExperimentSpec.read(folder)
        if run.extend:
            assert budget
            spec = _extended(spec, folder, budget)
        restored = restore(folder, spec)
        print(f"Going on with {folders.display(folder)}, {spec.budget} a trial")
        print("\n".join(describe(restored.values())))
        if all_over(restored, spec):
            print(f"Every trial has come to its end: --extend with more --{spec.budget.unit} goes further.")
        home = Remote.of(folder)
        resources = start_ray(run.address, run.verbose)
        for config in spec.configs:
            require_fits(learner.config_class.from_dict(config), resources)
        if run.address or home:
            require_shared(home.uri if home else str(folder))
        if run.extend:  # only now that it can begin: a budget cannot be given twice
            spec.update(folder)
            if home:
                home.push(folder / folders.RECORD)
        return _run(learner, folder, spec, run.verbose), folder


def _extended(spec: ExperimentSpec, folder: Path, budget: Budget) -> ExperimentSpec:
    unit, before = spec.budget.unit, spec.budget.limits[spec.budget.time_attr]
    now = budget.limits.get(spec.budget.time_attr)
    if now is None:
        raise ConfigError(f"--extend {folder.name}: its trials have {spec.budget}; give more --{unit}")
    if now <= before:
        raise ConfigError(f"--{unit} {now}: {folder.name} has {before} already; --extend needs more of them")
    return dataclasses.replace(
        spec, iterations=budget.iterations, timesteps=budget.timesteps, extended=[*spec.extended, before]
    )


def _run(learner: Learner, folder: Path, spec: ExperimentSpec, verbose: bool) -> int:
    """Run to the end and print what came out; return the program's exit status."""
    print(f"Look:    tensorboard --logdir {folders.display(folder)}\n", flush=True)
    signals = StopSignals()
    results = _results(learner, folder, spec, signals, verbose)
    home = Remote.of(folder)
    settled = not home or home.settle()  # first: Tune writes errors there, and the summary is read here
    status = summarise(folder) if results else UNFINISHED
    over = all_over(restore(folder, spec), spec)
    if command := next_command(folder, spec.to_dict(), over):
        print(f"{'Extend' if over else 'Resume'}:  {command}")
    return signals.status or (status if settled else UNFINISHED)


def _results(
    learner: Learner, folder: Path, spec: ExperimentSpec, signals: StopSignals, verbose: bool
) -> tune.ResultGrid | None:
    """What Tune makes of the experiment; where it gives up, it is started again from the last checkpoints.

    None if it was stopped as it gave up, or gave up each time.
    """
    for restarts in range(RESTARTS + 1):
        if restarts:
            print("Going on from the last checkpoints.", file=sys.stderr, flush=True)
        try:
            return _fit(learner, folder, spec, restore(folder, spec), signals, verbose)
        except (RuntimeError, tune.TuneError, ray.exceptions.RayError) as error:
            reason = str(error).strip().splitlines()[-1:] or [type(error).__name__]
            print(f"Ray Tune gave up: {reason[0]}", file=sys.stderr, flush=True)
            if signals.received:
                break
    return None


def _fit(
    learner: Learner,
    folder: Path,
    spec: ExperimentSpec,
    restored: dict[str, RestoredTrial],
    signals: StopSignals,
    verbose: bool,
) -> tune.ResultGrid:
    for old in folder.glob(folders.TUNE_STATES):
        old.unlink()  # of an earlier run: nobody reads it again
    view = UpdateLines(spec.budget) if len(spec.configs) == 1 else SweepView(spec)
    callbacks = [signals, DiskGuard(folder, signals), view]
    if home := Remote.of(folder):
        callbacks.append(Uploads(home))
    try:
        return make_tuner(learner, folder, spec, restored, callbacks, verbose).fit()
    finally:
        view.on_experiment_end([])  # which Tune leaves out where it gives up
