"""The sweep program, for any learner: what a command line asks for, planned, printed and run."""

import sys
import time
from collections.abc import Sequence
from typing import Any

from experiments.ask.budget import Budget
from experiments.ask.command_line import clean_exit, parse
from experiments.ask.flags import RunFlags, SweepFlags, require_counted
from experiments.disk.spec import members
from experiments.plan.capacity import extent_of, left_out, nothing_swept
from experiments.plan.draws import (
    baseline_of,
    draw,
    one_of_each,
    own_values,
    require_fits,
    require_possible_seeds,
    trial_seeds,
    with_seeds,
)
from experiments.plan.identity import is_baseline
from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import Space, space_of
from experiments.run.confirmation import beside, fresh_seeds, settled_sweep
from experiments.run.draft import (
    Continuation,
    Draft,
    begun,
    changed,
    continuation,
    forked,
    renumbered,
    require_possible,
)
from experiments.run.planning import show
from experiments.run.preconditions import require_free, resources_for
from trainables.checks import ConfigError, require_used

FLAGS = {"search": SweepFlags(), "storage": RunFlags()}
"""All flags of a sweep."""


@clean_exit()
def main(learner: Learner, description: str, words: Sequence[str] | None = None) -> None:
    """Run the sweep that the command line asks for, and end the program with its status.

    ``words`` are the arguments without the learner's name, if the command line begins with that; None: all arguments.
    """
    began = time.monotonic()
    if words is None:
        words = sys.argv[1:]
    search, run = parse(FLAGS, description, [*learner.config_class.from_dict({}).to_dict()], args=words)
    asked = prepare(learner, search, run, words)
    if isinstance(asked, Draft):
        show(asked)
    if search.dry_run:
        sys.exit(0)
    from experiments.run.lifecycle import perform  # which loads Tune: a refusal and --help do without

    sys.exit(perform(asked, began if search.smoke_test else None))


def prepare(learner: Learner, search: SweepFlags, run: RunFlags, words: Sequence[str]) -> Draft | Continuation:
    """What the ``words`` of a command line, read into flags, ask for.

    Raises ConfigError if it cannot be, or if one of the flags would be ignored.
    """
    require_counted([run, search], words)
    search = search.settled
    if run.resume or run.extend:
        return continuation(learner, run, Budget(search.iterations, search.timesteps))
    sweep = None
    if search.confirm:
        sweep = settled_sweep(learner, run, search.confirm)
        run = beside(sweep, run)
    if left := begun(learner, run):
        return left
    resources = resources_for(run)
    require_possible_seeds(search.seeds_each, search.scheduler, search.settings)
    require_free(run)
    if sweep:
        draft = fresh_seeds(learner, run, sweep, search.best, search.seeds_each, resources)
    elif run.fork:
        draft = _fork(learner, run, search, resources)
    else:
        draft = _sweep(learner, run, search, resources)
    for config in draft.configs:
        if not is_baseline(config.to_dict(), draft.baseline):
            require_used(config, search.settings)
    require_possible(draft)
    return draft


def _without_domains(learner: Learner, space: Space, resources: ClusterResources) -> Space:
    """The space of a single trial: the preset's settings, with as many workers as have room unless it is said how many.

    So a short sweep runs on one core, too, as a longer one does, whose trials draw what fits.
    """
    settings = {**space.settings}
    if "num_workers" in space.domains:
        own = learner.config_class.from_dict(settings)
        room = resources.workers(own.cpus_per_worker)
        settings["num_workers"] = min(own.num_workers, max(1, room))
    return space._replace(domains={}, settings=settings)


def _sweep(learner: Learner, run: RunFlags, search: SweepFlags, resources: ClusterResources) -> Draft:
    """Trials drawn from the sweep's space: as many, and as long, as the flags say or time allows."""
    space = _space(learner, search, resources)
    own, reasons = _baseline(learner, space, search, resources)
    extent = extent_of(learner, space, search, resources, own)
    notes = [*space.notes, *reasons]
    count: int | None = extent.configurations
    if search.grid:
        count = None  # all combinations
    elif count == 1 and not space.own:  # A single trial has the preset's settings: nothing is drawn.
        space, count = _without_domains(learner, space, resources), None
        if own is not None:
            own = {}
        notes.append(nothing_swept(search.preset, extent))
    configs, swept = draw(learner, space, count, search.seed, resources, own)
    if space.own and (note := left_out(space, configs, extent, one_of_each(space, search.seed, own))):
        notes.append(note)
    baseline: dict[str, Any] | None = None
    if own is not None:
        baseline = baseline_of(own, swept)
    configuration_of: list[int] | None = None
    if search.seeds_each > 1:
        (first,) = trial_seeds(search.seed, 1)
        seeds = range(first, first + search.seeds_each)  # They follow each other, as those of train.py --seeds do.
        configs, configuration_of, twice = with_seeds(configs, seeds)
        swept.append("seed")
        notes += twice
    return Draft(
        learner,
        run,
        extent.budget,
        configs,
        swept=swept,
        baseline=baseline,
        configuration_of=configuration_of,
        scheduler=search.scheduler,
        max_concurrent=search.max_concurrent,
        time_budget_s=search.time_budget_s,
        drawn=extent.configurations,
        space=space.words,
        preset=space.preset,
        notes=notes,
        resources=resources,
        measured=extent.capacity,
    )


def _baseline(
    learner: Learner, space: Space, search: SweepFlags, resources: ClusterResources
) -> tuple[dict[str, Any] | None, list[str]]:
    """The baseline's values of what is swept; None without a baseline, and a note that says why if no flag does."""
    if not search.has_baseline:
        return None, []
    try:
        return own_values(learner, space, resources), []
    except ConfigError as error:
        return None, [f"No baseline: the preset's own values are impossible here ({error})."]


def _space(learner: Learner, search: SweepFlags, resources: ClusterResources) -> Space:
    """The space from which a sweep draws. Workers that never fit are refused before anything is drawn or played."""
    room: ClusterResources | None = resources
    if search.grid and (search.space or search.sweep):
        room = None  # A grid of the user's own choices has the same combinations on any machine.
    space = space_of(learner, search.preset, search.settings, room, search.space, search.sweep)
    parallel = {"num_workers", "cpus_per_worker"}
    if parallel.isdisjoint(space.domains):
        fixed = {name: space.settings[name] for name in parallel & space.settings.keys()}
        require_fits(learner.config_class.from_dict(fixed), resources)
    return space


def _fork(learner: Learner, run: RunFlags, search: SweepFlags, resources: ClusterResources) -> Draft:
    """The trials of the experiment that ``--fork`` names, with some settings changed."""
    before, origin = forked(learner, run)
    settings = search.settings
    configuration_of = renumbered(before.configuration_of, [trial.trial.number for trial in origin])
    seeds = max(map(len, members(configuration_of, len(origin))))
    require_possible_seeds(seeds, search.scheduler, settings)
    configs = [changed(trial, settings, learner.config_class) for trial in origin]
    for config in configs:
        require_fits(config, resources)
    return Draft(
        learner,
        run,
        search.budget,
        configs,
        swept=[name for name in before.swept if name not in settings],
        configuration_of=configuration_of,
        scheduler=search.scheduler,
        max_concurrent=search.max_concurrent,
        time_budget_s=search.time_budget_s,
        origin=origin,
        space={name: words for name, words in (before.space or {}).items() if name not in settings},
        preset=before.preset,
        notes=[
            "Trials start from the best checkpoints of their origin, whose steps count towards the limit; rounds begin"
            " where these stand in the mean."
        ],
        resources=resources,
    )
