"""The sweep program, for any learner."""

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from experiments.ask.budget import Budget
from experiments.ask.command_line import clean_exit, parse, program
from experiments.ask.flags import RunFlags
from experiments.ask.modes import EXTEND, FORK, RESUME, require_counted
from experiments.ask.sweep_flags import SAMPLES, SweepFlags
from experiments.plan import population
from experiments.plan.capacity import Capacity
from experiments.plan.learners import Learner
from experiments.plan.plan import Plan, draw, require_fits, typical
from experiments.plan.resources import ClusterResources
from experiments.plan.rungs import rungs
from experiments.plan.seeds import require_means, with_seeds
from experiments.plan.spaces import Space, own_space, space_around
from experiments.plan.trial_names import number_in_name
from experiments.read.restored import RestoredTrial
from experiments.record.spec import Confirm, ExperimentSpec, members, of_some
from experiments.run.fork import best_checkpoint, changed, forked
from experiments.run.planning import filled, rounds, show
from experiments.run.ray_session import resources_for
from experiments.run.schedulers import decision_interval
from experiments.run.task import Task, beginning, continuation, perform
from trainables.checks import require_used
from trainables.config import Config


@dataclass(frozen=True)
class Arguments:
    """All flags of a sweep."""

    sweep: SweepFlags
    run: RunFlags


@clean_exit()
def main(learner: Learner, description: str, words: Sequence[str] | None = None) -> None:
    """Run a sweep from the command line, or what of it are ``words``, and end the program with its status."""
    words = sys.argv[1:] if words is None else words
    arguments = parse(Arguments, description, args=words)
    task, plan = prepare(learner, arguments, words)
    if plan:
        show(plan, task, arguments.sweep)
    sys.exit(0 if arguments.sweep.dry_run else perform(task))


def prepare(learner: Learner, arguments: Arguments, words: Sequence[str]) -> tuple[Task, Plan | None]:
    """What the ``words`` of a command line, read into ``arguments``, ask for; with its plan if it starts anew.

    Raises ConfigError if it cannot be, or if one of the flags would be ignored.
    """
    sweep, run = arguments.sweep.settled, arguments.run
    mode = require_counted([run, arguments.sweep], words)
    if mode in (RESUME, EXTEND):
        return continuation(learner, run, Budget(sweep.iterations, sweep.timesteps), _confirm(sweep)), None
    resources = resources_for(run)
    settings = sweep.settings(learner.batch_field)
    require_means(sweep.seeds, sweep.scheduler, settings)
    capacity: Capacity | None = None
    origin: Sequence[RestoredTrial] = ()
    configuration_of: list[int] | None = None
    if mode == FORK:
        forked_from, origin = forked(learner, run)
        configuration_of = of_some(forked_from.configuration_of, [int(number_in_name(trial.name)) for trial in origin])
        most = max(map(len, members(configuration_of, len(origin))))
        require_means(most, sweep.scheduler, settings)
        configs = [changed(trial, settings, learner.config_class) for trial in origin]
        swept = [name for name in forked_from.swept if name not in settings]
        space = {name: words for name, words in (forked_from.space or {}).items() if name not in settings}
        preset = forked_from.preset
        notes = ["Trials start from the best checkpoints of their origin, whose steps count towards the limit."]
        for config in configs:
            require_fits(config, resources)
    else:
        sweep, capacity, configs, swept, drawn_from = _drawn(learner, sweep, settings, resources)
        notes, space, preset = drawn_from.notes, drawn_from.words, drawn_from.preset
        if sweep.seeds > 1:
            configs, configuration_of, more = with_seeds(configs, sweep.seeds)
            swept, notes = [*swept, "seed"], [*notes, *more]
    for config in configs:
        require_used(config, settings)
    if sweep.scheduler == "pbt":
        notes += population.notes(learner, configs, swept, space or None)
    plan = Plan(
        learner,
        configs,
        swept,
        sweep.budget,
        resources,
        sweep.max_concurrent,
        notes,
        configuration_of=configuration_of,
        space=space or None,
        preset=preset,
    )
    start = max((int(best_checkpoint(trial)[1][sweep.budget.time_attr]) for trial in origin), default=0)
    task = beginning(learner, run, _spec(plan, sweep, run, start), origin)
    if not task.spec.rungs:
        return task, plan
    capacity = capacity or Capacity.of(learner, configs[0], resources)
    return task, dataclasses.replace(plan, rounds=rounds(capacity, task.spec, start))


class Drawn(NamedTuple):
    """What a new sweep runs."""

    sweep: SweepFlags  # with what they left open
    capacity: Capacity | None  # of halving
    configs: list[Config]
    swept: list[str]
    space: Space


def _drawn(learner: Learner, sweep: SweepFlags, settings: Mapping[str, Any], resources: ClusterResources) -> Drawn:
    if sweep.space or sweep.sweep:
        room = None if sweep.grid else resources
        space = own_space(learner, sweep.preset, settings, sweep.space, sweep.sweep, room)
    else:
        space = space_around(learner, sweep.preset, settings, resources)
    found = draw(learner, space, None, sweep.seed, resources) if sweep.grid else None
    if found:
        sweep = dataclasses.replace(sweep, grid=False, num_samples=len(found[0]))
    capacity = None
    if sweep.scheduler == "halving":
        capacity = Capacity.of(learner, typical(learner, space), resources)
        sweep = filled(sweep, capacity)
    found = found or draw(learner, space, sweep.num_samples or SAMPLES, sweep.seed, resources)
    return Drawn(sweep, capacity, *found, space)


def _confirm(sweep: SweepFlags) -> Confirm | None:
    return Confirm(**sweep.confirmation) if sweep.confirmation else None


def _spec(plan: Plan, sweep: SweepFlags, run: RunFlags, start: int) -> ExperimentSpec:
    """What is written down of a plan; ``start`` is where the furthest trial of a fork begins."""
    limit = sweep.budget.limits[sweep.budget.time_attr]
    halved = rungs(len(members(plan.configuration_of, len(plan.configs))), limit, min(start, limit - 1))
    return ExperimentSpec(
        learner=plan.learner.name,
        command=[program(), *sys.argv[1:]],
        iterations=sweep.budget.iterations,
        timesteps=sweep.budget.timesteps,
        swept=plan.swept,
        configs=[config.to_dict() for config in plan.configs],
        checkpoint_frequency=run.checkpoint_frequency,
        keep_checkpoints=run.kept,
        interval=decision_interval(sweep.budget, sweep.scheduler),
        scheduler=sweep.scheduler,
        rungs=halved if sweep.scheduler == "halving" else None,
        max_concurrent=sweep.max_concurrent,
        time_budget_s=sweep.time_budget_s,
        storage_uri=run.uri,
        confirm=_confirm(sweep),
        configuration_of=plan.configuration_of,
        space=plan.space,
        preset=plan.preset,
    )
