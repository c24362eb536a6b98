"""The sweep program, for any learner: from a command line to a Draft, or to what goes on, and to its performance."""

import sys
import time
from collections.abc import Sequence
from typing import Any

from experiments.ask.budget import Budget
from experiments.ask.command_line import clean_exit, parse
from experiments.ask.flags import RunFlags, SweepFlags, require_counted
from experiments.disk.spec import members
from experiments.plan.capacity import extent_of, left_out, nothing_swept, one_of_each
from experiments.plan.draws import (
    baseline_of,
    draw,
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
from experiments.run.draft import Continuation, Draft, begun, changed, continuation, forked, of_some, require_possible
from experiments.run.planning import show
from experiments.run.preconditions import require_free, resources_for
from trainables.checks import ConfigError, require_used

FLAGS = {"search": SweepFlags(), "storage": RunFlags()}
"""All flags of a sweep."""


@clean_exit()
def main(learner: Learner, description: str, words: Sequence[str] | None = None) -> None:
    """Run a sweep from the command line, or what of it are ``words``, and end the program with its status."""
    began = time.monotonic()
    if words is None:
        words = sys.argv[1:]
    search, run = parse(FLAGS, description, [*learner.config_class.from_dict({}).to_dict()], args=words)
    asked = prepare(learner, search, run, words)
    if isinstance(asked, Draft):
        show(asked)
    if search.dry_run:
        sys.exit(0)
    from experiments.run.lifecycle import perform  # Ray, which a refusal, --help and a plan do without

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


def _sweep(learner: Learner, run: RunFlags, search: SweepFlags, resources: ClusterResources) -> Draft:
    """Trials drawn from the sweep's space: as many, and as long, as the flags say or time allows."""
    space = _space(learner, search, resources)
    own, notes = _baseline(learner, space, search, resources)
    extent, notes = extent_of(learner, space, search, resources, own), [*space.notes, *notes]
    count: int | None = None if search.grid else extent.configurations
    if count == 1 and not space.own:
        space, count, own = space._replace(domains={}), None, own and {}
        notes.append(nothing_swept(search.preset, extent))
    configs, swept = draw(learner, space, count, search.seed, resources, own)
    if space.own and (note := left_out(space, configs, extent, one_of_each(space, own))):
        notes.append(note)
    baseline, configuration_of = None if own is None else baseline_of(own, swept), None
    if search.seeds_each > 1:
        (first,) = trial_seeds(search.seed, 1)
        seeds = range(first, first + search.seeds_each)  # as many as train.py --seeds would have from there
        configs, configuration_of, twice = with_seeds(configs, seeds)
        swept, notes = [*swept, "seed"], [*notes, *twice]
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
    """The baseline's values of what is swept; None if it is left out, and why unless a flag says so."""
    if not search.has_baseline:
        return None, []
    try:
        return own_values(learner, space, resources), []
    except ConfigError as error:
        return None, [f"No baseline: the preset's own values are impossible here ({error})."]


def _space(learner: Learner, search: SweepFlags, resources: ClusterResources) -> Space:
    """From what a sweep draws. Workers that never fit are refused before anything is drawn or played."""
    same_everywhere = search.grid and (search.space or search.sweep)
    room = None if same_everywhere else resources
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
    configuration_of = of_some(before.configuration_of, [trial.trial.number for trial in origin])
    require_possible_seeds(max(map(len, members(configuration_of, len(origin)))), search.scheduler, settings)
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
