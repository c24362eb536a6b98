"""The plan of a new experiment in words: what will run, where, and for how long."""

import json
import math

from experiments.ask.budget import duration
from experiments.ask.schedulers import SCHEDULERS
from experiments.plan.capacity import FIRST_STEPS, trials_of_round
from experiments.plan.identity import is_baseline
from experiments.plan.trial_names import BASELINE, in_words, short
from experiments.run.draft import Draft
from experiments.show.text import Rows, print_table, say
from trainables.sampling.console import agent_step, is_pong
from trainables.texts import counted

MOST_ROWS = 27
"""Rows of the table of trials that are printed; of those that follow their number is said."""


def show(draft: Draft) -> None:
    """Print the plan of a sweep."""
    if draft.rounds:
        say(f"{_rounds_in_words(draft)}: at most {draft.budget} a trial")
        print_table(_round_table(draft))
        print()
    else:
        say(f"{_trials_in_words(draft)} of {draft.budget}")
    rows = _trial_table(draft)
    print_table(rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        say(f"and {len(rows) - MOST_ROWS} more")
    print()
    _say_settings(draft)
    for note in [*draft.notes, *_cores(draft), *_busy(draft), *_early(draft)]:
        say(f"Note: {note}")
    say(_time_of_rounds(draft) if draft.rounds else _time_of_all(draft))
    name = draft.run.name or f"{draft.learner.name}-DATE-TIME"
    often = counted(draft.run.checkpoint_frequency, "iteration")
    say(
        f"Scheduler {draft.scheduler}; a checkpoint every {often}, at most"
        f" {draft.checkpoint_bytes / 1e6:,.0f} MB of them in"
        f" {draft.run.storage_path}/{name}."
    )


def show_run(draft: Draft) -> None:
    """Print how long the trials of ``train.py``'s one configuration train, and about how long that takes."""
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
    """A note that other programs keep this machine's cores busy; none if they do not, or on a cluster."""
    capacity = draft.capacity
    if draft.run.address or capacity.times_longer == 1:
        return []
    return [
        f"Other programs keep cores busy: a game took {capacity.delay:.1f} times as long as a free core takes for it."
        f" If they go on, all takes about {capacity.times_longer:.1f} times as long as is said here."
    ]


def _say_settings(draft: Draft) -> None:
    """Print the space from which settings were drawn, those that all trials share, and what an agent step is."""
    if draft.space:
        say("Space: " + " ".join(f"{name}={words}" for name, words in draft.space.items()))
    say(f"Same in all: {', '.join(_same_in_all(draft))}")
    played = dict.fromkeys(config.env_id for config in draft.configs)
    say("An agent step is " + ", ".join(f"{agent_step(env_id)} in {env_id}" for env_id in played) + ".")


def _cores(draft: Draft) -> list[str]:
    """A note of why the plan has fewer cores than this machine; none on a cluster, which says itself what it has."""
    return [draft.resources.note] if draft.resources.note else []


def _same_in_all(draft: Draft) -> list[str]:
    """The settings that all trials share; a setting that follows from swept ones can differ, too."""
    configs = [config.to_dict() for config in draft.configs]
    found = []
    for name, value in configs[0].items():
        if name not in {*draft.swept, "seed"} and all(config[name] == value for config in configs):
            found.append(f"{name}={json.dumps(value)}")
    return found


def _early(draft: Draft) -> list[str]:
    """A note that trials are compared before their order says anything; none if they are not, or do not play Pong."""
    early = [at for at in (draft.rungs or [])[:-1] if at < FIRST_STEPS]
    if draft.budget.unit != "timesteps" or not early or not is_pong(draft.configs[0].env_id):
        return []
    at = " and ".join(f"{each:,}" for each in early)
    return [
        f"Trials are compared at {at} agent steps. In Pong their order before 200,000 is luck. At {FIRST_STEPS:,} its"
        " rank correlation is 0.64 with the order at a million, and 0.27 to 0.41 with that at the end"
        " (docs/schedulers.md). More --timesteps, or fewer trials, bring a later comparison."
    ]


def _trials_in_words(draft: Draft) -> str:
    """``9 trials``, or ``9 configurations of 3 seeds each (27 trials)``."""
    trials = counted(len(draft.configs), "trial")
    if not draft.configuration_of:
        return trials
    seeds = [len(members) for members in draft.configurations]
    least, most = min(seeds), max(seeds)
    of = f"{most} seeds each" if least == most else f"{least} to {most} seeds"
    return f"{counted(len(seeds), 'configuration')} of {of} ({trials})"


def _rounds_in_words(draft: Draft) -> str:
    """``9 trials begin, 3 go on, 1 goes to the end``."""
    last_round = len(draft.rounds) - 1
    if last_round == 0:
        return f"{_trials_in_words(draft)} to the end"
    parts = [f"{_trials_in_words(draft)} begin"]
    for index in range(1, last_round):
        parts.append(f"{trials_of_round(len(draft.configurations), index)} go on")
    last = trials_of_round(len(draft.configurations), last_round)
    parts.append(f"{last} {'goes' if last == 1 else 'go'} to the end")
    return ", ".join(parts)


def _round_table(draft: Draft) -> Rows:
    """How many trials play in each round, from where to where, and how long that takes."""
    return [
        {
            "round": str(index),
            "trials": str(each.trials),
            f"{draft.budget.noun}s of each": f"{each.begin:,} to {each.end:,}",
            "about": duration(each.seconds),
        }
        for index, each in enumerate(draft.rounds, 1)
    ]


def _trial_table(draft: Draft) -> Rows:
    """The configurations with what is swept, the CPUs that a trial of them reserves, and their trials' seeds."""
    trial_title, cpus_title, seed_title = "trial", "CPUs", "seed"
    swept = list(draft.swept)
    if draft.configuration_of:
        trial_title, cpus_title, seed_title = "trials", "CPUs of each", "seeds"
        swept = [name for name in swept if name != "seed"]
    rows = []
    for trials in draft.configurations:
        config = draft.configs[trials[0]]
        settings = config.to_dict()
        row = {trial_title: in_words(trials)}
        if is_baseline(settings, draft.baseline):
            row[trial_title] += f" {BASELINE}"
        for name in swept:
            row[name] = short(settings[name])
        row[cpus_title] = f"{config.cpus:g}"
        row[seed_title] = ", ".join(str(draft.configs[trial].seed) for trial in trials)
        rows.append(row)
    return rows


def _time_of_rounds(draft: Draft) -> str:
    """How long the rounds take, and what follows if that is more than the time budget."""
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
    """How many trials run at once without rounds, how many CPUs that leaves idle, and how long all trials take."""
    needs = sorted(config.cpus for config in draft.configs)  # small ones run first
    idle = draft.resources.cpus - sum(needs[: draft.concurrent])
    text = f"{draft.concurrent} at once, which leaves {idle:g} CPU{'s' * (idle != 1)} idle. {_about(draft)}"
    if SCHEDULERS[draft.scheduler].compares:
        text += ", if no trial is stopped early"
    text += "."
    if draft.time_budget_s:
        text += f" Ends after {duration(draft.time_budget_s)} (--time-budget-s)."
    return text
