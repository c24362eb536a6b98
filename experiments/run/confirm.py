"""The best of a sweep once more, with fresh seeds: the winner among many owes a part of its score to luck."""

import dataclasses
import itertools
import shlex
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.ask.command_line import neighbour
from experiments.ask.flags import RunFlags
from experiments.plan.learners import Learner
from experiments.read.bootstrap import mean_interval
from experiments.read.configurations import Confirmation, candidates, confirmations, varied, verdict
from experiments.read.trials import Experiment, read_experiment
from experiments.record import folders, mirror
from experiments.record.spec import ExperimentSpec
from experiments.run import lifecycle
from experiments.run.console import say
from trainables.checks import ConfigError

SUFFIX = "-confirm"


def require_free(run: RunFlags) -> None:
    """Raise ConfigError if the confirmation of a sweep of this name would find its own name taken, hours later."""
    if run.name and mirror.taken(run, again := run.name + SUFFIX):
        raise ConfigError(f"--confirm needs the name {again!r}, which exists already in {run.storage_path}")


def pending(sweep: Experiment) -> str:
    """The state of a sweep that is over, while the confirmation that it was started with is not; else empty."""
    if sweep.running or not _wanted(sweep):
        return ""
    again = sweep.folder.with_name(sweep.name + SUFFIX)
    found = read_experiment(again) if (again / folders.RECORD).is_file() else None
    if found and found.running:
        return "confirming"
    return "" if found and found.over else "unconfirmed"


def confirm(learner: Learner, folder: Path, verbose: bool) -> int:
    """Run, or go on with, the confirmation that a sweep was started with; print what it says.

    Does nothing if none was asked for, or if the sweep has not come to its end. Returns an exit status.
    """
    sweep, record = read_experiment(folder), ExperimentSpec.read(folder)
    if not (wanted := _wanted(sweep)):
        return 0
    again = folder.with_name(folder.name + SUFFIX)
    run = RunFlags(storage_path=record.storage_uri or str(folder.parent), name=again.name, verbose=verbose)
    print(f"\nThe best {wanted['best']} again, with fresh seeds: {folders.display(again)}")
    if mirror.taken(run, again.name):
        status, again = lifecycle.resume(learner, dataclasses.replace(run, name=None, resume=again.name))
    else:
        status, again = lifecycle.start(learner, _record(record, sweep, wanted), run)
    if status in (0, 1):
        _show(confirmations(sweep, read_experiment(again)), folder, again)
    return status


def _wanted(sweep: Experiment) -> dict[str, int] | None:
    """The confirmation that was asked for, once it can begin."""
    return sweep.record.get("confirm") if sweep.over and candidates(sweep, 1) else None


def _record(record: ExperimentSpec, sweep: Experiment, wanted: dict[str, int]) -> ExperimentSpec:
    """What the confirmation is to do. All configurations meet the same seeds, new to all of them."""
    first = 1 + max(config["seed"] for config in record.configs)
    seeds = range(first, first + wanted["seeds"])
    chosen = candidates(sweep, wanted["best"])
    return dataclasses.replace(
        record,
        swept=[*varied(chosen), "seed"],
        configs=[g.config | {"seed": seed} for g, seed in itertools.product(chosen, seeds)],
        scheduler="fifo",
        time_budget_s=None,
        confirm=None,
        confirms=sweep.name,
    )


def _show(found: list[Confirmation], sweep: Path, again: Path) -> None:
    """The table of both scores, and what it says."""
    # A Table's own title wraps at its width.
    print("Mean return of the last 100 games: the sweep's, and fresh seeds' there and at their end")
    table = Table(box=None, pad_edge=False)
    table.add_column("settings")
    for column in ("after", "sweep", "fresh", "95% interval", "drop", "end"):
        table.add_column(column, justify="right", no_wrap=True)
    names = varied(c.chosen for c in found)
    for c in found:
        low, high = mean_interval(c.fresh) if len(c.fresh) > 1 else (float("nan"), float("nan"))
        scores = [f"{c.sweep:.1f}", f"{c.fresh.mean():.1f}", f"{low:.1f} to {high:.1f}", f"{c.drop:+.1f}"]
        table.add_row(c.chosen.label(names), c.where, *scores, f"{c.final.mean():.1f}")
    Console().print(table)
    if len(found) > 1:
        say(verdict(found))
    where = shlex.join([folders.display(sweep), folders.display(again)])
    print(f"Report:  {neighbour('results.py')} report {where}")
