"""An experiment from its start or its continuation to its end, for sweeps and single runs alike."""

import contextlib
import dataclasses
import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ray import tune

from experiments.ask.budget import Budget
from experiments.ask.command_line import installed
from experiments.ask.flags import RunFlags
from experiments.ask.schedulers import SCHEDULERS
from experiments.plan.draws import require_fits
from experiments.plan.learners import Learner
from experiments.plan.trial_names import number_of, trial_name
from experiments.read import saved_policies
from experiments.read.experiments import read_experiment
from experiments.read.luck import SUFFIX
from experiments.read.next_command import next_command, next_step, resume_command
from experiments.read.restored import RestoredTrial, describe, plays_on, restore
from experiments.record import mirror
from experiments.record.folders import RECORD, display
from experiments.record.lock import exclusive
from experiments.record.mirror import Remote
from experiments.record.provenance import changes_since, keep_source
from experiments.record.spec import ALL_DONE, GAVE_UP, INTERRUPTED, TIME_BUDGET, ExperimentSpec, create
from experiments.run.after_sweep import (
    confirmation_began,
    confirmation_due,
    confirmation_flags,
    fresh_seeds,
    play_winner,
    show_confirmation,
    show_whether_everything_works,
)
from experiments.run.callbacks import made
from experiments.run.ray_internals import require_internals
from experiments.run.ray_session import require_shared, start_ray
from experiments.run.stopping import StopSignals
from experiments.run.task import Task, forked_from, require_possible, starting_points
from experiments.run.tuner import fit
from experiments.show.summary import summarise
from trainables.checks import ConfigError
from trainables.surroundings import require_room_for_ray
from trainables.texts import printable

STAY_SO = "its trials diverged or were stopped early, and stay so; --fork starts anew from their best checkpoints"

UNFINISHED = 3
"""Exit status of an experiment that ended before its trials did."""


def perform(task: Task) -> int:
    """Do what was asked for, and the confirmation that it promises; return the program's exit status."""
    learner, run = task.learner, task.run
    if task.folder and not task.more:
        if task.spec.confirm != ExperimentSpec.read(task.folder).confirm:
            _promise(task.folder, task.spec)
        if confirmation_due(task.folder, run):
            print(f"{display(task.folder)} has come to its end, and stays as it is.")
            return _confirm(learner, task.folder, run)
    if task.folder:
        status, folder = go_on(learner, task.folder, run, task.more), task.folder
    else:
        status, folder = start(learner, task.spec, run, task.origin, task.seconds)
    if task.smoke_test_since is not None and status == 0:
        status = show_whether_everything_works(folder, task.smoke_test_since)
    if status not in (0, 1):
        return status
    try:
        return max(status, _confirm(learner, folder, run))
    except ConfigError as error:  # what was asked for is done in part
        print(f"--confirm was left out: {error}", file=sys.stderr)
        return UNFINISHED


def _promise(folder: Path, spec: ExperimentSpec) -> None:
    """Write down the confirmation that an experiment promises from now on."""
    with exclusive(folder):
        try:
            _write(spec, folder)
        except OSError as error:
            raise ConfigError(f"{folder / RECORD} cannot be changed: {error}") from None


def _confirm(learner: Learner, folder: Path, run: RunFlags) -> int:
    """Run, or go on with, the confirmation that a sweep promised, if any; return an exit status."""
    sweep = read_experiment(folder)
    if not (asked := sweep.spec.confirm):
        return 0
    again, began = folder.with_name(folder.name + SUFFIX), confirmation_began(folder, sweep.spec, run)
    if not began and not sweep.can_be_confirmed:
        raise ConfigError("no trial has a result" if sweep.has_ended else "the sweep has not come to its end")
    print(f"\nThe best {asked.best} again, with fresh seeds: {display(again)}", flush=True)
    flags = confirmation_flags(folder, sweep.spec, run)
    if began:
        status, again = resume(learner, dataclasses.replace(flags, resume=again.name))
    else:
        status, again = start(learner, fresh_seeds(sweep, asked), dataclasses.replace(flags, name=again.name))
    if status in (0, 1):
        show_confirmation(sweep, read_experiment(again))
    return status


def start(
    learner: Learner,
    spec: ExperimentSpec,
    run: RunFlags,
    origin: Sequence[RestoredTrial] = (),
    planned_s: float | None = None,
) -> tuple[int, Path]:
    """Run a new experiment, whose trials start from the best checkpoints of those of ``origin``, if any.

    Returns the program's exit status and the experiment's folder. Raises ConfigError if it cannot start.
    """
    require_internals()
    if not run.address:
        require_room_for_ray()
    require_possible(learner, spec, run)
    callbacks = made(run.callback)
    starts = starting_points(spec, origin, run) if origin else []
    if origin:
        spec = spec.but(fork_of=forked_from(origin, starts))
    if run.uri or run.address:
        start_ray(run.address, run.verbose)
        require_shared(run.uri or str(run.folder.absolute()))
    folder = create(run.folder, run.name, spec.with_source(learner.source))
    spec = ExperimentSpec.read(folder)  # which says where it comes from, too
    with exclusive(folder):
        keep_source(folder, learner.source, spec.learner_sha256)
        for index, (source, row) in enumerate(starts):
            name = trial_name(number_of(index), spec.configs[index], spec.swept)
            saved_policies.copy(source, folder / name / "checkpoint_000000")
            share = learner.config_class.from_dict(spec.configs[index]).decay(row["timesteps_total"])
            step_size = f", with {share:.2g} of its step size (half_life)" if share < 0.995 else ""
            print(f"  {name}: starts from {display(source)}, after iteration {row['training_iteration']}{step_size}")
        if home := Remote.of(folder):
            home.push_folder(folder, folder)
            home.publish()
        if not run.address:
            start_ray(None, run.verbose)
        return _run(learner, folder, spec, callbacks, run, planned_s), folder


def resume(learner: Learner, run: RunFlags, more: Budget | None = None) -> tuple[int, Path]:
    """Continue the experiment that ``--resume`` or ``--extend`` names; return as ``start`` does."""
    folder = mirror.find(run, run.resume or run.extend or "", learner.name)
    return go_on(learner, folder, run, more if run.extend else None), folder


def go_on(learner: Learner, folder: Path, run: RunFlags, more: Budget | None) -> int:
    """Continue an experiment; with ``more``, its trials have larger limits. Returns the program's exit status.

    Raises ConfigError if another program runs it, if its files do not fit together, or if ``more`` is of no avail.
    """
    require_internals()
    callbacks = made(run.callback)
    with exclusive(folder):
        before = ExperimentSpec.read(folder)
        spec = before.with_more(more) if more else before
        restored = restore(folder, spec)
        over = not plays_on(restored, spec)
        if more and over:
            raise ConfigError(f"--extend {folder.name}: {_why_over(restored, spec)}")
        print(f"Going on with {display(folder)}, {spec.budget} a trial")
        print("\n".join(describe(restored, spec.fork_of)))
        if changes := changes_since(before.origin):
            print(printable(f"Made by something else than runs here: {', '.join(changes)}"), file=sys.stderr)
        if over:
            print("Every trial has come to its end.")
        home = Remote.of(folder)
        resources = start_ray(run.address, run.verbose)
        fewest = {"num_workers": 1} if SCHEDULERS[spec.scheduler].lends_cores else {}
        for config in spec.configs:
            require_fits(learner.config_class.from_dict(config | fewest), resources)
        if run.address or home:
            require_shared(home.uri if home else str(folder))
        spec = spec.but(ended=None).with_source(learner.source)
        try:  # only now that it can begin: a budget cannot be given twice
            keep_source(folder, learner.source, spec.learner_sha256, before.learner_sha256)
            spec.write(folder)
            if home:
                home.publish()
        except OSError as error:
            with contextlib.suppress(OSError):
                before.write(folder)
            raise ConfigError(f"{folder / RECORD} cannot be changed: {error}") from None
        return _run(learner, folder, spec, callbacks, run)


def _why_over(restored: Mapping[str, RestoredTrial], spec: ExperimentSpec) -> str:
    """Why no trial has anything to do, although the budget was extended."""
    if spent := {flag for old in restored.values() for row in old.trial.rows[-1:] for flag in spec.budget.spent(row)}:
        return f"its trials ended by their other limit; give more {' and '.join(sorted(spent))}"
    return STAY_SO


def _write(spec: ExperimentSpec, folder: Path) -> None:
    """Change an experiment's record, also where it lives. Raises OSError if that is out of reach."""
    spec.write(folder)
    if home := Remote.of(folder):
        home.push(folder / RECORD)


def _run(
    learner: Learner,
    folder: Path,
    spec: ExperimentSpec,
    callbacks: Sequence[tune.Callback],
    run: RunFlags,
    planned_s: float | None = None,
) -> int:
    """Run to the end, note why it ended, and print what came out; return the program's exit status."""
    print(f"Look:    {installed('tensorboard', '--logdir', display(folder))}\n", flush=True)
    signals = StopSignals(resume_command(folder, spec, run.again))
    deadline = time.monotonic() + (spec.time_budget_s or math.inf)
    whole = fit(deadline, learner, folder, spec, signals, callbacks, run.verbose, planned_s)
    home = Remote.of(folder)
    settled = not home or home.settle()  # first: Tune writes errors there
    experiment = read_experiment(folder, running=False)  # this program holds the lock, but runs it no longer
    if whole and not signals.received:
        play_winner(experiment)
    if signals.received:
        ended = INTERRUPTED
    elif not whole or not (experiment.all_ended or spec.time_budget_s):  # also where a callback had Tune end it
        ended = GAVE_UP
    else:
        ended = ALL_DONE if experiment.all_ended else TIME_BUDGET
    try:
        _write(spec.but(ended=ended), folder)
    except OSError as error:
        print(f"{folder} cannot be sent: {error}. --resume sends it.", file=sys.stderr)
        settled = False
    experiment = read_experiment(folder, running=False)
    status = summarise(experiment) if whole else UNFINISHED
    step = next_step(experiment)
    if command := next_command(experiment, run.again):
        print(f"{step}:  {command}")
    elif experiment.all_ended and not step:
        print(f"Nothing to extend: {STAY_SO}")
    return signals.status or (status if settled and ended != GAVE_UP else UNFINISHED)
