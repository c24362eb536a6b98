"""The tables of a report, in Markdown: trials, configurations, confirmations, speed, failures and origin."""

import json
import math
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from experiments.ask.budget import Budget
from experiments.ask.words import duration
from experiments.read import policies
from experiments.read.bootstrap import mean_interval
from experiments.read.configurations import Configuration, confirmations, varied, verdict
from experiments.read.trials import Experiment, TrialResult
from experiments.show.effects import Speed
from trainables.sampling.console import pong_settings


def table(header: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """A table whose first columns are ``texts``, and all others numbers."""
    rules = [":--"] * texts + ["--:"] * (len(header) - texts)
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rules, *rows)) + "\n"


def code(text: Any) -> str:
    """A name from a file as it stands, whatever is in it."""
    return "`" + str(text).replace("`", "'").replace("|", "¦").replace("\n", " ") + "`"


def block(text: str) -> str:
    """Lines from a file as they stand."""
    return "```text\n" + text.replace("```", "'''") + "\n```\n"


def number(value: float, digits: int = 1) -> str:
    """A number with a real minus sign; a dash for none."""
    return f"{value:,.{digits}f}".replace("-", "\N{MINUS SIGN}") if math.isfinite(value) else "\N{EN DASH}"


def trial_table(experiments: Sequence[Experiment]) -> str:
    """Every trial, the best latest return first."""
    several = len(experiments) > 1
    trials = [(experiment, trial) for experiment in experiments for trial in experiment.trials]
    trials.sort(key=lambda pair: pair[1].last if pair[1].rows else -math.inf, reverse=True)
    rows = []
    for experiment, trial in trials:
        steps, seconds = (
            trial.rows[-1].get(key, 0) if trial.rows else 0 for key in ("timesteps_total", "time_total_s")
        )
        rows.append(
            [code(trial.name), *([code(experiment.name)] if several else []), trial.state]
            + [str(trial.iterations), number(steps, 0), duration(seconds), number(trial.speed, 0)]
            + [number(value) for value in (trial.best, trial.last, trial.area)]
        )
    header = ["trial", *(["experiment"] if several else []), "state", "iterations", "steps", "time", "steps/s"]
    return table([*header, "best", "last", "area"], rows, texts=2 + several)


def group_table(groups: Sequence[Configuration], labels: Sequence[str]) -> str:
    """Configurations of several seeds: the mean of their latest returns, with its interval."""
    rows = []
    for group, label in zip(groups, labels, strict=True):
        low, high = mean_interval(group.scores)
        seeds = ", ".join(map(str, sorted(group.seeds)))
        interval = f"{number(float(low))} to {number(float(high))}"
        rows.append([code(label), group.learner, seeds, number(group.score), interval])
    return table(["configuration", "learner", "seeds", "mean of last", "95% interval"], rows, texts=2)


def confirmation_table(sweep: Experiment, confirm: Experiment) -> str:
    """What fresh seeds say of a sweep's best; empty if they say nothing yet."""
    found = confirmations(sweep, confirm)
    names = varied(c.chosen for c in found)
    rows = []
    for c in found:
        ends = mean_interval(c.fresh) if len(c.fresh) > 1 else (math.nan, math.nan)
        interval = " to ".join(number(float(end)) for end in ends)
        figures = [number(c.sweep), number(float(c.fresh.mean())), interval, number(c.drop)]
        figures.append(number(float(c.final.mean())))
        rows.append([code(c.chosen.label(names)), c.where, *figures])
    if not rows:
        return ""
    header = ["configuration", "after", "in the sweep", "fresh seeds", "95% interval", "drop", "at the end"]
    return table(header, rows) + (f"\n{verdict(found)}\n" if len(found) > 1 else "")


def speed_table(found: Sequence[Speed]) -> str:
    """Throughput by number of workers."""
    rows = [
        [str(s.workers), str(s.trials), number(s.steps_per_s, 0), number(s.speedup, 2), f"{s.efficiency:.0%}"]
        for s in found
    ]
    return table(["workers", "trials", "steps/s", "speed-up", "efficiency"], rows, texts=0)


def failures(trials: Sequence[TrialResult]) -> str:
    """What went wrong, by trial; empty if nothing did."""
    parts = [f"{code(trial.name)} failed:\n\n{block(str(trial.error))}" for trial in trials if trial.error]
    parts += [
        f"{code(trial.name)} diverged at iteration {trial.iterations}: an update was not finite.\n"
        for trial in trials
        if trial.diverged
    ]
    return "\n".join(parts)


def origin(experiment: Experiment) -> str:
    """Where an experiment's results come from: command, code, machine, settings and seeds."""
    record = experiment.record
    source = record if "versions" in record else _checkpoint_state(experiment)
    git = record.get("git")
    revision = f"{code(git['revision'][:12])}{' and uncommitted changes' if git['dirty'] else ''}" if git else "unknown"
    versions = source.get("versions", {}) | ({"python": record["python"]} if "python" in record else {})
    configs = [trial.config for trial in experiment.trials] or [{}]
    same = {k: v for k, v in configs[0].items() if k != "seed" and all(c.get(k) == v for c in configs)}
    seeds = sorted({config.get("seed", 0) for config in configs})
    lines = [
        f"- Started: {record.get('started', 'unknown')}; state: {experiment.state}",
        f"- Code: git revision {revision}",
        f"- Machine: {record.get('platform', 'unknown')}, {record.get('cpus', '?')} CPUs",
        f"- Versions: {', '.join(f'{name} {version}' for name, version in versions.items()) or 'unknown'}",
        f"- Environment: {_environment(same.get('env_id', ''))}",
        f"- Seeds: {', '.join(map(str, seeds))}",
        f"- Same in all trials: {', '.join(code(f'{k}={json.dumps(v)}') for k, v in same.items())}",
    ]
    if earlier := record.get("extended"):
        budget = Budget(record["iterations"], record["timesteps"])
        lines.insert(1, f"- Extended: to {budget} a trial, after {', '.join(f'{limit:,}' for limit in earlier)}")
    program, *words = [str(word) for word in record.get("command", ["unknown"])]
    return block(shlex.join(["python", f"experiments/{program}", *words])) + "\n" + "\n".join(lines) + "\n"


def _environment(env_id: str) -> str:
    try:
        settings = pong_settings(env_id)
    except ValueError:
        return code(env_id)
    sticky = settings["repeat_action_probability"]
    return f"{code(env_id)}, frame skip {settings['frameskip']}, sticky actions {sticky:g}, sampled actions"


def _checkpoint_state(experiment: Experiment) -> dict[str, Any]:
    """A checkpoint knows the versions, too, where an older record does not."""
    return next((found[-1].state for trial in experiment.trials if (found := policies.of_trial(trial.folder))), {})
