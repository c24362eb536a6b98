"""The plan of a sweep: every trial's configuration, drawn and checked before anything starts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from ray.tune.search.sample import Categorical, Domain, Float
from scipy.stats import qmc

from experiments.ask.budget import Budget
from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources
from trainables.checks import ConfigError
from trainables.config import Config


@dataclass(frozen=True)
class Plan:
    """What will run, where, and for how long."""

    learner: Learner
    configs: list[Config]
    swept: list[str]  # the fields that differ between trials
    budget: Budget  # of each
    room: ClusterResources  # of the machine or cluster
    max_concurrent: int | None
    notes: list[str]

    def concurrent(self) -> int:
        """How many trials run at once."""
        count = self.room.trials(self.configs)
        return min(count, self.max_concurrent or count)

    def idle(self) -> float:
        """CPUs that nothing uses while as many trials run as can, small ones first."""
        needs = sorted(_cpus(config) for config in self.configs)
        return self.room.cpus - sum(needs[: self.concurrent()])

    def seconds(self) -> float:
        """Time of all trials at the pace of an untrained policy's game, measured now on this machine."""
        each = self.learner.seconds(self.configs[0], self.budget)
        busy = min(self.room.cpus, self.concurrent() * max(_cpus(config) for config in self.configs))
        return len(self.configs) * each / busy


def draw(
    learner: Learner, preset: str, fixed: Mapping[str, Any], num_samples: int, seed: int, room: ClusterResources
) -> tuple[list[Config], list[str], list[str]]:
    """Draw every trial's configuration from the space around a preset with one seeded generator.

    The draws are a Latin hypercube (McKay et al. 1979): each setting's range is cut into as many parts of equal
    probability as there are trials, and each part is drawn once. Independent draws of the few trials that a laptop has
    time for leave gaps; of the first sixteen, none had 8 of the four batch sizes.

    ``fixed`` settings replace the space's. Trial i has seed ``seed + i``. Returns configurations, swept names, and
    notes on what was cut. Raises ConfigError for an impossible setting, or one that the cluster cannot hold.
    """
    settings = learner.preset(preset)
    space = {name: domain for name, domain in learner.space.SPACES[preset].items() if name not in fixed}
    notes = []
    if isinstance(domain := space.get("num_workers"), Categorical):
        space["num_workers"], note = _fitting(domain, float(fixed.get("cpus_per_worker", 1)), room)
        notes += [note] if note else []
    rng = np.random.default_rng(seed)
    places = qmc.LatinHypercube(len(space), rng=rng).random(num_samples)
    configs = []
    for index, place in enumerate(places):
        drawn = {name: _value(domain, share, rng) for (name, domain), share in zip(space.items(), place, strict=True)}
        config = learner.config_class.from_dict(settings | drawn | {"seed": seed + index} | dict(fixed))
        require_room(config, room)
        configs.append(config)
    swept = [name for name, domain in space.items() if not isinstance(domain, Categorical) or len(domain) > 1]
    return configs, swept, notes


def _value(domain: Any, share: float, rng: np.random.Generator) -> Any:
    """Of a setting's values the one below which lies this ``share`` of them, in [0, 1).

    Domains whose values cannot be told from a share, such as ``tune.sample_from``, draw one.
    """
    if not isinstance(domain, Domain):
        return domain
    if isinstance(domain, Categorical):
        return domain.categories[int(share * len(domain))]
    if isinstance(domain, Float) and isinstance(domain.sampler, Float._LogUniform):
        return float(domain.lower * (domain.upper / domain.lower) ** share)
    if isinstance(domain, Float) and isinstance(domain.sampler, Float._Uniform):
        return float(domain.lower + (domain.upper - domain.lower) * share)
    return domain.sample(random_state=np.random.RandomState(rng.integers(2**31)))  # what Tune's domains take


def require_room(config: Config, room: ClusterResources) -> None:
    """Raise ConfigError if a trial of this configuration can never be scheduled."""
    most = room.workers(config.cpus_per_worker)
    if config.num_workers > most:
        raise ConfigError(
            f"num_workers={config.num_workers} needs {_cpus(config):g} CPUs, but there are {room}:"
            f" at most {most} workers of {config.cpus_per_worker:g} CPU, or less cpus_per_worker"
        )


def parse_settings(assignments: tuple[str, ...]) -> dict[str, Any]:
    """``key=value`` texts as a dict; values in JSON's notation, or else plain text. Raises ConfigError."""
    settings = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise ConfigError(f"--set {assignment!r}: accepted is key=value")
        try:
            settings[key] = json.loads(value)
        except ValueError:
            settings[key] = value
    return settings


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.0f} days"


def _cpus(config: Config) -> float:
    return config.num_workers * config.cpus_per_worker


def _fitting(domain: Categorical, cpus_per_worker: float, room: ClusterResources) -> tuple[Categorical, str]:
    """The choices of parallelism that fit, and a note on those that do not."""
    fitting = [choice for choice in domain.categories if choice <= room.workers(cpus_per_worker)]
    cut = [str(choice) for choice in domain.categories if choice not in fitting]
    if not cut:
        return domain, ""
    if not fitting:
        raise ConfigError(f"no choice of num_workers ({', '.join(cut)}) fits on {room}; set cpus_per_worker lower")
    return Categorical(fitting), f"num_workers {', '.join(cut)} left out of the space: there are {room}."
