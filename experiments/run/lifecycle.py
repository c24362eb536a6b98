"""An experiment from its start or its continuation to its end, for sweeps and single runs alike."""

import contextlib
import itertools
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ray import tune

from experiments.ask.budget import Budget
from experiments.ask.flags import RunFlags
from experiments.ask.schedulers import SCHEDULERS
from experiments.plan.draws import require_fits
from experiments.plan.learners import Learner
from experiments.plan.trial_names import number_of
from experiments.read.experiments import read_experiment
from experiments.read.luck import SUFFIX, state_with_confirmation
from experiments.read.next_command import next_command
from experiments.read.restored import RestoredTrial, all_over, describe, restore
from experiments.record import folders, mirror
from experiments.record.decisions import read_decisions
from experiments.record.lock import exclusive
from experiments.record.mirror import Remote
from experiments.record.source import keep_changed_source, keep_source, with_source
from experiments.record.spec import ALL_DONE, GAVE_UP, INTERRUPTED, TIME_BUDGET, ExperimentSpec, create
from experiments.run.callbacks import factory, made
from experiments.run.cluster import require_shared
from experiments.run.disk import require_disk
from experiments.run.fitting import fit_until
from experiments.run.ray_internals import require_internals
from experiments.run.ray_session import start_ray
from experiments.run.stop_signals import StopSignals
from experiments.run.winner import play_winner
from experiments.show.summary import summarise
from trainables.checks import ConfigError

UNFINISHED = 3
"""Exit status of an experiment that ended before its trials did."""


def require_possible(learner: Learner, spec: ExperimentSpec, run: RunFlags) -> int:
    """The most bytes that a new experiment's checkpoints take.

    Raises ConfigError if its name exists, or that of the confirmation to come, if the disk has no room, or if the
    learner cannot play its environment.
    """
    if run.name and mirror.taken(run, run.name):
        raise ConfigError(f"--name {run.name!r} exists already in {run.storage_path}; --resume {run.name} continues it")
    if run.name and spec.confirm and mirror.taken(run, again := run.name + SUFFIX):
        raise ConfigError(f"--confirm needs the name {again!r}, which exists already in {run.storage_path}")
    for typed in run.callback:
        factory(typed)
    try:
        return require_disk(run.folder, learner, spec)
    except ValueError as error:  # an environment of another form than the learner takes
        raise ConfigError(str(error)) from None


def start(
    learner: Learner, spec: ExperimentSpec, run: RunFlags, prepare: Callable[[Path], None] | None = None
) -> tuple[int, Path]:
    """Run a new experiment, after ``prepare`` has put into its folder what it starts from.

    Returns the program's exit status and the experiment's folder. Raises ConfigError if it cannot start.
    """
    require_internals()
    require_possible(learner, spec, run)
    callbacks = made(run.callback)
    if run.uri or run.address:
        start_ray(run.address, run.verbose)
        require_shared(run.uri or str(run.folder.absolute()))
    folder = create(run.folder, run.name, with_source(spec, learner.source))
    spec = ExperimentSpec.read(folder)  # which says where it comes from, too
    with exclusive(folder):
        keep_source(folder, spec, learner.source)
        if prepare:
            prepare(folder)
        if home := Remote.of(folder):
            home.push_folder(folder, folder)
            home.publish()
        if not run.address:
            start_ray(None, run.verbose)
        return _run(learner, folder, spec, callbacks, run), folder


def resume(learner: Learner, run: RunFlags, more: Budget | None = None) -> tuple[int, Path]:
    """Continue the experiment that ``--resume`` names, or the one to which ``--extend`` gives ``more``.

    Returns the program's exit status and the experiment's folder. Raises ConfigError if there is no such experiment of
    this learner, and as ``go_on`` does.
    """
    folder = mirror.find(run, run.resume or run.extend or "", learner.name)
    return go_on(learner, folder, run, more if run.extend else None), folder


def go_on(learner: Learner, folder: Path, run: RunFlags, more: Budget | None) -> int:
    """Continue an experiment; with ``more``, its trials have larger limits. Returns the program's exit status.

    Raises ConfigError if another program runs it, if its files contradict each other or cannot be changed, or if its
    budget cannot be extended so, or to no avail.
    """
    require_internals()
    callbacks = made(run.callback)
    with exclusive(folder):
        before = ExperimentSpec.read(folder)
        spec = before.with_more(more) if more else before
        restored = restore(folder, spec)
        over = all_over(restored, spec)
        if more and over:
            raise ConfigError(f"--extend {folder.name}: {_why_over(restored, spec)}")
        print(f"Going on with {folders.display(folder)}, {spec.budget} a trial")
        print("\n".join(describe(restored, spec.fork_of)))
        if over:
            print("Every trial has come to its end: --extend goes further.")
        home = Remote.of(folder)
        resources = start_ray(run.address, run.verbose)
        fewest = {"num_workers": 1} if SCHEDULERS[spec.scheduler].lends_cores else {}
        for config in spec.configs:
            require_fits(learner.config_class.from_dict(config | fewest), resources)
        if run.address or home:
            require_shared(home.uri if home else str(folder))
        spec = with_source(spec.but(ended=None), learner.source)
        try:  # only now that it can begin: a budget cannot be given twice
            keep_changed_source(folder, spec, before, learner.source)
            spec.write(folder)
            if home:
                home.publish()
        except OSError as error:
            with contextlib.suppress(OSError):
                before.write(folder)
            raise ConfigError(f"{folder / folders.RECORD} cannot be changed: {error}") from None
        return _run(learner, folder, spec, callbacks, run)


def promise(folder: Path, spec: ExperimentSpec) -> None:
    """Write down the confirmation that ``spec`` promises of an experiment from now on.

    Raises ConfigError if another program runs the experiment, or if its record cannot be changed.
    """
    with exclusive(folder):
        try:
            _write(spec, folder)
        except OSError as error:
            raise ConfigError(f"{folder / folders.RECORD} cannot be changed: {error}") from None


def _why_over(restored: Mapping[str, RestoredTrial], spec: ExperimentSpec) -> str:
    """Why no trial has anything to do, although the budget was extended."""
    if spent := {flag for trial in restored.values() for row in trial.rows[-1:] for flag in spec.budget.spent(row)}:
        return f"its trials ended by their other limit; give more {' and '.join(sorted(spent))}"
    return "its trials were stopped early, and stay so; --fork starts anew from their best checkpoints"


def _write(spec: ExperimentSpec, folder: Path) -> None:
    """Change an experiment's record, also where it lives. Raises OSError if that is out of reach."""
    spec.write(folder)
    if home := Remote.of(folder):
        home.push(folder / folders.RECORD)


def _run(
    learner: Learner, folder: Path, spec: ExperimentSpec, callbacks: Sequence[tune.Callback], run: RunFlags
) -> int:
    """Run to the end, note why it ended, and print what came out; return the program's exit status."""
    print(f"Look:    tensorboard --logdir {folders.display(folder)}\n", flush=True)
    signals = StopSignals(next_command(folder, spec, False, run.again))
    deadline = time.monotonic() + (spec.time_budget_s or math.inf)
    whole = fit_until(deadline, learner, folder, spec, signals, callbacks, run.verbose)
    spent = time.monotonic() >= deadline
    home = Remote.of(folder)
    settled = not home or home.settle()  # first: Tune writes errors there, and the summary is read here
    if whole and not signals.received:
        play_winner(folder)
    status = summarise(folder) if whole else UNFINISHED
    over = all_over(restore(folder, spec), spec)
    ending = TIME_BUDGET if not over and (spent or _ended_at_a_rung(folder, spec)) else ALL_DONE
    ending = INTERRUPTED if signals.received else ending if whole else GAVE_UP
    try:
        _write(spec.but(ended=ending), folder)
    except OSError as error:
        print(f"{folder} cannot be sent: {error}. --resume sends it.", file=sys.stderr)
        settled = False
    over &= state_with_confirmation(read_experiment(folder, running=False)) != "unconfirmed"
    if command := next_command(folder, spec, over, run.again):
        print(f"{'Extend' if over else 'Resume'}:  {command}")
    return signals.status or (status if settled else UNFINISHED)


def _ended_at_a_rung(folder: Path, spec: ExperimentSpec) -> bool:
    """Whether halving left trials that are among the best, since there was no time for their next round."""
    kept = [decision.kept for decision in read_decisions(folder)[-1:]]
    restored = restore(folder, spec)
    failed = {trial.number for trial in read_experiment(folder, running=False).trials if trial.state == "failed"}
    return any(
        number not in failed and (name := number_of(number)) in restored and not restored[name].over
        for number in itertools.chain(*kept)
    )
