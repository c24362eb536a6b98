"""The tables of reports and programs: trials, configurations, decisions, speed, experiments."""

import contextlib
import math
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich import filesize

from experiments.analysis.configurations import Configuration, varied
from experiments.analysis.luck import Confirmation
from experiments.analysis.statistics import mean_interval, next_interval
from experiments.analysis.windows import Arrivals
from experiments.ask.budget import duration
from experiments.disk.decisions import RULE, Decision, Ranked, ranking, went_on
from experiments.disk.experiments import Experiment
from experiments.disk.standings import by_latest, together
from experiments.disk.trial import Trial
from experiments.plan.trial_names import BASELINE, in_words
from experiments.show.durations import started
from experiments.show.text import Rows, number, without
from trainables.metrics import WORST_RETURN
from trainables.sampling.console import is_pong
from trainables.texts import counted

MAX_NAMED = 6
"""How many are named at most: configurations that went on at a rung, and trials that time was too short for."""

NO_TIME_FOR = "no time for"
"""Title of the column of trials that did not go on at a rung for lack of time."""


def trial_table(trials: Sequence[Trial]) -> Rows:
    """Every trial, the best latest score first; seeds of one configuration stand together, by its score."""
    rows: list[dict[str, str]] = []
    for seeds in sorted(together(trials), key=_latest_order, reverse=True):
        rows += map(_trial_row, seeds)
    return rows


def _latest_order(seeds: Sequence[Trial]) -> tuple[int, bool, float]:
    """What the seeds of a configuration are compared by with those of others."""
    return by_latest(seeds).order


def _trial_row(trial: Trial) -> dict[str, str]:
    """A trial's row. Until a game has ended no score is shown: the trial's results have the lowest one until then."""
    best, last = trial.best, trial.last
    if not has_score([trial]):
        best = last = math.nan
    seconds = trial.rows[-1].get("time_total_s", 0) if trial.rows else 0
    return {
        "trial": trial.name,
        "experiment": trial.folder.parent.name,
        "state": trial.state,
        "iterations": str(trial.iterations),
        "steps": number(trial.steps, 0),
        "time": duration(seconds),
        "workers": _workers(trial),
        "steps/s": number(trial.speed, 0),
        "best": number(best),
        "last": number(last),
    }


def has_score(trials: Iterable[Trial]) -> bool:
    """Whether one of these trials has a score of its own: a game had ended, or it diverged, which counts as one."""
    return any(trial.scored or trial.diverged for trial in trials)


def _workers(trial: Trial) -> str:
    """How many workers the trial had, the fewest and the most: not always those in its name, which it asked for."""
    had = trial.curve("perf/workers")
    known = had[np.isfinite(had)]
    if not len(known):
        return ""
    return span([int(known.min()), int(known.max())])


def configuration_table(configurations: Sequence[Configuration], labels: Sequence[str]) -> Rows:
    """Configurations with their scores over the latest ones of their seeds, with Student's interval of several."""
    rows = []
    for configuration, label in zip(configurations, labels, strict=True):
        judged_by = configuration.judged_by
        score, interval = "", ""
        if has_score(judged_by):
            score = number(configuration.score)
            interval = interval_of_mean(configuration.scores, configuration.env_id)
        rows.append(
            {
                "configuration": label,
                "learner": configuration.learner,
                "random seeds": with_remarks(sorted(trial.seed for trial in judged_by), configuration),
                "steps": span([trial.steps for trial in judged_by]),
                f"{RULE} of last": score,
                "95% interval of mean": interval,
            }
        )
    return rows


def interval_of_mean(scores: np.ndarray, env_id: str) -> str:
    """The 95% interval of the scores' mean, without brackets; empty with fewer than two."""
    if len(scores) < 2:
        return ""
    low, high = mean_interval(scores)
    return _of_returns(float(low), float(high), env_id)


def interval_of_next_seed(scores: np.ndarray, env_id: str) -> str:
    """The 95% interval in which the next seed's score lies, without brackets; empty with fewer than three scores.

    That of two would be wider than the scores that there can be.
    """
    if len(scores) < 3:
        return ""
    return _of_returns(*next_interval(scores), env_id)


def _of_returns(low: float, high: float, env_id: str) -> str:
    """An interval of returns in words. In Pong it ends where they do, at -21 and 21, as that of an evaluation does."""
    if is_pong(env_id):
        low, high = max(low, WORST_RETURN), min(high, -WORST_RETURN)
    return f"{number(low)} to {number(high)}"


def with_remarks(seeds: Iterable[int], configuration: Configuration) -> str:
    """The seeds that have results, and what the score over them does not say."""
    text = ", ".join(map(str, seeds))
    if configuration.remarks:
        text += f" ({configuration.remarks})"
    return text


def span(values: Sequence[int]) -> str:
    """The least and the greatest: ``8,000 to 36,000``, or one number if they are the same; 0 without values."""
    low, high = min(values, default=0), max(values, default=0)
    if low == high:
        return number(low, 0)
    return f"{number(low, 0)} to {number(high, 0)}"


def arrival_table(labels: Sequence[str], found: Sequence[Sequence[Arrivals]]) -> Rows:
    """When half of each configuration's seeds had come to each score, and how many came; ``found`` score by score."""
    rows = []
    for index, label in enumerate(labels):
        row = {"configuration": label}
        for sides in found:
            score = f"{sides[index].score:g}".replace("-", "\N{MINUS SIGN}")
            row[score] = str(sides[index])
        rows.append(row)
    return rows


def confirmation_table(found: Sequence[Confirmation]) -> Rows:
    """Scores in the sweep beside those of fresh seeds: there, with their interval, and at their end."""
    names = varied(c.chosen for c in found)
    return [
        {
            "configuration": c.chosen.label(names),
            "after": c.where,
            "sweep": number(c.sweep),
            "fresh seeds": number(c.fresh_score),
            "95% interval of mean": interval_of_mean(c.fresh, c.chosen.env_id),
            "drop": f"{c.drop:+.1f}",
            "at the end": number(c.final_score),
        }
        for c in found
    ]


def rung_table(experiment: Experiment) -> Rows:
    """Each decision: how many were compared, how many went on, and the returns on both sides of the cut.

    Of configurations with several seeds these are the scores over them, and counts are of configurations. Where time
    was too short for some trials, a column names them.
    """
    rows, time_was_short = [], False
    for decision in experiment.decisions:
        rows.append(_rung_row(decision, experiment))
        time_was_short |= bool(decision.left_out)
    if time_was_short:
        return rows
    return without(rows, NO_TIME_FOR)


def _rung_row(decision: Decision, experiment: Experiment) -> dict[str, str]:
    """A decision's row."""
    spec = experiment.spec
    ranked = ranking(decision.scored, spec.configurations)
    kept = went_on(decision, spec.configurations)
    stopped = [each for each in ranked if each not in kept]
    best_stopped = ""
    if stopped:
        best_stopped = _score_at(decision, stopped[0])
    which = []
    for each in kept[:MAX_NAMED]:
        if {*each.all_trials} & {*experiment.baseline}:
            which.append(BASELINE)
        else:
            which.append(in_words(each.all_trials))
    if len(kept) > MAX_NAMED:
        which.append("...")
    between = "; " if spec.configuration_of else " "  # A configuration of several seeds has commas of its own.
    return {
        f"at {spec.budget.noun}s": f"{decision.at:,}",
        "went on": f"{len(kept)} of {len(ranked)}",
        "best": _score_at(decision, kept[0]),
        "last kept": _score_at(decision, kept[-1]),
        "best stopped": best_stopped,
        "which": between.join(which),
        NO_TIME_FOR: _no_time_for(decision),
    }


def _score_at(decision: Decision, ranked: Ranked) -> str:
    """A configuration's score where it was compared; empty if no game of it had ended."""
    return number(ranked.score) if decision.ended_games(ranked.trials) else ""


def _no_time_for(decision: Decision) -> str:
    """The first of the trials that were left out for lack of time."""
    if not decision.left_out:
        return ""
    names = in_words(decision.left_out[:MAX_NAMED])
    if len(decision.left_out) > MAX_NAMED:
        names += " ..."
    return names


def named(trials: Sequence[int], experiment: Experiment) -> str:
    """A configuration by its trials' numbers, and whether it is the baseline."""
    text = in_words(trials)
    if {*trials} & {*experiment.baseline}:
        text += f" {BASELINE}"
    return text


def at_rung(rung: int, experiment: Experiment) -> str:
    """Where a rung is: ``300,000 agent steps``, ``1 iteration``."""
    return counted(rung, experiment.spec.budget.noun)


class Speed(NamedTuple):
    """Throughput of the trials with one number of workers."""

    workers: int
    rates: list[float]  # each trial's median steps a second
    steps_per_s: float  # mean over trials
    speedup: float  # over the fewest workers
    efficiency: float  # parallel efficiency: the speed-up divided by the ratio of the numbers of workers


def speeds(trials: Sequence[Trial]) -> list[Speed]:
    """Throughput by number of workers; empty if all iterations had the same number.

    A trial to which workers were lent counts at each number that it had.
    """
    rates: dict[int, list[float]] = {}
    for trial in trials:
        workers_n, rate_n = trial.curve("perf/workers"), trial.curve("perf/steps_per_s")
        for workers in np.unique(workers_n[np.isfinite(rate_n) & np.isfinite(workers_n)]):
            with_these = rate_n[(workers_n == workers) & np.isfinite(rate_n)]
            rates.setdefault(int(workers), []).append(float(np.median(with_these)))
    if len(rates) < 2:
        return []
    fewest = min(rates)
    found = []
    for workers, each in sorted(rates.items()):
        mean = float(np.mean(each))
        speedup = mean / float(np.mean(rates[fewest]))
        efficiency = speedup * fewest / workers
        found.append(Speed(workers, each, mean, speedup, efficiency))
    return found


def speed_table(found: Sequence[Speed]) -> Rows:
    """Throughput by number of workers."""
    return [
        {
            "workers": str(speed.workers),
            "trials": str(len(speed.rates)),
            "steps/s": number(speed.steps_per_s, 0),
            "speed-up": number(speed.speedup, 2),
            "efficiency": f"{speed.efficiency:.0%}",
        }
        for speed in found
    ]


def experiment_table(experiments: Sequence[Experiment], damaged: Iterable[str]) -> Rows:
    """State, trials that came to their end, best latest score (over seeds), size and age of every experiment.

    Those that are ``damaged`` come last, by name alone.
    """
    rows = []
    for experiment in experiments:
        seconds = age(experiment)
        row = {
            "experiment": experiment.name,
            "state": experiment.state,
            "learner": experiment.learner,
            "done": _done(experiment),
            "score": number(_latest_score(experiment)),
            "size": filesize.decimal(_size(experiment.folder)),
            "age": duration(seconds) if seconds > -1 else "in the future: is the clock right?",
        }
        rows.append(row)
    empty = dict.fromkeys(("learner", "done", "score", "size", "age"), "")
    for name in damaged:
        rows.append({"experiment": name, "state": "damaged"} | empty)
    return rows


def _done(experiment: Experiment) -> str:
    """How many of the trials that were planned came to their end, and how many failed."""
    failed = done = 0
    for trial in experiment.trials:
        failed += trial.failed
        done += trial.has_ended and not trial.failed
    text = f"{done}/{len(experiment.spec.configs)}"
    return f"{text}, {failed} failed" if failed else text


def _latest_score(experiment: Experiment) -> float:
    """The latest score of the leading configuration; NaN without one."""
    leader = experiment.leader
    if not leader or not has_score(leader.trials):
        return math.nan
    return by_latest(leader.trials).score


def age(experiment: Experiment) -> float:
    """Seconds since the experiment was started."""
    return time.time() - started(experiment)


def _size(folder: Path) -> int:
    """Bytes of all files in a folder, as far as it can be read; links are not followed."""
    total = 0
    for parent, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):  # The file is gone meanwhile.
                total += os.lstat(os.path.join(parent, name)).st_size
    return total
