"""The sweep program, for any learner."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.ask.command_line import clean_exit, parse, program
from experiments.ask.flags import RunFlags, SweepFlags, refuse_settled
from experiments.ask.words import duration
from experiments.plan import population
from experiments.plan.learners import Learner
from experiments.plan.plan import Plan, draw, require_fits
from experiments.plan.resources import ClusterResources
from experiments.record.spec import ExperimentSpec
from experiments.run import lifecycle
from experiments.run.confirm import confirm, require_free
from experiments.run.console import say
from experiments.run.disk import require_disk
from experiments.run.fork import changed, fork, forked
from experiments.run.ray_session import resources_for
from experiments.run.schedulers import decision_interval
from experiments.show.table import print_table
from experiments.show.tables import plan_table
from trainables.config import Config


@dataclass(frozen=True)
class Arguments:
    """All flags of a sweep."""

    sweep: SweepFlags
    run: RunFlags


@clean_exit()
def main(learner: Learner, description: str) -> None:
    """Run a sweep from the command line, and end the program with its status."""
    arguments = parse(Arguments, description)
    run = arguments.run
    folder: Path | None
    if run.resume or run.extend:
        refuse_settled(run, arguments.sweep, SweepFlags())
        refuse_settled(run, run, RunFlags())
        status, folder = lifecycle.resume(learner, run, arguments.sweep.budget)
    elif run.fork:
        status, folder = _fork(learner, arguments)
    else:
        status, folder = _start(learner, arguments)
    if folder and status in (0, 1):
        status = max(status, confirm(learner, folder, run.verbose))
    sys.exit(status)


def _start(learner: Learner, arguments: Arguments) -> tuple[int, Path | None]:
    sweep, run = arguments.sweep, arguments.run
    plan = _plan(learner, sweep, resources_for(run))
    if sweep.confirm:
        require_free(run)
    spec = _spec(learner, arguments, plan.configs, plan.swept)
    _show(plan, sweep)
    print(f"Checkpoints take {require_disk(run.folder, learner, spec) / 1e6:,.0f} MB at most.")
    if sweep.dry_run:
        return 0, None
    return lifecycle.start(learner, spec, run)


def _fork(learner: Learner, arguments: Arguments) -> tuple[int, Path]:
    sweep, run = arguments.sweep, arguments.run
    origin, restored = forked(learner, run)
    settings = sweep.settings(learner.batch_field)
    configs = [changed(trial, settings, learner.config_class) for trial in restored]
    resources = resources_for(run)
    for config in configs:
        require_fits(config, resources)
    swept = [name for name in origin.swept if name not in settings]
    return fork(learner, _spec(learner, arguments, configs, swept), restored, run)


def _spec(learner: Learner, arguments: Arguments, configs: Sequence[Config], swept: list[str]) -> ExperimentSpec:
    sweep, run = arguments.sweep, arguments.run
    return ExperimentSpec(
        learner=learner.name,
        command=[program(), *sys.argv[1:]],
        iterations=sweep.budget.iterations,
        timesteps=sweep.budget.timesteps,
        swept=swept,
        configs=[config.to_dict() for config in configs],
        checkpoint_frequency=run.checkpoint_frequency,
        interval=decision_interval(sweep.budget, sweep.scheduler),
        scheduler="fifo" if sweep.smoke_test else sweep.scheduler,
        max_concurrent=sweep.max_concurrent,
        time_budget_s=sweep.time_budget_s,
        storage_uri=run.uri,
        confirm={"best": sweep.confirm, "seeds": sweep.seeds} if sweep.confirm else None,
    )


def _plan(learner: Learner, sweep: SweepFlags, resources: ClusterResources) -> Plan:
    preset = "smoke" if sweep.smoke_test else sweep.preset
    samples = 2 if sweep.smoke_test else sweep.num_samples
    configs, swept, notes = draw(learner, preset, sweep.settings(learner.batch_field), samples, sweep.seed, resources)
    if sweep.scheduler == "pbt" and not sweep.smoke_test:
        notes += population.notes(learner, configs, swept)
    return Plan(learner, configs, swept, sweep.budget, resources, sweep.max_concurrent, notes)


def _show(plan: Plan, sweep: SweepFlags) -> None:
    print(f"{len(plan.configs)} trials of {plan.budget}")
    print_table(plan_table(plan))
    print()
    fixed = {name: value for name, value in plan.configs[0].to_dict().items() if name not in {*plan.swept, "seed"}}
    say("Same in all: " + ", ".join(f"{name}={json.dumps(value)}" for name, value in fixed.items()))
    for note in plan.notes:
        say(f"Note: {note}")
    seconds = plan.seconds()
    say(
        f"{plan.concurrent()} at once on {plan.resources}, which leaves {plan.idle():g} idle."
        f" About {duration(seconds)} at an untrained policy's pace if no trial is stopped early; games grow two- to"
        f" fivefold as play improves. Ends after {duration(sweep.time_budget_s)} in any case (--time-budget-s)."
    )
    if sweep.confirm:
        best = min(sweep.confirm, len(plan.configs))
        runs_again = best * sweep.seeds
        say(
            f"Then the best {best} again, {sweep.seeds} fresh seeds each: {runs_again} trials of {plan.budget},"
            f" about {duration(seconds / len(plan.configs) * runs_again)} more, beyond the time budget."
        )
