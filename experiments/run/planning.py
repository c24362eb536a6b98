"""The plan of a new sweep, and its words: what will run, where, and for how long."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from experiments.ask.budget import duration
from experiments.ask.sweep_flags import SweepFlags
from experiments.plan.capacity import FIRST_STEPS, Capacity, Round, Way, trials_of_round
from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources
from experiments.plan.trial_names import in_words, short
from experiments.read.restored import RestoredTrial
from experiments.record.spec import ExperimentSpec
from experiments.run.task import Task, best_of_each
from experiments.show.text import Rows, print_table, say
from trainables.config import Config
from trainables.sampling.console import agent_step
from trainables.texts import counted

SHOWN = 27
"""Trials that are listed."""

START_AND_END_S = 12.0
"""Seconds before the first game, of which Ray and the compiled loops take most, and after the last one."""

UNITS = {"timesteps": "agent steps", "iterations": "iterations"}
"""What a budget counts, in words."""


@dataclass(frozen=True)
class Plan:
    """What a new sweep runs, and where."""

    sweep: SweepFlags  # with what they left open
    resources: ClusterResources  # of the machine or cluster
    configs: list[Config]
    swept: list[str]
    space: dict[str, str]  # from which they were drawn, in words
    preset: dict[str, Any] | None  # settings of a preset in the space's file
    notes: list[str]
    configuration_of: list[int] | None = None  # each trial's configuration, where these have several seeds
    origin: Sequence[RestoredTrial] = ()  # of a fork
    capacity: Capacity | None = None  # by which halving was planned
    rounds: Sequence[Round] = ()  # of halving, in the budget's unit

    @property
    def concurrent(self) -> int:
        """How many trials run at once."""
        count = self.resources.trials(self.configs)
        return min(count, self.sweep.max_concurrent or count)

    def seconds(self, learner: Learner) -> float:
        """Time of all trials at the pace of an untrained policy's game, measured now on this machine."""
        each = learner.seconds(self.configs[0], self.sweep.budget)
        each_busy = max(config.num_workers * min(1, config.cpus_per_worker) for config in self.configs)
        return len(self.configs) * each / min(self.resources.cpus, self.concurrent * each_busy)

    def ways(self, learner: Learner) -> list[Way]:
        """Each trial's way, in the unit of the budget."""
        budget = self.sweep.budget
        rows = [start.counters for start in best_of_each(self.origin)] or [{}] * len(self.configs)
        found = []
        for config, row in zip(self.configs, rows, strict=True):
            length = learner.iteration_steps(config) if budget.unit == "timesteps" else 1
            start, limit = row.get(budget.time_attr, 0), budget.limits[budget.time_attr]
            iterations = (budget.iterations or math.inf) - row.get("training_iteration", 0)
            to_limit = math.ceil(max(0, limit - start) / length - 1e-9)
            found.append(Way(start, length, start + length * min(iterations, to_limit)))
        return found


def rounds(capacity: Capacity, spec: ExperimentSpec, ways: Sequence[Way]) -> list[Round]:
    """The rounds of halving, in the unit of the budget; their seconds are of whole iterations."""
    steps = capacity.iteration_steps if spec.budget.unit == "iterations" else 1
    start, rungs = fmean(way.start for way in ways), spec.rungs or []
    at = [start, *(fmean(way.reached(rung) for way in ways) for rung in rungs)]
    found = capacity.rounds(len(spec.configurations), [each * steps for each in at])
    begins = zip(found, [round(start), *rungs], rungs, strict=False)
    last = round(max(way.end for way in ways))  # before the last rung if their other limit ends them
    return [each._replace(begin=begin, end=min(end, last)) for each, begin, end in begins]


def show(task: Task, plan: Plan) -> None:
    """Print the plan."""
    spec, sweep = task.spec, plan.sweep
    if plan.rounds:
        print(f"{_in_words(plan, spec)}: at most {spec.budget} a trial")
        print_table(_round_table(plan.rounds, UNITS[spec.budget.unit]))
        print()
    else:
        print(f"{_counted(spec)} of {spec.budget}")
    rows = _trial_table(plan, spec)
    print_table(rows[:SHOWN])
    if len(rows) > SHOWN:
        print(f"and {len(rows) - SHOWN} more")
    print()
    if spec.space:
        say("Space: " + " ".join(f"{name}={words or '(of Python)'}" for name, words in spec.space.items()))
    fixed = {name: value for name, value in spec.configs[0].items() if name not in {*spec.swept, "seed"}}
    say("Same in all: " + ", ".join(f"{name}={json.dumps(value)}" for name, value in fixed.items()))
    played = dict.fromkeys(config.env_id for config in plan.configs)
    say("An agent step is " + ", ".join(f"{agent_step(env_id)} in {env_id}" for env_id in played) + ".")
    for note in [*plan.notes, *_early(spec)]:
        say(f"Note: {note}")
    say((_time_of_rounds if plan.rounds else _time_of_all)(plan, task.seconds or 0))
    if sweep.confirm:
        say(_confirmation(plan, task.learner, min(sweep.confirm, len(spec.configurations))))
    where = f"{task.run.storage_path}/{task.run.name or f'{task.learner.name}-DATE-TIME'}"
    say(
        f"Scheduler {spec.scheduler}; a checkpoint every {counted(spec.checkpoint_frequency, 'iteration')}, at most"
        f" {task.checkpoint_bytes / 1e6:,.0f} MB of them in {where}."
    )


def _early(spec: ExperimentSpec) -> list[str]:
    """Whether trials are compared before their order says anything."""
    if spec.budget.unit != "timesteps" or not (early := [at for at in (spec.rungs or [])[:-1] if at < FIRST_STEPS]):
        return []
    at = " and ".join(f"{each:,}" for each in early)
    return [
        f"Trials are compared at {at} agent steps. In Pong their order before 200,000 is luck, and says much of the end"
        f" from {FIRST_STEPS:,} on (docs/sweeps.md): more --timesteps, or fewer trials, bring a later comparison."
    ]


def _counted(spec: ExperimentSpec) -> str:
    """``9 trials``, or ``9 configurations of 3 seeds each (27 trials)``."""
    configs, configurations = len(spec.configs), spec.configurations
    if not spec.configuration_of:
        return counted(configs, "trial")
    least, most = min(map(len, configurations)), max(map(len, configurations))
    of = f"{most} seeds each" if least == most else f"{least} to {most} seeds"
    return f"{counted(len(configurations), 'configuration')} of {of} ({counted(configs, 'trial')})"


def _in_words(plan: Plan, spec: ExperimentSpec) -> str:
    """``9 trials begin, 3 go on, 1 goes to the end``."""
    _, *others = [trials_of_round(len(spec.configurations), index) for index in range(len(plan.rounds))]
    if not others:
        return f"{_counted(spec)} to the end"
    *between, last = others
    words = [f"{_counted(spec)} begin", *(f"{count} go on" for count in between)]
    return ", ".join([*words, f"{last} {'goes' if last == 1 else 'go'} to the end"])


def _round_table(rounds: Sequence[Round], unit: str) -> Rows:
    """How many trials play in each round, from where to where, and how long that takes."""
    return [
        {
            "round": str(index),
            "trials": str(each.trials),
            f"{unit} of each": f"{each.begin:,} to {each.end:,}",
            "about": duration(each.seconds),
        }
        for index, each in enumerate(rounds, 1)
    ]


def _trial_table(plan: Plan, spec: ExperimentSpec) -> Rows:
    """The configurations with what is swept, the CPUs that a trial of them reserves, and their trials' seeds."""
    rows, several = [], bool(spec.configuration_of)
    for trials in spec.configurations:
        config, seeds = plan.configs[trials[0]], [plan.configs[trial].seed for trial in trials]
        settings = config.to_dict()
        swept = {name: short(settings[name]) for name in spec.swept if name != "seed" or not several}
        cpus = f"{config.num_workers * config.cpus_per_worker:g}"
        row = {"trials" if several else "trial": in_words(trials), **swept, "CPUs of each" if several else "CPUs": cpus}
        rows.append(row | {"seeds" if several else "seed": ", ".join(map(str, seeds))})
    return rows


def _time_of_rounds(plan: Plan, seconds: float) -> str:
    given = plan.sweep.time_budget_s
    text = f"About {duration(seconds)} on {plan.resources}, by the speed of a game that was played now."
    if seconds > given:
        return f"{text} That is more than the {duration(given)} of --time-budget-s: --resume will go on."
    several = "configurations" if plan.configuration_of else "trials"
    return (
        f"{text} A round of several {several} that would not fit into what is left of {duration(given)}"
        " (--time-budget-s) is not begun: the sweep then ends."
    )


def _time_of_all(plan: Plan, seconds: float) -> str:
    needs = sorted(config.num_workers * config.cpus_per_worker for config in plan.configs)  # small ones run first
    idle = plan.resources.cpus - sum(needs[: plan.concurrent])
    longer = "" if plan.configs[0].slots else "; games grow two- to fivefold as play improves"
    return (
        f"{plan.concurrent} at once on {plan.resources}, which leaves {idle:g} idle."
        f" About {duration(seconds)} at an untrained policy's pace if no trial is stopped"
        f" early{longer}."
        f" Ends after {duration(plan.sweep.time_budget_s)} in any case (--time-budget-s)."
    )


def _confirmation(plan: Plan, learner: Learner, best: int) -> str:
    seeds = plan.sweep.confirm_seeds
    seconds = plan.seconds(learner) / len(plan.configs) * best * seeds
    return (
        f"Then the best {best} again, {counted(seeds, 'fresh seed')} each: {counted(best * seeds, 'trial')} of"
        f" {plan.sweep.budget}, about {duration(seconds)} more, beyond the time budget."
    )
