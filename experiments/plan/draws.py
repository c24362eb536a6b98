"""The configurations of a sweep: drawn from its space, with seeds of their own, and checked before anything starts."""

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy  # whose parts are loaded as they are first named

from experiments.ask.schedulers import SCHEDULERS, those
from experiments.plan.identity import SPEED_ONLY, decisive
from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import Choices, Domain, Space, grid
from trainables.checks import ConfigError, require_used
from trainables.config import Config
from trainables.texts import counted

EVAL_INTERVAL = 40
"""Iterations between evaluations of a sweep's trials, where nobody sets it; a trial of train.py has 20. Every 20
iterations, evaluations took 0.06 of the cores' time in TRPO's default sweep, which neither scores nor chooses by
them."""


def draw(
    learner: Learner,
    space: Space,
    num_samples: int | None,
    seed: int,
    resources: ClusterResources,
    own: Mapping[str, Any] | None = None,
) -> tuple[list[Config], list[str]]:
    """Draw a configuration for each trial from a space, with one seeded generator; without ``num_samples`` its grid.

    If the baseline's ``own_values`` are given, the first configuration is the baseline, and the others are those of a
    sweep of one trial less that has no baseline. To a grid the baseline is added, unless it is one of its combinations.

    The draws are a Latin hypercube (McKay et al. 1979): each setting's range is cut into as many parts of equal
    probability as there are trials, and each part is drawn once. Independent draws of the few trials that a laptop has
    time for leave gaps; of the first sixteen, none had 8 of the four batch sizes.

    Trial i has the i-th of ``trial_seeds``, rows of results about as often as the others, and few evaluations. Returns
    configurations, and the names of what is swept: settings with more than one value.

    Raises ConfigError for an impossible setting, for one that the cluster cannot hold, and for one of the user's own
    space that means nothing in a configuration.
    """
    domains = space.domains
    if num_samples is None:
        drawn = gridded(space, own)
    else:
        drawn = [dict(own)] if own is not None else []
        drawn += _samples(domains, num_samples - len(drawn), seed)
    configs = []
    for own_seed, values in zip(trial_seeds(seed, len(drawn)), drawn, strict=True):
        sweep_values = {"seed": own_seed, "eval_interval": EVAL_INTERVAL}
        config = learner.config_class.from_dict({**sweep_values, **space.settings, **values})
        if "updates_per_iteration" not in {*space.settings, *values}:
            config = _with_even_rows(config, space.settings)
        require_fits(config, resources)
        if space.own and values != own:
            require_used(config, domains)
        configs.append(config)
    return configs, [name for name, domain in domains.items() if len(domain.extremes) != 1]


def own_values(learner: Learner, space: Space, resources: ClusterResources) -> dict[str, Any]:
    """The baseline's values of what is swept: those of the preset, be they within what is swept or not.

    A setting with one value alone is not swept, so it has that one; of workers there are as many as have room. Raises
    ConfigError if the preset's values are impossible beside the settings that are the same in all trials.
    """
    same = {name: domain.extremes[0] for name, domain in space.domains.items() if len(domain.extremes) == 1}
    config = learner.config_class.from_dict({**space.settings, **same})
    settings = config.to_dict()
    if "num_workers" in space.domains:
        settings["num_workers"] = min(config.num_workers, resources.workers(config.cpus_per_worker))
    return {name: settings[name] for name in space.domains}


def baseline_of(own: Mapping[str, Any], swept: Sequence[str]) -> dict[str, Any]:
    """By what of its ``own_values`` the baseline is recognised: without those that change no result."""
    return {name: value for name, value in own.items() if name in swept and name not in SPEED_ONLY}


def gridded(space: Space, own: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """All combinations of a space's choices, and before them the baseline's ``own_values`` unless they are one."""
    combinations = grid(space.domains)
    if own is None:
        return combinations
    decide = own.keys() - SPEED_ONLY
    for each in combinations:
        if all(each[name] == own[name] for name in decide):
            return combinations
    return [dict(own), *combinations]


def trial_seeds(seed: int, count: int) -> list[int]:
    """The seeds of a sweep's first ``count`` trials, distinct and of 32 bits each, spawned from the sweep's ``seed``.

    With ``seed + i`` in their place, trials of neighbouring sweeps would have equal first weights and games, and so
    would not be independent.
    """
    sequence = np.random.SeedSequence(seed)
    found: dict[int, None] = {}  # a set that keeps the order
    while len(found) < count:
        drawn = int(sequence.spawn(1)[0].generate_state(1)[0])
        found[drawn] = None
    return [*found]


def typical(learner: Learner, space: Space) -> Config:
    """The configuration by whose pace a sweep is planned: a preset's, or one in the middle of a user's own space.

    Raises ConfigError if it is impossible.
    """
    middle = {}
    if space.own:
        for name, domain in space.domains.items():
            middle[name] = domain.at(0.5)
    return learner.config_class.from_dict({**space.settings, **middle})


def require_fits(config: Config, resources: ClusterResources) -> None:
    """Raise ConfigError if a trial of this configuration can never be scheduled."""
    most = resources.workers(config.cpus_per_worker)
    if config.num_workers > most:
        note = f". {resources.note}" if resources.note else ""
        raise ConfigError(
            f"num_workers={config.num_workers} needs {config.cpus:g} CPUs, and here is"
            f" room on {resources} for {counted(most, 'worker')} of {config.cpus_per_worker:g}: ask for fewer, or for"
            f" less cpus_per_worker{note}"
        )


def require_possible_seeds(seeds: int, scheduler: str, settings: Mapping[str, Any]) -> None:
    """Raise ConfigError if a configuration has several seeds, and the scheduler decides about each trial alone.

    Raises ConfigError, too, if several seeds stand against one among the ``settings`` that are the same in all trials.
    """
    if seeds > 1 and not SCHEDULERS[scheduler].joins_seeds:
        raise ConfigError(
            f"--scheduler {scheduler} decides about each trial alone, and here are {seeds} seeds of a configuration;"
            f" use {those(lambda each: each.joins_seeds)}"
        )
    if seeds > 1 and "seed" in settings:
        raise ConfigError(f"--set seed={settings['seed']} would make {seeds} seeds of a configuration the same")


def require_one_environment(configs: Sequence[Config], scheduler: str) -> None:
    """Raise ConfigError if a scheduler would compare returns of several environments."""
    played = dict.fromkeys(config.env_id for config in configs)
    if SCHEDULERS[scheduler].compares and len(played) > 1:
        raise ConfigError(
            f"--scheduler {scheduler} compares returns, and those of {' and '.join(played)} are not the same things;"
            f" use {those(lambda each: not each.compares)}, or a sweep for each"
        )


def one_of_each(space: Space, seed: int, own: Mapping[str, Any] | None) -> int:
    """The fewest configurations that have each choice of each setting if they are drawn with this ``seed``.

    Counted is the baseline, too, if its ``own`` values are given. As many as the setting with most choices has draw
    each of these once, but can miss one of a setting with fewer.
    """
    count = 1
    for domain in space.domains.values():
        if isinstance(domain, Choices):
            count = max(count, len(domain.values))
    while undrawn(space, _samples(space.domains, count, seed)):
        count += 1
    return count + (own is not None)


def undrawn(space: Space, settings: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The choices of each swept setting that none of these configurations' ``settings`` has."""
    found = {}
    for name, domain in space.domains.items():
        if isinstance(domain, Choices):
            drawn = [each[name] for each in settings]
            left = [value for value in domain.values if value not in drawn]
            if left:
                found[name] = left
    return found


def with_seeds(configs: Sequence[Config], seeds: Sequence[int]) -> tuple[list[Config], list[int], list[str]]:
    """Each configuration with each of the seeds: one trial for each pair.

    Returns the trials' configurations, for each trial the index of the configuration that it is a seed of, and notes.
    Configurations that differ in settings of speed alone run once, since their trials would have the same results.
    """
    found: dict[Hashable, Config] = {}
    for config in configs:
        found.setdefault(decisive(config.to_dict()), config)
    again = len(configs) - len(found)
    trials = [dataclasses.replace(config, seed=seed) for config in found.values() for seed in seeds]
    note = f"{again} of {len(configs)} configurations were drawn before, and run once: they would have the same seeds."
    return trials, [index // len(seeds) for index in range(len(trials))], [note] if again else []


def _with_even_rows(config: Config, settings: Mapping[str, Any]) -> Config:
    """The configuration with iterations of as many steps, about, as the ``settings`` that all trials share have.

    An iteration may end with a checkpoint and an evaluation, which took 15% of the time of trials with short segments.
    """
    names = ("slots", "segment_length", "updates_per_iteration")
    slots, length, updates = (settings.get(name, getattr(type(config), name)) for name in names)
    if not (config.slots and slots):
        return config
    even = round(slots * length * updates / (config.slots * config.segment_length))
    return dataclasses.replace(config, updates_per_iteration=max(1, even))


def _samples(domains: Mapping[str, Domain], count: int, seed: int) -> list[dict[str, Any]]:
    """The values of what is swept in so many configurations: a Latin hypercube, drawn with the seed."""
    if not count:
        return []
    rng = np.random.default_rng(seed)
    samples = scipy.stats.qmc.LatinHypercube(len(domains), rng=rng).random(count)  # of the unit cube
    drawn = []
    for sample in samples:
        drawn.append({name: domain.at(u) for (name, domain), u in zip(domains.items(), sample, strict=True)})
    return drawn
