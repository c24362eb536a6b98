"""The plan of a new experiment in words: what will run, where, and for how long."""

import json
import math

from experiments.ask.budget import duration
from experiments.ask.schedulers import SCHEDULERS
from experiments.plan.capacity import FIRST_STEPS, trials_of_round
from experiments.plan.identity import is_baseline
from experiments.plan.resources import fewer_cores
from experiments.plan.trial_names import BASELINE, in_words, short
from experiments.run.draft import Draft
from experiments.show.text import Rows, print_table, say
from trainables.sampling.console import agent_step
from trainables.texts import counted

SHOWN = 27
"""Trials that are listed."""

UNITS = {"timesteps": "agent steps", "iterations": "iterations"}
"""What a budget counts, in words."""


def show(draft: Draft) -> None:
    """Print the plan of a sweep."""
    if draft.rounds:
        say(f"{_in_words(draft)}: at most {draft.budget} a trial")
        print_table(_round_table(draft))
        print()
    else:
        say(f"{_counted(draft)} of {draft.budget}")
    rows = _trial_table(draft)
    print_table(rows[:SHOWN])
    if len(rows) > SHOWN:
        say(f"and {len(rows) - SHOWN} more")
    print()
    _say_settings(draft)
    for note in [*draft.notes, *_cores(draft), *_busy(draft), *_early(draft)]:
        say(f"Note: {note}")
    say(_time_of_rounds(draft) if draft.rounds else _time_of_all(draft))
    where = f"{draft.run.storage_path}/{draft.run.name or f'{draft.learner.name}-DATE-TIME'}"
    often = counted(draft.run.checkpoint_frequency, "iteration")
    say(
        f"Scheduler {draft.scheduler}; a checkpoint every {often}, at most"
        f" {draft.checkpoint_bytes / 1e6:,.0f} MB of them in {where}."
    )


def show_run(draft: Draft) -> None:
    """Print how long the trials of one configuration train, and about how long that takes."""
    trials = len(draft.configs)
    each, at_once = "", ""
    if trials > 1:
        each, at_once = f"{trials} seeds, each ", f", {min(draft.concurrent, trials)} at once"
    say(f"{each}{draft.budget}{at_once}. {_about(draft)}.")
    for note in [*_cores(draft), *_busy(draft)]:
        say(f"Note: {note}")


def _about(draft: Draft) -> str:
    """How long all trials take, and from what that is known."""
    seconds = duration(draft.seconds or 0)
    longer = "" if draft.configs[0].slots else "; games grow two- to fivefold as play improves"
    return f"About {seconds} on {draft.resources}, by the speed of a game that was played now{longer}"


def _busy(draft: Draft) -> list[str]:
    """That other programs keep this machine's cores busy, and what it means; empty if they do not, or on a cluster."""
    capacity = draft.capacity
    if draft.run.address or capacity.times_longer == 1:
        return []
    return [
        f"Other programs keep cores busy: a game took {capacity.delay:.1f} times as long as a free core takes for it."
        f" If they go on, all takes about {capacity.times_longer:.1f} times as long as is said here."
    ]


def _say_settings(draft: Draft) -> None:
    """Print from what settings were drawn, which are the same in all trials, and what an agent step is."""
    if draft.space:
        say("Space: " + " ".join(f"{name}={words}" for name, words in draft.space.items()))
    say(f"Same in all: {', '.join(_same_in_all(draft))}")
    played = dict.fromkeys(config.env_id for config in draft.configs)
    say("An agent step is " + ", ".join(f"{agent_step(env_id)} in {env_id}" for env_id in played) + ".")


def _cores(draft: Draft) -> list[str]:
    """Why the plan has fewer cores than this machine; empty on a cluster, which says itself what it has."""
    return [] if draft.run.address else fewer_cores()


def _same_in_all(draft: Draft) -> list[str]:
    """The settings that all trials share; a setting that follows from swept ones can differ, too."""
    configs = [config.to_dict() for config in draft.configs]
    found = []
    for name, value in configs[0].items():
        if name not in {*draft.swept, "seed"} and all(config[name] == value for config in configs):
            found.append(f"{name}={json.dumps(value)}")
    return found


def _early(draft: Draft) -> list[str]:
    """Whether trials are compared before their order says anything."""
    early = [at for at in (draft.rungs or [])[:-1] if at < FIRST_STEPS]
    if draft.budget.unit != "timesteps" or not early:
        return []
    at = " and ".join(f"{each:,}" for each in early)
    return [
        f"Trials are compared at {at} agent steps. In Pong their order before 200,000 is luck. At {FIRST_STEPS:,} its"
        " rank correlation is 0.64 with the order at a million, and 0.27 to 0.41 with that at the end"
        " (docs/schedulers.md). More --timesteps, or fewer trials, bring a later comparison."
    ]


def _counted(draft: Draft) -> str:
    """``9 trials``, or ``9 configurations of 3 seeds each (27 trials)``."""
    configs, configurations = len(draft.configs), draft.configurations
    if not draft.configuration_of:
        return counted(configs, "trial")
    least, most = min(map(len, configurations)), max(map(len, configurations))
    of = f"{most} seeds each" if least == most else f"{least} to {most} seeds"
    return f"{counted(len(configurations), 'configuration')} of {of} ({counted(configs, 'trial')})"


def _in_words(draft: Draft) -> str:
    """``9 trials begin, 3 go on, 1 goes to the end``."""
    _, *others = [trials_of_round(len(draft.configurations), index) for index in range(len(draft.rounds))]
    if not others:
        return f"{_counted(draft)} to the end"
    *between, last = others
    words = [f"{_counted(draft)} begin", *(f"{count} go on" for count in between)]
    return ", ".join([*words, f"{last} {'goes' if last == 1 else 'go'} to the end"])


def _round_table(draft: Draft) -> Rows:
    """How many trials play in each round, from where to where, and how long that takes."""
    return [
        {
            "round": str(index),
            "trials": str(each.trials),
            f"{UNITS[draft.budget.unit]} of each": f"{each.begin:,} to {each.end:,}",
            "about": duration(each.seconds),
        }
        for index, each in enumerate(draft.rounds, 1)
    ]


def _trial_table(draft: Draft) -> Rows:
    """The configurations with what is swept, the CPUs that a trial of them reserves, and their trials' seeds."""
    rows, several = [], bool(draft.configuration_of)
    for trials in draft.configurations:
        config, seeds = draft.configs[trials[0]], [draft.configs[trial].seed for trial in trials]
        settings = config.to_dict()
        swept = {name: short(settings[name]) for name in draft.swept if name != "seed" or not several}
        cpus = f"{config.num_workers * config.cpus_per_worker:g}"
        which = f"{in_words(trials)} {BASELINE}" if is_baseline(settings, draft.baseline) else in_words(trials)
        row = {"trials" if several else "trial": which, **swept, "CPUs of each" if several else "CPUs": cpus}
        rows.append(row | {"seeds" if several else "seed": ", ".join(map(str, seeds))})
    return rows


def _time_of_rounds(draft: Draft) -> str:
    given, seconds = draft.time_budget_s or math.inf, draft.seconds or 0
    text = f"{_about(draft)}."
    if seconds > given:
        return (
            f"{text} That is more than the {duration(given)} of --time-budget-s: fewer will go on at a rung, and"
            " --resume will go on with them."
        )
    return (
        f"{text} Should it turn out to be more than the {duration(given)} of --time-budget-s, fewer go on at a rung, so"
        " that one has time for three quarters of its steps."
    )


def _time_of_all(draft: Draft) -> str:
    needs = sorted(config.num_workers * config.cpus_per_worker for config in draft.configs)  # small ones run first
    idle = draft.resources.cpus - sum(needs[: draft.concurrent])
    text = f"{draft.concurrent} at once, which leaves {idle:g} CPU{'s' * (idle != 1)} idle. {_about(draft)}"
    if SCHEDULERS[draft.scheduler].compares:
        text += ", if no trial is stopped early"
    text += "."
    if draft.time_budget_s:
        text += f" Ends after {duration(draft.time_budget_s)} in any case (--time-budget-s)."
    return text
