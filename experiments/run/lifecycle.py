"""Running an experiment, whether it is new or goes on: one way for sweeps and single runs alike."""

import dataclasses
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import ray
from ray import tune

from experiments.ask.budget import Budget
from experiments.ask.flags import RunFlags, command_line
from experiments.plan.learners import Learner
from experiments.plan.plan import require_room
from experiments.read.restored import RestoredTrial, all_over, describe, restore
from experiments.record import folders, mirror
from experiments.record.lock import exclusive
from experiments.record.mirror import Remote, Uploads
from experiments.record.spec import ExperimentSpec
from experiments.run.cluster import require_shared
from experiments.run.console import SweepView, UpdateLines
from experiments.run.disk import require_disk
from experiments.run.stopping import DiskGuard, StopSignals
from experiments.run.tuner import make_tuner, start_ray
from experiments.show.summary import summarise
from trainables.checks import ConfigError

RESTARTS = 3
"""Times that an experiment goes on by itself after Tune gave up, as it does when Ray's memory monitor kills a trial."""

UNFINISHED = 3
"""Exit status of an experiment that ended before its trials did."""


def start(
    learner: Learner, record: ExperimentSpec, run: RunFlags, prepare: Callable[[Path], None] | None = None
) -> tuple[int, Path]:
    """Run a new experiment, after ``prepare`` has put into its folder what it starts from.

    Returns the program's exit status and the experiment's folder.
    """
    if run.name and mirror.taken(run, run.name):
        raise ConfigError(f"--name {run.name!r} exists already in {run.storage_path}; --resume {run.name} continues it")
    if run.uri:
        start_ray(run.address, run.verbose)
    if run.uri or run.address:
        require_shared(run.uri or str(run.folder.absolute()))
    require_disk(run.folder, learner, record)
    folder = folders.create(run.folder, run.name, learner.name, record.to_dict())
    with exclusive(folder):
        if prepare:
            prepare(folder)
        if home := Remote.of(folder):
            home.publish()
        if not run.address:
            start_ray(None, run.verbose)
        return _run(learner, folder, record, run.verbose), folder


def resume(learner: Learner, run: RunFlags, budget: Budget | None = None) -> tuple[int, Path]:
    """Continue the experiment that ``--resume`` names, or the one to which ``--extend`` gives a larger ``budget``.

    Returns the program's exit status and the experiment's folder. Raises ConfigError if there is no such experiment of
    this learner, if another program runs it, or if its files contradict each other.
    """
    folder = mirror.find(run, run.resume or run.extend or "", learner.name)
    with exclusive(folder):
        record = ExperimentSpec.read(folder)
        if run.extend:
            assert budget
            record = _extended(record, folder, budget)
        past = restore(folder, record)
        print(f"Going on with {folders.display(folder)}, {record.budget} a trial")
        print("\n".join(describe(past.values())))
        if all_over(past, record):
            print(f"Every trial has come to its end: --extend with more --{_unit(record)} goes further.")
        home = Remote.of(folder)
        if run.extend:
            record.update(folder)
            if home:
                home.push(folder / folders.RECORD)
        room = start_ray(run.address, run.verbose)
        for config in record.configs:
            require_room(learner.config_class.from_dict(config), room)
        if run.address or home:
            require_shared(home.uri if home else str(folder))
        return _run(learner, folder, record, run.verbose), folder


def _extended(record: ExperimentSpec, folder: Path, budget: Budget) -> ExperimentSpec:
    clock = record.budget.clock
    before, now = record.budget.limits[clock], budget.limits.get(clock)
    if now is None:
        raise ConfigError(f"--extend {folder.name}: its trials have {record.budget}; give more --{_unit(record)}")
    if now <= before:
        raise ConfigError(f"--{_unit(record)} {now}: {folder.name} has {before} already; --extend needs more of them")
    return dataclasses.replace(
        record, iterations=budget.iterations, timesteps=budget.timesteps, extended=[*record.extended, before]
    )


def _unit(record: ExperimentSpec) -> str:
    return "timesteps" if record.timesteps else "iterations"


def _run(learner: Learner, folder: Path, record: ExperimentSpec, verbose: bool) -> int:
    """Run to the end and print what came out; return the program's exit status."""
    print(f"Look:    tensorboard --logdir {folders.display(folder)}\n", flush=True)
    signals = StopSignals()
    results = None
    for restarts in range(RESTARTS + 1):
        past = restore(folder, record)
        try:
            results = _fit(learner, folder, record, past, signals, verbose)
            break
        except (RuntimeError, tune.TuneError, ray.exceptions.RayError) as error:
            reason = str(error).strip().splitlines()[-1:] or [type(error).__name__]
            print(f"Ray Tune gave up: {reason[0]}", file=sys.stderr, flush=True)
            if signals.received or restarts == RESTARTS:
                break
            print("Going on from the last checkpoints.", file=sys.stderr, flush=True)
    home = Remote.of(folder)
    settled = not home or home.settle()  # first: Tune writes errors there, and the summary is read here
    status = summarise(folder) if results else UNFINISHED
    print(next_command(folder, record))
    return signals.status or (status if settled else UNFINISHED)


def next_command(folder: Path, record: ExperimentSpec) -> str:
    """The command that goes on from here: with what is left to do, or beyond the end."""
    if not all_over(restore(folder, record), record):
        sweep = folder.with_name(record.confirms or folder.name)  # which goes on with its confirmation, too
        return f"Resume:  {command_line()} --resume {shlex.quote(folders.display(sweep))}"
    where = shlex.quote(folders.display(folder))
    limit = record.budget.limits[record.budget.clock]
    return f"Extend:  {command_line()} --extend {where} --{_unit(record)} {2 * limit}"


def _fit(
    learner: Learner,
    folder: Path,
    record: ExperimentSpec,
    past: dict[str, RestoredTrial],
    signals: StopSignals,
    verbose: bool,
) -> tune.ResultGrid:
    for book in folder.glob("experiment_state-*.json"):
        book.unlink()  # Tune's own, of an earlier run: nobody reads it again
    view = UpdateLines(record.budget) if len(record.configs) == 1 else SweepView(record)
    callbacks = [signals, DiskGuard(folder, signals), view]
    if home := Remote.of(folder):
        callbacks.append(Uploads(home))
    try:
        return make_tuner(learner, folder, record, past, callbacks, verbose).fit()
    finally:
        view.on_experiment_end([])  # which Tune leaves out where it gives up
