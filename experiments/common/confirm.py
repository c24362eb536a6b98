"""The best of a sweep once more, with fresh seeds: the winner among many owes a part of its score to luck."""

import itertools
import shlex
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from experiments.common import folders, runs
from experiments.common.console import SweepView
from experiments.common.flags import neighbour
from experiments.common.groups import Confirmation, candidates, confirmations, varied
from experiments.common.launch import new_tuner, restored_tuner
from experiments.common.learners import Learner
from experiments.common.lock import exclusive
from experiments.common.records import Experiment, read_experiment
from experiments.common.statistics import mean_interval, probability_of_higher_mean
from trainables.config import ConfigError

SUFFIX = "-confirm"


def require_free(storage_path: Path, name: str | None) -> None:
    """Raise ConfigError if the confirmation of a sweep of this name would find its own name taken, hours later."""
    if name and (storage_path / (name + SUFFIX)).exists():
        raise ConfigError(f"--confirm needs the name {name + SUFFIX!r}, which exists already in {storage_path}")


def confirm(learner: Learner, folder: Path, verbose: bool) -> int:
    """Run, or go on with, the confirmation that a sweep was started with; print what it says.

    Does nothing if none was asked for, or if the sweep has not come to its end. Returns an exit status.
    """
    sweep = read_experiment(folder)
    wanted = sweep.record.get("confirm")
    if not wanted or not sweep.over or not candidates(sweep, 1):
        return 0
    again = folder.with_name(folder.name + SUFFIX)
    if not again.exists():
        again = _create(learner, sweep, wanted)
        tuner = _new(learner, again, wanted, verbose)
    else:
        tuner = restored_tuner(learner, again)
    print(f"\nThe best {wanted['best']} again, with fresh seeds: {folders.display(again)}")
    with exclusive(again):
        status = runs.fit(tuner, again)
    _show(confirmations(sweep, read_experiment(again)), folder, again)
    return status


def _create(learner: Learner, sweep: Experiment, wanted: dict[str, Any]) -> Path:
    """The folder of the confirmation, with its record. All configurations meet the same seeds, new to all of them."""
    first = 1 + max(config["seed"] for config in sweep.record["configs"])
    seeds = range(first, first + wanted["seeds"])
    chosen = candidates(sweep, wanted["best"])
    record = {
        "learner": learner.name,
        "command": sweep.record["command"],
        "iterations": sweep.record["iterations"],
        "swept": [*varied(chosen), "seed"],
        "configs": [g.config | {"seed": seed} for g, seed in itertools.product(chosen, seeds)],
        "confirms": sweep.name,
    }
    return folders.create(sweep.folder.parent, sweep.name + SUFFIX, learner.name, record)


def _new(learner: Learner, folder: Path, wanted: dict[str, Any], verbose: bool) -> Any:
    record = folders.read_record(folder)
    return new_tuner(
        learner,
        [learner.config_class.from_dict(config) for config in record["configs"]],
        record["swept"],
        folder,
        iterations=record["iterations"],
        checkpoint_frequency=wanted["checkpoint_frequency"],
        max_concurrent=wanted["max_concurrent"],
        callbacks=[SweepView(record["iterations"], float("inf"))],
        verbose=verbose,
    )


def _show(found: list[Confirmation], sweep: Path, again: Path) -> None:
    """The table of both scores, and what it says."""
    table = Table(title="Mean return of the last 100 games: the sweep's, and fresh seeds'", title_justify="left")
    table.add_column("settings")
    for column in ("in the sweep", "fresh seeds", "95% interval", "drop"):
        table.add_column(column, justify="right")
    names = varied(c.chosen for c in found)
    for c in found:
        low, high = mean_interval(c.fresh) if len(c.fresh) > 1 else (float("nan"), float("nan"))
        row = [f"{c.sweep:.1f}", f"{c.fresh.mean():.1f}", f"{low:.1f} to {high:.1f}", f"{c.drop:+.1f}"]
        table.add_row(c.chosen.label(names), *row)
    Console().print(table)
    if len(found) > 1:
        probability = probability_of_higher_mean(found[0].fresh, found[1].fresh)
        print(f"The sweep's first beats its second with probability {probability:.2f} (bootstrap over fresh seeds).")
    where = shlex.join([folders.display(sweep), folders.display(again)])
    print(f"Report:  {neighbour('results.py')} report {where}")
