"""The tables of reports and programs: trials, configurations, confirmations, speed, experiments, a plan."""

import contextlib
import datetime
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from rich import filesize

from experiments.ask.words import duration, short
from experiments.plan.capacity import Round
from experiments.plan.plan import Plan
from experiments.plan.seeds import in_words
from experiments.read.configurations import Configuration, varied
from experiments.read.experiments import Experiment
from experiments.read.luck import Confirmation, state_with_confirmation
from experiments.read.statistics import mean_interval
from experiments.read.trial import ENDED, Trial, mean_last, together
from experiments.read.windows import Arrivals
from experiments.record import folders
from experiments.record.spec import members
from experiments.show.speed import Speed
from experiments.show.table import Rows
from experiments.show.text import number


def trial_table(trials: Sequence[Trial]) -> Rows:
    """Every trial, the best latest return first; seeds of one configuration stand together, in order of their mean."""
    return [
        {
            "trial": trial.name,
            "experiment": trial.folder.parent.name,
            "state": trial.state,
            "iterations": str(trial.iterations),
            "steps": number(trial.rows[-1].get("timesteps_total", 0) if trial.rows else 0, 0),
            "time": duration(trial.rows[-1].get("time_total_s", 0) if trial.rows else 0),
            "steps/s": number(trial.speed, 0),
            "best": number(trial.best),
            "last": number(trial.last),
            "area": number(trial.area),
        }
        for each in sorted(together(trials), key=mean_last, reverse=True)
        for trial in each
    ]


def configuration_table(configurations: Sequence[Configuration], labels: Sequence[str]) -> Rows:
    """Configurations by their seeds: the mean of the latest returns, with Student's interval where two have results."""
    return [
        {
            "configuration": label,
            "learner": configuration.learner,
            "seeds": _seeds(configuration),
            "steps": _range([trial.rows[-1].get("timesteps_total", 0) for trial in configuration.arrived]),
            "mean of last": number(configuration.score),
            "95% interval": _interval(configuration.scores),
        }
        for configuration, label in zip(configurations, labels, strict=True)
    ]


def _interval(scores: np.ndarray) -> str:
    return " to ".join(number(float(end)) for end in mean_interval(scores)) if len(scores) > 1 else ""


def _seeds(configuration: Configuration) -> str:
    """The seeds that have results, and how many have none."""
    seeds = sorted(trial.config.get("seed", 0) for trial in configuration.arrived)
    missing = len(configuration.trials) - len(seeds)
    return ", ".join(map(str, seeds)) + (f" ({missing} without)" if missing else "")


def _range(values: Sequence[int]) -> str:
    least, most = min(values, default=0), max(values, default=0)
    return number(least, 0) if least == most else f"{number(least, 0)} to {number(most, 0)}"


def arrival_table(labels: Sequence[str], found: Sequence[Sequence[Arrivals]]) -> Rows:
    """When half of each configuration's seeds had come to each score, and how many came; ``found`` score by score."""
    return [
        {"configuration": label}
        | {f"{sides[index].score:g}".replace("-", "\N{MINUS SIGN}"): str(sides[index]) for sides in found}
        for index, label in enumerate(labels)
    ]


def confirmation_table(found: Sequence[Confirmation]) -> Rows:
    """Scores in the sweep beside those of fresh seeds: there, with their interval, and at their end."""
    names = varied(c.chosen for c in found)
    return [
        {
            "configuration": c.chosen.label(names),
            "after": c.where,
            "sweep": number(c.sweep),
            "fresh seeds": number(float(c.fresh.mean())),
            "95% interval": _interval(c.fresh),
            "drop": f"{c.drop:+.1f}",
            "at the end": number(float(c.final.mean())),
        }
        for c in found
    ]


def speed_table(found: Sequence[Speed]) -> Rows:
    """Throughput by number of workers."""
    return [
        {
            "workers": str(speed.workers),
            "trials": str(speed.trials),
            "steps/s": number(speed.steps_per_s, 0),
            "speed-up": number(speed.speedup, 2),
            "efficiency": f"{speed.efficiency:.0%}",
        }
        for speed in found
    ]


def experiment_table(experiments: Sequence[Experiment], damaged: Iterable[str]) -> Rows:
    """State, trials that came to their end, best latest return (a mean over seeds), size and age of every experiment.

    Those that are ``damaged`` come last, by name alone.
    """
    rows = []
    for experiment in experiments:
        failed = sum(trial.state == "failed" for trial in experiment.trials)
        done = sum(trial.state in ENDED for trial in experiment.trials) - failed
        planned = len(experiment.spec.configs)
        row = {
            "experiment": experiment.name,
            "state": state_with_confirmation(experiment),
            "learner": experiment.learner,
            "done": f"{done}/{planned}" + (f", {failed} failed" if failed else ""),
            "return": number(mean_last(experiment.best_seeds)),
            "size": filesize.decimal(_size(experiment.folder)),
            "age": duration(age(experiment)),
        }
        rows.append(row)
    empty = dict.fromkeys(("learner", "done", "return", "size", "age"), "")
    return rows + [{"experiment": name, "state": "damaged"} | empty for name in damaged]


def age(experiment: Experiment) -> float:
    """Seconds since the experiment was started."""
    try:
        started = datetime.datetime.fromisoformat(experiment.spec.origin.started).timestamp()
    except (ValueError, OverflowError):
        started = (experiment.folder / folders.RECORD).stat().st_mtime
    return time.time() - started


def _size(folder: Path) -> int:
    """Bytes of all files in a folder, as far as it can be read; links are not followed."""
    total = 0
    for parent, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):  # it is gone meanwhile
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def round_table(rounds: Sequence[Round], unit: str) -> Rows:
    """The rounds of halving: how many trials play, from where to where, and how long that takes."""
    return [
        {
            "round": str(index),
            "trials": str(each.trials),
            f"{unit} of each": f"{each.begin:,} to {each.end:,}",
            "about": duration(each.seconds),
        }
        for index, each in enumerate(rounds, 1)
    ]


def plan_table(plan: Plan) -> Rows:
    """A plan's configurations with what is swept, the CPUs that a trial of them reserves, and their trials' seeds."""
    rows, several = [], bool(plan.configuration_of)
    for trials in members(plan.configuration_of, len(plan.configs)):
        config, seeds = plan.configs[trials[0]], [plan.configs[trial].seed for trial in trials]
        swept = {name: short(config.to_dict()[name]) for name in plan.swept if name != "seed" or not several}
        cpus = f"{config.num_workers * config.cpus_per_worker:g}"
        row = {"trials" if several else "trial": in_words(trials), **swept, "CPUs of each" if several else "CPUs": cpus}
        rows.append(row | {"seeds" if several else "seed": ", ".join(map(str, seeds))})
    return rows
