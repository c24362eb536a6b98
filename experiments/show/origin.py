"""Where an experiment's results come from: command, code, machine, environment, settings and seeds."""

import json
import shlex

from experiments.read.experiments import Experiment
from experiments.read.next_command import confirm_command
from experiments.show.text import block, code
from trainables.sampling.console import pong_settings


def origin(experiment: Experiment) -> str:
    """An experiment's origin in Markdown: its command, and a list."""
    spec, found = experiment.spec, experiment.spec.origin
    revision = code(found.git.revision[:12]) if found.git else "unknown"
    revision += " and uncommitted changes" if found.git and found.git.dirty else ""
    versions = found.versions | {"python": found.python}
    configs = [trial.config for trial in experiment.trials] or [{}]
    same = {k: v for k, v in configs[0].items() if k != "seed" and all(c.get(k) == v for c in configs)}
    seeds = sorted({config.get("seed", 0) for config in configs})
    lines = [
        f"- Started: {code(found.started)}; state: {experiment.state}",
        f"- Code: git revision {revision}",
        f"- Machine: {code(found.platform)}, {found.cpus or '?'} CPUs",
        f"- Versions: {code(', '.join(f'{name} {version}' for name, version in versions.items()))}",
        f"- Environment: {code(environment(str(same.get('env_id', 'unknown'))))}, actions sampled",
        f"- Seeds: {', '.join(map(str, seeds))}",
        f"- Same in all trials: {', '.join(code(f'{k}={json.dumps(v)}') for k, v in same.items())}",
    ]
    if spec.extended:
        lines.insert(1, f"- Extended: to {spec.budget} a trial, after {', '.join(map(str, spec.earlier_budgets))}")
    if spec.space:
        drawn = (code(f"{name}={values or '(of Python)'}") for name, values in spec.space.items())
        lines.insert(-1, f"- Drawn from: {', '.join(drawn)}")
    if spec.learner_sha256:
        files = [
            f"{code(f'learner-{n}.py')}, SHA-256 {code(sha256)}" for n, sha256 in enumerate(spec.learner_sha256, 1)
        ]
        lines.insert(2, f"- Code of {code(experiment.learner)}: {'; then '.join(files)}")
    return block(_command(experiment, len(seeds))) + "\n" + "\n".join(lines) + "\n"


def _command(experiment: Experiment, seeds: int) -> str:
    """As it was typed. A confirmation's specification has its sweep's, which may have been without one."""
    spec = experiment.spec
    if spec.confirms:
        best = max(1, len(experiment.trials) // seeds)
        return confirm_command(experiment.folder.with_name(spec.confirms), spec, best, seeds)
    program, *words = spec.command or ["unknown"]
    return shlex.join(["python", f"experiments/{program}", *words])


def environment(env_id: str) -> str:
    """The environment and what makes it harder or easier, to stand beside every score."""
    try:
        settings = pong_settings(env_id)
    except ValueError:
        return env_id
    return f"{env_id}, sticky actions {settings['repeat_action_probability']:g}, frame skip {settings['frameskip']}"
