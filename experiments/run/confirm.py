"""The best of a sweep once more, with fresh random seeds: the winner among many owes a part of its score to luck."""

import dataclasses
import itertools
import shlex
from pathlib import Path

from experiments.ask.command_line import neighbour
from experiments.ask.flags import RunFlags
from experiments.plan.learners import Learner
from experiments.read.configurations import best_configurations, varied
from experiments.read.confirmations import SUFFIX, confirmations, verdict, wanted
from experiments.read.trials import Experiment, read_experiment
from experiments.record import folders, mirror
from experiments.record.spec import ExperimentSpec
from experiments.run import lifecycle
from experiments.run.console import say
from experiments.show.table import print_table
from experiments.show.tables import confirmation_table
from trainables.checks import ConfigError


def require_free(run: RunFlags) -> None:
    """Raise ConfigError if the confirmation of a sweep of this name would find its own name taken, hours later."""
    if run.name and mirror.taken(run, again := run.name + SUFFIX):
        raise ConfigError(f"--confirm needs the name {again!r}, which exists already in {run.storage_path}")


def confirm(learner: Learner, folder: Path, verbose: bool) -> int:
    """Run, or go on with, the confirmation that a sweep was started with; print what it says.

    Does nothing if none was asked for, or if the sweep has not come to its end. Returns an exit status.
    """
    sweep, spec = read_experiment(folder), ExperimentSpec.read(folder)
    if not (asked := wanted(sweep)):
        return 0
    again = folder.with_name(folder.name + SUFFIX)
    run = RunFlags(storage_path=spec.storage_uri or str(folder.parent), name=again.name, verbose=verbose)
    print(f"\nThe best {asked['best']} again, with fresh seeds: {folders.display(again)}")
    if mirror.taken(run, again.name):
        status, again = lifecycle.resume(learner, dataclasses.replace(run, name=None, resume=again.name))
    else:
        status, again = lifecycle.start(learner, _spec(spec, sweep, asked), run)
    if status in (0, 1):
        _show(sweep, read_experiment(again))
    return status


def _spec(spec: ExperimentSpec, sweep: Experiment, asked: dict[str, int]) -> ExperimentSpec:
    """What the confirmation is to do. All configurations meet the same seeds, new to all of them."""
    first = 1 + max(config["seed"] for config in spec.configs)
    seeds = range(first, first + asked["seeds"])
    chosen = best_configurations(sweep, asked["best"])
    return dataclasses.replace(
        spec,
        swept=[*varied(chosen), "seed"],
        configs=[c.config | {"seed": seed} for c, seed in itertools.product(chosen, seeds)],
        scheduler="fifo",
        time_budget_s=None,
        confirm=None,
        confirms=sweep.name,
    )


def _show(sweep: Experiment, confirm: Experiment) -> None:
    """Print both scores, and what they say."""
    found = confirmations(sweep, confirm)
    print("Mean return of the last 100 games: the sweep's, and fresh seeds' there and at their end")
    print_table(confirmation_table(found))
    if text := verdict(found):
        say(text)
    where = shlex.join(folders.display(experiment.folder) for experiment in (sweep, confirm))
    print(f"Report:  {neighbour('results.py')} report {where}")
