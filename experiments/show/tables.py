"""The tables of reports and programs: trials, configurations, confirmations, speed, experiments, a plan."""

import datetime
import math
import time
from collections.abc import Sequence

from rich import filesize

from experiments.plan.plan import Plan, duration
from experiments.plan.trial_names import short
from experiments.read.bootstrap import mean_interval
from experiments.read.configurations import Configuration, varied
from experiments.read.confirmations import Confirmation, state_with_confirmation
from experiments.read.trials import ENDED, Experiment
from experiments.record import folders
from experiments.show.speed import Speed
from experiments.show.table import Column, Table
from experiments.show.text import number


def numbers(*titles: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(title) for title in titles]


def trial_table(experiments: Sequence[Experiment]) -> Table:
    """Every trial, the best latest return first."""
    trials = [(experiment, trial) for experiment in experiments for trial in experiment.trials]
    trials.sort(key=lambda pair: pair[1].last if pair[1].rows else -math.inf, reverse=True)
    rows = []
    for experiment, trial in trials:
        latest = trial.rows[-1] if trial.rows else {}
        steps, seconds = (latest.get(key, 0) for key in ("timesteps_total", "time_total_s"))
        progress = [str(trial.iterations), number(steps, 0), duration(seconds), number(trial.speed, 0)]
        scores = map(number, (trial.best, trial.last, trial.area))
        rows.append([trial.name, experiment.name, trial.state, *progress, *scores])
    texts = [Column("trial", "name"), Column("experiment", "name"), Column("state", "text")]
    figures = ["iterations", "steps", "time", "steps/s", "best", "last", "area"]
    table = Table([*texts, *numbers(*figures)], rows)
    return table if len(experiments) > 1 else table.only("trial", "state", *figures)


def configuration_table(configurations: Sequence[Configuration], labels: Sequence[str]) -> Table:
    """Configurations of several seeds: the mean of their latest returns, with its interval."""
    rows = []
    for configuration, label in zip(configurations, labels, strict=True):
        low, high = map(float, mean_interval(configuration.scores))
        seeds = ", ".join(map(str, sorted(configuration.seeds)))
        figures = [seeds, number(configuration.score), f"{number(low)} to {number(high)}"]
        rows.append([label, configuration.learner, *figures])
    columns = [Column("configuration", "name"), Column("learner", "text")]
    return Table([*columns, *numbers("seeds", "mean of last", "95% interval")], rows)


def confirmation_table(found: Sequence[Confirmation]) -> Table:
    """Scores in the sweep beside those of fresh seeds: there, with their interval, and at their end."""
    names = varied(c.chosen for c in found)
    rows = []
    for c in found:
        interval = " to ".join(number(float(end)) for end in mean_interval(c.fresh)) if len(c.fresh) > 1 else ""
        figures = [number(c.sweep), number(float(c.fresh.mean())), interval, f"{c.drop:+.1f}"]
        rows.append([c.chosen.label(names), c.where, *figures, number(float(c.final.mean()))])
    figures = ["after", "sweep", "fresh seeds", "95% interval", "drop", "at the end"]
    return Table([Column("configuration", "name"), *numbers(*figures)], rows)


def speed_table(found: Sequence[Speed]) -> Table:
    """Throughput by number of workers."""
    rows = [
        [str(s.workers), str(s.trials), number(s.steps_per_s, 0), number(s.speedup, 2), f"{s.efficiency:.0%}"]
        for s in found
    ]
    return Table(numbers("workers", "trials", "steps/s", "speed-up", "efficiency"), rows)


def experiment_table(experiments: Sequence[Experiment]) -> Table:
    """State, trials that came to their end, best latest return, size on disk and age of every experiment."""
    rows = []
    for experiment in experiments:
        failed = sum(trial.state == "failed" for trial in experiment.trials)
        done = sum(trial.state in ENDED for trial in experiment.trials) - failed
        planned = len(experiment.record.get("configs", experiment.trials))
        size = sum(path.stat().st_size for path in experiment.folder.rglob("*") if path.is_file())
        count = f"{done}/{planned}" + (f", {failed} failed" if failed else "")
        best = number(experiment.best.last) if experiment.best else ""
        texts = [experiment.name, state_with_confirmation(experiment), experiment.learner]
        rows.append([*texts, count, best, filesize.decimal(size), duration(age(experiment))])
    columns = [Column("experiment", "name"), Column("state", "text"), Column("learner", "text")]
    return Table([*columns, *numbers("done", "return", "size", "age")], rows)


def age(experiment: Experiment) -> float:
    """Seconds since the experiment was started."""
    if started := experiment.record.get("started"):
        return time.time() - datetime.datetime.fromisoformat(started).timestamp()
    return time.time() - (experiment.folder / folders.RECORD).stat().st_mtime


def plan_table(plan: Plan) -> Table:
    """A plan's trials with what is swept, the CPUs they reserve, and their seeds."""
    rows = []
    for index, config in enumerate(plan.configs):
        swept = [short(config.to_dict()[name]) for name in plan.swept]
        rows.append([f"{index:05d}", *swept, f"{config.num_workers * config.cpus_per_worker:g}", str(config.seed)])
    return Table(numbers("trial", *plan.swept, "CPUs", "seed"), rows)
