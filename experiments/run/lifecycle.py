"""An experiment from its start or its continuation to its end, for sweeps and single runs alike."""

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path

from experiments.analysis.next_command import next_command, next_step
from experiments.ask.command_line import installed
from experiments.ask.schedulers import SCHEDULERS
from experiments.ask.streams import go_on_unread
from experiments.disk.experiments import Experiment, read_experiment
from experiments.disk.folders import RECORD, display
from experiments.disk.lock import exclusive
from experiments.disk.mirror import Remote
from experiments.disk.provenance import changes_since, say_if_changed
from experiments.disk.restored import RestoredTrial, describe, plays_on, restore
from experiments.disk.spec import ExperimentSpec, create
from experiments.disk.trial_checkpoints import copy_checkpoint
from experiments.plan.draws import require_fits
from experiments.plan.learners import Learner
from experiments.plan.trial_names import number_of, trial_name
from experiments.run.after_sweep import play_winner, show_whether_everything_works
from experiments.run.callbacks import made
from experiments.run.draft import Continuation, Draft
from experiments.run.ends import End, exit_status, unsent
from experiments.run.ray_internals import require_internals
from experiments.run.ray_session import require_shared, start_ray
from experiments.run.session import Session
from experiments.run.stopping import RayWatch
from experiments.run.tuner import fit
from experiments.show.summary import show_confirmation, summarise
from trainables.checks import ConfigError
from trainables.texts import printable

STAY_SO = "its trials diverged or were stopped early, and stay so; --fork starts anew from their best checkpoints"
"""Why there is nothing to extend in an experiment of which no trial has finished its budget."""


def perform(asked: Draft | Continuation, smoke_test_since: float | None = None) -> int:
    """Do what was asked for; return the program's exit status.

    ``smoke_test_since`` is when the program of a smoke test began, in seconds of ``time.monotonic``; None otherwise.
    """
    go_on_unread()
    if isinstance(asked, Draft):
        status, folder = start(asked)
    else:
        status, folder = go_on(asked), asked.folder
    if smoke_test_since is not None and status == 0:
        return show_whether_everything_works(folder, smoke_test_since)
    return status


def start(draft: Draft) -> tuple[int, Path]:
    """Run a new experiment; return the program's exit status and the experiment's folder.

    Raises ConfigError if it cannot start.
    """
    learner, run, spec = draft.learner, draft.run, draft.spec
    require_internals()
    callbacks = made(run.callback)
    start_ray(run.address, run.verbose)  # It comes before the folder: where Ray cannot start, nothing is left behind.
    if run.uri or run.address:
        require_shared(run.uri or str(run.folder.absolute()))
    folder = create(run.folder, run.name, spec.with_source(learner.source))
    spec = ExperimentSpec.read(folder)  # The file has the origin of the results, too.
    with exclusive(folder):
        for index, checkpoint in enumerate(draft.starts):
            config = spec.configs[index]
            name = trial_name(number_of(index), config, spec.swept)
            copy_checkpoint(checkpoint.folder, folder / name / "checkpoint_000000")
            share = learner.config_class.from_dict(config).decay(checkpoint.steps)
            step_size = f", with {share:.2g} of its step size (half_life)" if share < 0.995 else ""
            where = display(checkpoint.folder)
            print(f"  {name}: starts from {where}, after iteration {checkpoint.iteration}{step_size}")
        if home := Remote.of(folder):
            home.push_folder(folder, folder)
            home.publish()
        return _run(Session.begin(learner, folder, spec, run, callbacks, draft.seconds)), folder


def go_on(asked: Continuation) -> int:
    """Continue an experiment, whose trials an extension gives larger limits. Returns the program's exit status.

    Raises ConfigError if another program runs it, if its files do not fit together, or if an extension gives no trial
    anything to do.
    """
    learner, folder, run, more = asked.learner, asked.folder, asked.run, asked.more
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
        _attach(asked, spec)
        spec = spec.but(ended=None).with_source(learner.source)
        _rewrite(learner, folder, before, spec)  # only now that it can begin: a budget cannot be given twice
        return _run(Session.begin(learner, folder, spec, run, callbacks))


def _attach(asked: Continuation, spec: ExperimentSpec) -> None:
    """Start Ray, or attach to it. Raises ConfigError if a trial does not fit it, or a node cannot reach the folder."""
    home = Remote.of(asked.folder)
    resources = start_ray(asked.run.address, asked.run.verbose)
    fewest: dict[str, int] = {}
    if SCHEDULERS[spec.scheduler].lends_cores:
        fewest = {"num_workers": 1}  # A trial then runs with fewer workers than it asks for, if no more fit.
    for config in spec.configs:
        require_fits(asked.learner.config_class.from_dict(config | fewest), resources)
    if home:
        require_shared(home.uri)
    elif asked.run.address:
        require_shared(str(asked.folder))


def _rewrite(learner: Learner, folder: Path, before: ExperimentSpec, spec: ExperimentSpec) -> None:
    """Change the record of an experiment that goes on, also where it lives.

    Raises ConfigError if that is out of reach; the record then stays what it was ``before``.
    """
    home = Remote.of(folder)
    try:
        spec.write(folder)
        say_if_changed(learner.source, spec.learner_sha256, before.learner_sha256)
        if home:
            home.publish()
    except OSError as error:
        with contextlib.suppress(OSError):
            before.write(folder)
        raise ConfigError(f"{folder / RECORD} cannot be changed: {error}") from None


def _why_over(restored: Mapping[str, RestoredTrial], spec: ExperimentSpec) -> str:
    """Why no trial has anything to do, although the budget was extended."""
    spent: set[str] = set()
    for old in restored.values():
        spent.update(spec.budget.spent(old.trial.last_row))
    if spent:
        return f"its trials ended by their other limit; give more {' and '.join(sorted(spent))}"
    return STAY_SO


def _write(spec: ExperimentSpec, folder: Path) -> None:
    """Change an experiment's record, also where it lives. Raises OSError if that is out of reach."""
    spec.write(folder)
    if home := Remote.of(folder):
        home.push(folder / RECORD)


def _run(session: Session) -> int:
    """Run to the end, write down why it ended, and print what came out; return the program's exit status."""
    print(f"Look:    {installed('tensorboard', '--logdir', display(session.folder))}\n", flush=True)
    end, experiment = fit(session)
    if end.winner_plays:
        with RayWatch(session.signals):
            play_winner(experiment)
    try:
        _write(session.spec.but(ended=end.ended), session.folder)
    except OSError as error:
        print(f"Why it ended cannot be written down: {error}. --resume does so.", file=sys.stderr)
        end = unsent(end)
    experiment = read_experiment(session.folder, running=False)  # with the winner's games, and why it ended
    _say_end(end, experiment, session)
    return exit_status(end, experiment, session.signals.received)


def _say_end(end: End, experiment: Experiment, session: Session) -> None:
    """Print what came out, unless Ray Tune's error has been printed; and which command goes on, or that none does."""
    if not end.error:
        summarise(experiment)
    if experiment.has_ended and experiment.spec.confirms:
        show_confirmation(experiment, experiment.spec.confirms)
    step = next_step(experiment)
    if command := next_command(experiment, session.run.again):
        print(f"{step}:  {command}")
    elif experiment.all_ended and not step:
        print(f"Nothing to extend: {STAY_SO}")
