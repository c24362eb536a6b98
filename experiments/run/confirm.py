"""The best of a sweep once more, with fresh random seeds: the winner among many owes a part of its score to luck."""

import dataclasses
import itertools
import shlex
from pathlib import Path

from experiments.ask.command_line import neighbour
from experiments.ask.flags import RunFlags
from experiments.plan.learners import Learner
from experiments.read.configurations import best_configurations, varied
from experiments.read.experiments import Experiment, read_experiment
from experiments.read.luck import SUFFIX, confirmations, verdict, wanted
from experiments.record import folders, mirror
from experiments.record.spec import Confirm, ExperimentSpec
from experiments.run import lifecycle
from experiments.show.tables import confirmation_table
from experiments.show.text import print_table, say
from trainables.checks import ConfigError


def due(folder: Path, run: RunFlags) -> bool:
    """Whether all that is left of a sweep is its confirmation: the sweep's scores are to stay as they are.

    A confirmation that has begun says so of itself, unless the sweep was extended after it.
    """
    spec = ExperimentSpec.read(folder)
    return bool(wanted(read_experiment(folder))) or (not spec.extended and _begun(folder, spec, run))


def confirm(learner: Learner, folder: Path, run: RunFlags) -> int:
    """Run, or go on with, the confirmation that a sweep was started with; print what it says.

    Returns an exit status, 0 if none was asked for. Raises ConfigError if it cannot be run.
    """
    sweep, spec = read_experiment(folder), ExperimentSpec.read(folder)
    if not (asked := spec.confirm):
        return 0
    again, begun = folder.with_name(folder.name + SUFFIX), _begun(folder, spec, run)
    if not begun and not wanted(sweep):
        raise ConfigError("no trial has a result" if sweep.settled else "the sweep has not come to its end")
    print(f"\nThe best {asked.best} again, with fresh seeds: {folders.display(again)}", flush=True)
    flags = _flags(folder, spec, run)
    if begun:
        status, again = lifecycle.resume(learner, dataclasses.replace(flags, resume=again.name))
    else:
        status, again = lifecycle.start(
            learner, fresh_seeds(spec, sweep, asked), dataclasses.replace(flags, name=again.name)
        )
    if status in (0, 1):
        _show(sweep, read_experiment(again))
    return status


def _begun(folder: Path, spec: ExperimentSpec, run: RunFlags) -> bool:
    flags, name = _flags(folder, spec, run), folder.name + SUFFIX
    if not spec.confirm or not mirror.taken(flags, name):
        return False
    try:
        return ExperimentSpec.read(mirror.find(flags, name, spec.learner)).confirms == folder.name
    except ConfigError:  # it is something else
        return False


def _flags(folder: Path, spec: ExperimentSpec, run: RunFlags) -> RunFlags:
    """Flags that find what lies beside a sweep, on the Ray that ``run`` names."""
    return RunFlags(
        storage_path=spec.storage_uri or str(folder.parent),
        address=run.address,
        callback=run.callback,
        verbose=run.verbose,
    )


def fresh_seeds(spec: ExperimentSpec, sweep: Experiment, asked: Confirm) -> ExperimentSpec:
    """What the confirmation is to do. All configurations meet the same seeds, new to all of them.

    Its trials begin untrained, also those of a fork's confirmation.
    """
    first = 1 + max(spec.seeds)
    seeds = range(first, first + asked.seeds)
    chosen = best_configurations(sweep, asked.best)
    return spec.but(
        swept=[*varied(chosen), "seed"],
        configs=[c.config | {"seed": seed} for c, seed in itertools.product(chosen, seeds)],
        scheduler="fifo",
        rungs=None,
        time_budget_s=None,
        confirm=None,
        ended=None,
        extended=[],
        confirms=sweep.name,
        fork_of=None,
        configuration_of=[index for index in range(len(chosen)) for _ in seeds],
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
