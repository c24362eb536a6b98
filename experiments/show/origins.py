"""Where the results on a page come from: command, code, machine, versions, settings and seeds."""

import json
from collections.abc import Sequence

from experiments.read.experiments import Experiment
from experiments.read.next_command import confirm_command, first_command
from experiments.record.folders import display
from experiments.show.page import Page
from experiments.show.summary import environment
from experiments.show.text import block, code
from trainables.texts import counted


def add_origins(page: Page, experiments: Sequence[Experiment]) -> None:
    """Where each experiment's results come from."""
    page.add("## Where these results come from")
    for experiment in {experiment.folder: experiment for experiment in experiments}.values():
        page.add(f"### {code(experiment.name)}")
        page.add(origin(experiment))


def origin(experiment: Experiment) -> str:
    """An experiment's command, and a list of code, machine, environment, settings and seeds, in Markdown."""
    spec, found = experiment.spec, experiment.spec.origin
    revision = code(found.git.revision[:12]) if found.git else "unknown"
    revision += " and uncommitted changes" if found.git and found.git.dirty else ""
    digests = ", then ".join(ran.get("trainables", "unknown")[:12] for ran in found.sources) or "unknown"
    versions = found.versions | {"python": found.python}
    configs = [trial.config for trial in experiment.trials] or [{}]
    same = {k: v for k, v in configs[0].items() if k != "seed" and all(c.get(k) == v for c in configs)}
    played = dict.fromkeys(str(config.get("env_id", "unknown")) for config in configs)
    seeds = sorted({config.get("seed", 0) for config in configs})
    lines = [
        f"- Started: {code(found.started)}; state: {experiment.state}",
        f"- Code: git revision {revision}; SHA-256 of trainables {code(digests)}",
        f"- Machine: {code(found.platform)}, {counted(found.cpus, 'CPU') if found.cpus else '? CPUs'}",
        f"- Versions: {code(', '.join(f'{name} {version}' for name, version in versions.items()))}",
        f"- Environment: {' and '.join(code(environment(env_id)) for env_id in played)}, actions sampled",
        f"- Seeds: {', '.join(map(str, seeds))}",
        f"- Same in all trials: {', '.join(code(f'{k}={json.dumps(v)}') for k, v in same.items())}",
    ]
    if spec.extended:
        lines.insert(1, f"- Extended: to {spec.budget} a trial, after {', '.join(map(str, spec.earlier_budgets))}")
    if spec.space:
        drawn = (code(f"{name}={values}") for name, values in spec.space.items())
        lines.insert(-1, f"- Drawn from: {', '.join(drawn)}")
    if spec.learner_sha256:
        digests = ", then ".join(spec.learner_sha256)
        lines.insert(2, f"- Code of {code(experiment.learner)}: SHA-256 {code(digests)}")
    command = first_command(spec) if spec.is_ours else f"tune.Tuner.restore({display(experiment.folder)!r}, ...)"
    if spec.confirms:  # whose command is its sweep's, which may have been without a confirmation
        best = max(1, len(experiment.trials) // len(seeds))
        command = confirm_command(experiment.folder.with_name(spec.confirms), spec, best, len(seeds))
    return block(command) + "\n" + "\n".join(lines) + "\n"
