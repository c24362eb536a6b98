"""The sweep program, for any learner."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from experiments.ask.budget import Budget
from experiments.ask.flags import RunFlags, fail, parse, program, refuse_settled, require_positive
from experiments.plan.learners import Learner
from experiments.plan.plan import Plan, draw, duration, parse_settings, require_room
from experiments.plan.resources import ClusterResources
from experiments.record.spec import ExperimentSpec, decision_interval
from experiments.run import lifecycle
from experiments.run.confirm import confirm, require_free
from experiments.run.console import say
from experiments.run.disk import require_disk
from experiments.run.fork import changed, fork, forked
from experiments.run.schedulers import SchedulerName
from experiments.run.tuner import start_ray
from experiments.show.table import print_table
from experiments.show.tables import plan_table
from trainables.checks import Bounds, ConfigError, check_fields
from trainables.config import Config

TIMESTEPS = 1_000_000
"""Agent steps of a trial, unless it is told otherwise: good settings come near parity by then."""


@dataclass(frozen=True)
class SweepFlags:
    """What is swept, how far, and how trials are stopped."""

    num_samples: Annotated[int, Bounds(1)] = 8
    """Trials, whose settings are drawn so that they cover the search space evenly."""

    iterations: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: no limit)")] = None
    """Updates of a trial that is not stopped early."""

    timesteps: Annotated[
        int | None, tyro.conf.arg(metavar="N", help_behavior_hint=f"(default: {TIMESTEPS}, or what --iterations takes)")
    ] = None
    """Agent steps of a trial that is not stopped early. asha and pbt compare trials at equal steps, which is fair to
    trials of different batches; with --iterations alone, at equally many updates."""

    time_budget_s: Annotated[float, Bounds(0, low_included=False)] = 1800.0
    """Seconds after which the sweep ends, whatever is left to do."""

    scheduler: SchedulerName = "asha"
    """asha stops trials that lag, pbt copies those that lead, fifo runs every trial to its end."""

    preset: Annotated[str, tyro.conf.arg(metavar="NAME")] = "default"
    """Named settings, and the search space around them."""

    num_workers: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: swept)")] = None
    """Rollout actors of every trial."""

    batch_size: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: the learner's)")] = None
    """Experience per update: games of the policy gradient, agent steps of TRPO."""

    max_concurrent: Annotated[
        int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: as many as the CPUs hold)")
    ] = None
    """Trials that run at once."""

    seed: Annotated[int, Bounds(0)] = 0
    """Decides what is drawn; trial i runs with seed + i."""

    set: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]],
        tyro.conf.arg(metavar="KEY=VALUE", help_behavior_hint="(repeatable)"),
    ] = ()
    """Fix any setting of the learner's configuration in all trials."""

    confirm: Annotated[int, Bounds(0)] = 0
    """Afterwards run the best N configurations again with fresh seeds: how much of their scores was luck?"""

    seeds: Annotated[int, Bounds(2)] = 3
    """Fresh seeds of each configuration that --confirm runs again."""

    smoke_test: bool = False
    """2 trials of 2 short iterations on real Pong (--preset smoke): does everything work here?"""

    dry_run: bool = False
    """Print the plan and stop."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)
        require_positive(self, "iterations", "timesteps", "num_workers", "batch_size", "max_concurrent")
        if self.confirm and self.scheduler == "pbt":
            raise ConfigError("--confirm runs fixed settings again, which pbt's trials do not have; use asha or fifo")

    @property
    def budget(self) -> Budget:
        """How long a trial trains."""
        if self.smoke_test:
            return Budget(2)
        return Budget.of(self.iterations, self.timesteps, default=Budget(None, TIMESTEPS))


@dataclass(frozen=True)
class Arguments:
    """All flags of a sweep."""

    sweep: SweepFlags
    run: RunFlags


def main(learner: Learner, description: str) -> None:
    """Run a sweep from the command line, and end the program with its status."""
    arguments = parse(Arguments, description)
    run = arguments.run
    folder: Path | None
    try:
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
    except ConfigError as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)  # before anything ran


def _start(learner: Learner, arguments: Arguments) -> tuple[int, Path | None]:
    sweep, run = arguments.sweep, arguments.run
    room = start_ray(run.address, run.verbose) if run.address else ClusterResources.here()
    plan = _plan(learner, sweep, room)
    if sweep.confirm:
        require_free(run)
    record = _record(learner, arguments, plan.configs, plan.swept)
    _show(plan, sweep)
    print(f"Checkpoints take {require_disk(run.folder, learner, record) / 1e6:,.0f} MB at most.")
    if sweep.dry_run:
        return 0, None
    return lifecycle.start(learner, record, run)


def _fork(learner: Learner, arguments: Arguments) -> tuple[int, Path]:
    sweep, run = arguments.sweep, arguments.run
    origin, pasts = forked(learner, run)
    configs = [changed(past, _settings(learner, sweep), learner.config_class) for past in pasts]
    room = start_ray(run.address, run.verbose) if run.address else ClusterResources.here()
    for config in configs:
        require_room(config, room)
    return fork(learner, _record(learner, arguments, configs, origin.swept), pasts, run)


def _record(learner: Learner, arguments: Arguments, configs: Sequence[Config], swept: list[str]) -> ExperimentSpec:
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


def _settings(learner: Learner, sweep: SweepFlags) -> dict[str, Any]:
    """The settings that flags fix in all trials."""
    flags = {"num_workers": sweep.num_workers, learner.batch_field: sweep.batch_size}
    return {name: value for name, value in flags.items() if value is not None} | parse_settings(sweep.set)


def _plan(learner: Learner, sweep: SweepFlags, room: ClusterResources) -> Plan:
    preset = "smoke" if sweep.smoke_test else sweep.preset
    samples = 2 if sweep.smoke_test else sweep.num_samples
    configs, swept, notes = draw(learner, preset, _settings(learner, sweep), samples, sweep.seed, room)
    return Plan(learner, configs, swept, sweep.budget, room, sweep.max_concurrent, notes)


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
        f"{plan.concurrent()} at once on {plan.room}, which leaves {plan.idle():g} idle."
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
