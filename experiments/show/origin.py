"""Where an experiment's results come from: command, code, machine, environment, settings and seeds."""

import json
import shlex

from experiments.ask.budget import Budget
from experiments.read import policies
from experiments.read.next_command import confirm_command
from experiments.read.trials import Experiment
from experiments.show.text import block, code
from trainables.sampling.console import pong_settings


def origin(experiment: Experiment) -> str:
    """An experiment's origin in Markdown: its command, and a list."""
    record = experiment.record
    git = record.get("git")
    revision = code(str(git.get("revision"))[:12]) if git else "unknown"
    revision += " and uncommitted changes" if git and git.get("dirty") else ""
    versions = record.get("versions") or _checkpoint_versions(experiment)
    versions = versions | ({"python": record["python"]} if "python" in record else {})
    configs = [trial.config for trial in experiment.trials] or [{}]
    same = {k: v for k, v in configs[0].items() if k != "seed" and all(c.get(k) == v for c in configs)}
    seeds = sorted({config.get("seed", 0) for config in configs})
    lines = [
        f"- Started: {code(record.get('started', 'unknown'))}; state: {experiment.state}",
        f"- Code: git revision {revision}",
        f"- Machine: {code(record.get('platform', 'unknown'))}, {record.get('cpus') or '?'} CPUs",
        f"- Versions: {code(', '.join(f'{name} {version}' for name, version in versions.items()) or 'unknown')}",
        f"- Environment: {code(environment(same.get('env_id', 'unknown')))}, actions sampled",
        f"- Seeds: {', '.join(map(str, seeds))}",
        f"- Same in all trials: {', '.join(code(f'{k}={json.dumps(v)}') for k, v in same.items())}",
    ]
    if earlier := Budget.before(record):
        lines.insert(1, f"- Extended: to {Budget.of_record(record)} a trial, after {', '.join(map(str, earlier))}")
    if space := record.get("space"):
        drawn = (code(f"{name}={values or '(of Python)'}") for name, values in space.items())
        lines.insert(-1, f"- Drawn from: {', '.join(drawn)}")
    if kept := record.get("learner_sha256"):
        files = [f"{code(f'learner-{number}.py')}, SHA-256 {code(sha256)}" for number, sha256 in enumerate(kept, 1)]
        lines.insert(2, f"- Code of {code(experiment.learner)}: {'; then '.join(files)}")
    return block(_command(experiment, len(seeds))) + "\n" + "\n".join(lines) + "\n"


def _command(experiment: Experiment, seeds: int) -> str:
    """As it was typed. A confirmation's record has its sweep's, which may have been without one."""
    if sweep := experiment.record.get("confirms"):
        best = max(1, len(experiment.trials) // seeds)
        return confirm_command(experiment.folder.with_name(sweep), experiment.record, best, seeds)
    program, *words = experiment.record.get("command") or ["unknown"]
    return shlex.join(["python", f"experiments/{program}", *words])


def environment(env_id: str) -> str:
    """The environment and what makes it harder or easier, to stand beside every score."""
    try:
        settings = pong_settings(env_id)
    except ValueError:
        return env_id
    return f"{env_id}, sticky actions {settings['repeat_action_probability']:g}, frame skip {settings['frameskip']}"


def _checkpoint_versions(experiment: Experiment) -> dict[str, str]:
    """The versions that some checkpoint names, where ``experiment.json`` names none."""
    found = (policies.of_trial(trial.folder) for trial in experiment.trials)
    return next((refs[-1].state.versions for refs in found if refs), {})
