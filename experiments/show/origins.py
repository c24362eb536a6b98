"""Where the results on a page come from: command, code, machine, versions, settings and seeds."""

import json
from collections.abc import Iterator, Sequence

from experiments.analysis.next_command import first_command
from experiments.disk.experiments import Experiment
from experiments.disk.folders import display
from experiments.show.page import Page
from experiments.show.text import block, code
from trainables.sampling.console import pong_settings
from trainables.texts import counted


def add_origins(page: Page, experiments: Sequence[Experiment]) -> None:
    """Add where each experiment's results come from, once for an experiment that is given twice."""
    page.add("## Where these results come from")
    shown = set()
    for experiment in experiments:
        if experiment.folder in shown:
            continue
        shown.add(experiment.folder)
        page.add(f"### {code(experiment.name)}")
        page.add(origin(experiment))


def origin(experiment: Experiment) -> str:
    """An experiment's command, and a list of code, machine, environment, settings and seeds, in Markdown."""
    lines = [*_begin(experiment), *_code(experiment), *_where(experiment), *_what(experiment)]
    text = block(_command(experiment)) + "\n"
    for line in lines:
        text += f"- {line}\n"
    return text


def _command(experiment: Experiment) -> str:
    """The command that began it; of a Tuner of somebody's own the call that Tune restores it by."""
    if experiment.spec.is_ours:
        return first_command(experiment.spec)
    return f"tune.Tuner.restore({display(experiment.folder)!r}, ...)"


def _begin(experiment: Experiment) -> Iterator[str]:
    """When it began, what has become of it, and how it was extended."""
    spec = experiment.spec
    yield f"Started: {code(spec.origin.started)}; state: {experiment.state}"
    if spec.confirms:
        yield f"Confirms: the best of {code(spec.confirms)}, with fresh seeds"
    if spec.extended:
        yield f"Extended: to {spec.budget} a trial, after {', '.join(map(str, spec.earlier_budgets))}"


def _code(experiment: Experiment) -> Iterator[str]:
    """The git revision and the digests of the code that ran."""
    spec, found = experiment.spec, experiment.spec.origin
    revision = code(str(found.git)) if found.git else "unknown"
    if spec.learner_sha256:
        yield f"Code of {code(experiment.learner)}: SHA-256 {code(', then '.join(spec.learner_sha256))}"
    ran = [sources.get("trainables", "unknown")[:12] for sources in found.sources]
    digests = ", then ".join(ran) or "unknown"
    yield f"Code: git revision {revision}; SHA-256 of trainables {code(digests)}"


def _where(experiment: Experiment) -> Iterator[str]:
    """The machine, and the versions of libraries."""
    found = experiment.spec.origin
    cpus = counted(found.cpus, "CPU") if found.cpus else "? CPUs"
    versions = found.versions | {"python": found.python}
    yield f"Machine: {code(found.platform)}, {cpus}"
    yield f"Versions: {code(', '.join(map(' '.join, versions.items())))}"


def _what(experiment: Experiment) -> Iterator[str]:
    """The environment, the seeds, the space, and the settings that are the same in all trials."""
    configs = [trial.config for trial in experiment.trials] or [{}]
    environments: dict[str, None] = {}  # a set that keeps its order
    seeds = set()
    for config in configs:
        env_id = str(config.get("env_id", "unknown"))
        environments[code(environment(env_id))] = None
        seeds.add(config.get("seed", 0))
    yield f"Environment: {' and '.join(environments)}, actions sampled"
    yield f"Seeds: {', '.join(map(str, sorted(seeds)))}"
    if experiment.spec.space:
        drawn = [code(f"{name}={values}") for name, values in experiment.spec.space.items()]
        yield f"Drawn from: {', '.join(drawn)}"
    same = []
    for name, value in configs[0].items():
        values = [config.get(name) for config in configs]
        if name != "seed" and values == [value] * len(values):
            same.append(code(f"{name}={json.dumps(value)}"))
    yield f"Same in all trials: {', '.join(same)}"


def environment(env_id: str) -> str:
    """The environment and what makes it harder or easier, to stand beside every score."""
    try:
        settings = pong_settings(env_id)
    except ValueError:
        return env_id
    return f"{env_id}, sticky actions {settings['repeat_action_probability']:g}, frame skip {settings['frameskip']}"
