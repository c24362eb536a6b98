"""The sweep program, for any learner: from a command line to a plan, and on to its performance."""

import dataclasses
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.ask.budget import Budget
from experiments.ask.command_line import clean_exit, parse, this_command
from experiments.ask.flags import RunFlags
from experiments.ask.modes import EXTEND, FORK, RESUME, require_counted
from experiments.ask.schedulers import SCHEDULERS
from experiments.ask.sweep_flags import SAMPLES, SweepFlags
from experiments.plan import exchanges
from experiments.plan.capacity import Capacity, Way, reachable, rungs
from experiments.plan.draws import (
    draw,
    most_choices,
    require_fits,
    require_means,
    require_one_environment,
    trial_seeds,
    typical,
    undrawn,
    with_seeds,
)
from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import Space, space_of
from experiments.plan.trial_names import short
from experiments.record.spec import Confirm, ExperimentSpec, members
from experiments.run.planning import START_AND_END_S, Plan, rounds, show
from experiments.run.task import (
    Task,
    beginning,
    begun,
    changed,
    continuation,
    forked,
    require_free,
    resources_for,
)
from trainables.checks import require_used
from trainables.texts import counted


@dataclass(frozen=True)
class Arguments:
    """All flags of a sweep."""

    search: SweepFlags = field(default_factory=SweepFlags)
    storage: RunFlags = field(default_factory=RunFlags)


@clean_exit()
def main(learner: Learner, description: str, words: Sequence[str] | None = None) -> None:
    """Run a sweep from the command line, or what of it are ``words``, and end the program with its status."""
    began, words = time.monotonic(), sys.argv[1:] if words is None else words
    arguments = parse(Arguments(), description, [*learner.config_class.from_dict({}).to_dict()], args=words)
    task, plan = prepare(learner, arguments, words)
    if plan:
        show(task, plan)
    if arguments.search.dry_run:
        sys.exit(0)
    if arguments.search.smoke_test:
        task = dataclasses.replace(task, smoke_test_since=began)
    from experiments.run.lifecycle import perform  # Ray, which a refusal, --help and a plan do without

    sys.exit(perform(task))


def prepare(learner: Learner, arguments: Arguments, words: Sequence[str]) -> tuple[Task, Plan | None]:
    """What the ``words`` of a command line, read into ``arguments``, ask for; with its plan if it starts anew.

    Raises ConfigError if it cannot be, or if one of the flags would be ignored.
    """
    sweep, run = arguments.search.settled, arguments.storage
    mode = require_counted([run, arguments.search], words)
    if mode in (RESUME, EXTEND):
        return continuation(learner, run, Budget(sweep.iterations, sweep.timesteps), _confirm(sweep)), None
    if task := begun(learner, run):
        return task, None
    resources, settings = resources_for(run), sweep.settings
    require_means(sweep.seeds, sweep.scheduler, settings)
    require_free(run, bool(sweep.confirm))
    if mode == FORK:
        plan = _forked(learner, run, sweep, settings, resources)
    else:
        plan = _drawn(learner, sweep, settings, resources)
    require_one_environment(plan.configs, sweep.scheduler)
    for config in plan.configs:
        require_used(config, settings)
    if SCHEDULERS[sweep.scheduler].changes_settings:
        notes = [*plan.notes, *exchanges.notes(learner, plan.configs, plan.swept, plan.space)]
        plan = dataclasses.replace(plan, notes=notes)
    ways = plan.ways(learner)
    task = beginning(learner, run, _spec(learner, plan, run, ways), plan.origin)
    if not task.spec.rungs:
        seconds = START_AND_END_S + task.share_left * plan.seconds(learner)
        return dataclasses.replace(task, seconds=seconds), plan
    seeds = max(map(len, task.spec.configurations))
    capacity = plan.capacity or Capacity.of(learner, plan.configs[0], resources, seeds, sweep.max_concurrent)
    plan = dataclasses.replace(plan, rounds=rounds(capacity, task.spec, ways))
    return dataclasses.replace(task, seconds=sum(each.seconds for each in plan.rounds)), plan


def _forked(
    learner: Learner, run: RunFlags, sweep: SweepFlags, settings: dict[str, Any], resources: ClusterResources
) -> Plan:
    """The trials of the experiment that ``--fork`` names, with the settings changed."""
    forked_from, origin = forked(learner, run)
    configuration_of = of_some(forked_from.configuration_of, [trial.trial.number for trial in origin])
    require_means(max(map(len, members(configuration_of, len(origin)))), sweep.scheduler, settings)
    configs = [changed(trial, settings, learner.config_class) for trial in origin]
    for config in configs:
        require_fits(config, resources)
    return Plan(
        sweep,
        resources,
        configs,
        swept=[name for name in forked_from.swept if name not in settings],
        space={name: words for name, words in (forked_from.space or {}).items() if name not in settings},
        preset=forked_from.preset,
        notes=[
            "Trials start from the best checkpoints of their origin, whose steps count towards the limit; rounds begin"
            " where these stand in the mean."
        ],
        configuration_of=configuration_of,
        origin=origin,
    )


def of_some(configuration_of: Sequence[int] | None, trials: Sequence[int]) -> list[int] | None:
    """The configurations of some of the trials, counted anew from 0; None where each trial is one."""
    if configuration_of is None:
        return None
    kept = [configuration_of[trial] for trial in trials]
    return [sorted({*kept}).index(configuration) for configuration in kept]


def _drawn(learner: Learner, sweep: SweepFlags, settings: dict[str, Any], resources: ClusterResources) -> Plan:
    """Trials drawn from the sweep's space: as many, and as long, as the flags say or time allows."""
    room = None if sweep.grid and (sweep.space or sweep.sweep) else resources
    space = space_of(learner, sweep.preset, settings, room, sweep.space, sweep.sweep)
    parallel = {"num_workers", "cpus_per_worker"}
    if parallel.isdisjoint(space.domains):  # before anything is drawn or played
        fixed = {name: space.settings[name] for name in parallel & space.settings.keys()}
        require_fits(learner.config_class.from_dict(fixed), resources)
    found = draw(learner, space, None, sweep.seed, resources) if sweep.grid else None
    if found:
        sweep = dataclasses.replace(sweep, grid=False, num_samples=len(found[0]))
    capacity, asked = None, None
    if SCHEDULERS[sweep.scheduler].has_rungs:
        capacity = Capacity.of(learner, typical(learner, space), resources, sweep.seeds, sweep.max_concurrent)
        asked = sweep.timesteps or (sweep.iterations and round(sweep.iterations * capacity.iteration_steps))
        named = most_choices(space) if space.own else 1
        num_samples, steps = capacity.choose(sweep.time_budget_s, sweep.num_samples, asked, named)
        timesteps = sweep.timesteps if sweep.iterations else steps
        sweep = dataclasses.replace(sweep, num_samples=num_samples, timesteps=timesteps)
    count: int | None = sweep.num_samples or SAMPLES
    if count == 1 and not (space.own or found):
        space, count = space._replace(domains={}, notes=[*space.notes, _nothing_swept(sweep, capacity, asked)]), None
    configs, swept = found or draw(learner, space, count, sweep.seed, resources)
    if space.own and (left := undrawn(space, configs)):
        space = space._replace(notes=[*space.notes, _left_out(left, space, len(configs), capacity, asked)])
    plan = Plan(sweep, resources, configs, swept, space.words, space.preset, space.notes, capacity=capacity)
    if sweep.seeds == 1:
        return plan
    (first,) = trial_seeds(sweep.seed, 1)
    configs, configuration_of, notes = with_seeds(configs, range(first, first + sweep.seeds))  # as train.py --seeds
    swept, notes = [*swept, "seed"], [*space.notes, *notes]
    return dataclasses.replace(plan, configs=configs, swept=swept, notes=notes, configuration_of=configuration_of)


def _nothing_swept(sweep: SweepFlags, capacity: Capacity | None, steps: int | None) -> str:
    note = f"A single trial has the settings of {sweep.preset}: nothing is swept."
    return note + (f" Three take {_budget(capacity, 3, steps)}." if capacity else "")


def _left_out(
    left: dict[str, list[Any]], space: Space, drawn: int, capacity: Capacity | None, steps: int | None
) -> str:
    """Which choices get no trial, and what time one of each needs."""
    named = "; ".join(f"{name}={','.join(map(short, values))}" for name, values in left.items())
    note = f"No trial has {named}: {counted(drawn, 'configuration')} cannot have all."
    return note + (f" One of each takes {_budget(capacity, most_choices(space), steps)}." if capacity else "")


def _budget(capacity: Capacity, configurations: int, steps: int | None) -> str:
    """The flag that gives so many configurations time, in two digits, upwards."""
    seconds = capacity.needed(configurations, steps)
    digit = 10 ** max(0, len(str(int(seconds))) - 2)
    return f"--time-budget-s {math.ceil(seconds / digit) * digit}"


def _confirm(sweep: SweepFlags) -> Confirm | None:
    return Confirm(best=sweep.confirm, seeds=sweep.confirm_seeds) if sweep.confirm else None


def _spec(learner: Learner, plan: Plan, run: RunFlags, ways: Sequence[Way]) -> ExperimentSpec:
    """What is written down of a new sweep, whose rungs lie beyond the furthest trial of a fork."""
    sweep, budget = plan.sweep, plan.sweep.budget
    halved = None
    if SCHEDULERS[sweep.scheduler].has_rungs:
        limit = budget.limits[budget.time_attr]
        configurations = members(plan.configuration_of, len(plan.configs))
        start = min(max(way.start for way in ways), limit - 1)
        halved = reachable(rungs(len(configurations), limit, start), ways)
    return ExperimentSpec(
        learner=learner.name,
        command=this_command(),
        iterations=budget.iterations,
        timesteps=budget.timesteps,
        swept=plan.swept,
        configs=[config.to_dict() for config in plan.configs],
        checkpoint_frequency=run.checkpoint_frequency,
        keep_checkpoints=run.kept,
        interval=SCHEDULERS[sweep.scheduler].interval(budget),
        scheduler=sweep.scheduler,
        rungs=halved,
        max_concurrent=sweep.max_concurrent,
        time_budget_s=sweep.time_budget_s,
        storage_uri=run.uri,
        confirm=_confirm(sweep),
        configuration_of=plan.configuration_of,
        drawn=sweep.num_samples,
        space=dict(plan.space) or None,
        preset=plan.preset,
    )
