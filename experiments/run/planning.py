"""What a sweep's flags leave open, and its plan in words."""

import dataclasses
import json

from experiments.ask.sweep_flags import SweepFlags
from experiments.ask.words import duration
from experiments.plan.capacity import Capacity, Round, choose
from experiments.plan.plan import Plan
from experiments.plan.rungs import trials_of_round
from experiments.record.spec import ExperimentSpec
from experiments.run.task import Task
from experiments.show.tables import plan_table, round_table
from experiments.show.text import print_table, say

SHOWN = 27
"""Trials that are listed."""

UNITS = {"timesteps": "agent steps", "iterations": "iterations"}
"""What a budget counts, in words."""


def filled(sweep: SweepFlags, capacity: Capacity) -> SweepFlags:
    """The flags with as many trials and steps as halving has time for, where they do not say.

    Raises ConfigError if there is no time for anything.
    """
    capacity = dataclasses.replace(capacity, seeds=sweep.seeds, max_concurrent=sweep.max_concurrent)
    asked = sweep.timesteps or (sweep.iterations and round(sweep.iterations * capacity.iteration_steps))
    num_samples, steps = choose(capacity, sweep.time_budget_s, sweep.num_samples, asked)
    return dataclasses.replace(sweep, num_samples=num_samples, timesteps=sweep.timesteps if sweep.iterations else steps)


def rounds(capacity: Capacity, spec: ExperimentSpec, start: int) -> list[Round]:
    """The rounds of halving, in the unit of the budget, of which trials have ``start`` behind them."""
    steps = capacity.iteration_steps if spec.budget.unit == "iterations" else 1
    most = max(map(len, spec.configurations))
    capacity = dataclasses.replace(capacity, seeds=most, max_concurrent=spec.max_concurrent)
    found = capacity.rounds(len(spec.configurations), [round(rung * steps) for rung in (start, *(spec.rungs or ()))])
    return [each._replace(begin=round(each.begin / steps), end=round(each.end / steps)) for each in found]


def show(plan: Plan, task: Task, sweep: SweepFlags) -> None:
    """Print the plan."""
    if plan.rounds:
        print(f"{_in_words(plan, task.spec)}: at most {plan.budget} a trial")
        print_table(round_table(plan.rounds, UNITS[plan.budget.unit]))
        print()
    else:
        print(f"{_counted(task.spec)} of {plan.budget}")
    rows = plan_table(plan)
    print_table(rows[:SHOWN])
    if (hidden := len(rows) - SHOWN) > 0:
        print(f"and {hidden} more")
    print()
    if plan.space:
        say("Space: " + " ".join(f"{name}={words or '(of Python)'}" for name, words in plan.space.items()))
    fixed = {name: value for name, value in plan.configs[0].to_dict().items() if name not in {*plan.swept, "seed"}}
    say("Same in all: " + ", ".join(f"{name}={json.dumps(value)}" for name, value in fixed.items()))
    for note in plan.notes:
        say(f"Note: {note}")
    say(_time_of(plan, sweep) if plan.rounds else _time_of_all(plan, sweep))
    if sweep.confirm:
        say(_confirmation(plan, sweep))
    where = f"{task.run.storage_path}/{task.run.name or f'{plan.learner.name}-DATE-TIME'}"
    say(
        f"Scheduler {task.spec.scheduler}; a checkpoint every {task.spec.checkpoint_frequency} iterations, at most"
        f" {task.checkpoint_bytes / 1e6:,.0f} MB of them in {where}."
    )


def _counted(spec: ExperimentSpec) -> str:
    """``9 trials``, or ``9 configurations of 3 seeds each (27 trials)``."""
    configs, configurations = len(spec.configs), spec.configurations
    if not spec.configuration_of:
        return "1 trial" if configs == 1 else f"{configs} trials"
    least, most = min(map(len, configurations)), max(map(len, configurations))
    of = f"{most} seeds each" if least == most else f"{least} to {most} seeds"
    noun = "configuration" if len(configurations) == 1 else "configurations"
    return f"{len(configurations)} {noun} of {of} ({configs} trials)"


def _in_words(plan: Plan, spec: ExperimentSpec) -> str:
    """``9 trials begin, 3 go on, 1 goes to the end``."""
    _, *others = [trials_of_round(len(spec.configurations), index) for index in range(len(plan.rounds))]
    if not others:
        return f"{_counted(spec)} to the end"
    *between, last = others
    words = [f"{_counted(spec)} begin", *(f"{count} go on" for count in between)]
    return ", ".join([*words, f"{last} {'goes' if last == 1 else 'go'} to the end"])


def _time_of(plan: Plan, sweep: SweepFlags) -> str:
    seconds = sum(each.seconds for each in plan.rounds)
    text = f"About {duration(seconds)} on {plan.resources}, by the speed of a game that was played now."
    if seconds > sweep.time_budget_s:
        return f"{text} That is more than the {duration(sweep.time_budget_s)} of --time-budget-s: --resume will go on."
    several = "configurations" if plan.configuration_of else "trials"
    return (
        f"{text} A round of several {several} that would not fit into what is left of {duration(sweep.time_budget_s)}"
        " (--time-budget-s) is not begun: the sweep then ends."
    )


def _time_of_all(plan: Plan, sweep: SweepFlags) -> str:
    return (
        f"{plan.concurrent()} at once on {plan.resources}, which leaves {plan.idle():g} idle."
        f" About {duration(plan.seconds())} at an untrained policy's pace if no trial is stopped early; games grow two-"
        f" to fivefold as play improves. Ends after {duration(sweep.time_budget_s)} in any case (--time-budget-s)."
    )


def _confirmation(plan: Plan, sweep: SweepFlags) -> str:
    best = min(sweep.confirm, len({*(plan.configuration_of or range(len(plan.configs)))}))
    runs = best * sweep.confirm_seeds
    seconds = plan.seconds() / len(plan.configs) * runs
    return (
        f"Then the best {best} again, {sweep.confirm_seeds} fresh seeds each: {runs} trials of {plan.budget},"
        f" about {duration(seconds)} more, beyond the time budget."
    )
