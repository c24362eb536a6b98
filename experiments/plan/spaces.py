"""The search space of a sweep: the one around a preset, or the user's own, from flags or a file.

What cannot be is refused with a ConfigError of one line. Each choice and both ends of each range are checked here, and
each configuration once it is drawn.
"""

import itertools
import math
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments.plan.learners import Learner
from experiments.plan.own_files import read_page
from experiments.plan.ranges import Choices, ends_of, in_words, parse, value
from experiments.plan.resources import ClusterResources
from trainables.checks import ConfigError, check_settings, ignored, unknown

MOST = 1000
"""Configurations of a grid."""


class Space(NamedTuple):
    """From what a sweep's configurations are drawn."""

    settings: dict[str, Any]  # the same in all of them
    domains: dict[str, Any]  # of each setting that is swept, as ranges.parse returns them
    notes: list[str]  # what was left out
    own: bool = False  # the user's, of which nothing may be left out
    preset: dict[str, Any] | None = None  # what of the settings is a preset in the user's file

    @property
    def words(self) -> dict[str, str]:
        """Each setting's values in words; empty where a domain has none."""
        return {name: in_words(domain) for name, domain in self.domains.items()}


def space_of(
    learner: Learner,
    preset: str,
    fixed: Mapping[str, Any],
    resources: ClusterResources | None,
    file: Path | None = None,
    sweeps: Sequence[str] = (),
) -> Space:
    """The space around a preset, or the user's own: a file's, to which ``--sweep`` flags add, or that of these alone.

    Left out are settings that are ``fixed``, those that mean nothing around a preset, and parallelism that the machine
    has no room for. Without ``resources`` that stays: a grid would be another one on another machine.
    """
    own_preset, page = read_page(file, preset) if file else (None, {})
    if own_preset is not None:
        given = {name: value(f"--space {file}: {name}", it, kind_of(learner, name)) for name, it in own_preset.items()}
        own_preset = {name: it for name, it in given.items() if name not in fixed}
    settings = (learner.preset(preset) if own_preset is None else own_preset) | dict(fixed)
    if not (own := bool(file or sweeps)):
        base = learner.config_class.from_dict(settings)
        page = {name: it for name, it in learner.space.SPACES[preset].items() if not ignored(base, name)}
    where = f"--space {file}" if file else f"SPACES[{preset!r}]"
    domains = {name: _domain(learner, f"{where}: {name}", name, page[name]) for name in page if name not in fixed}
    flags: dict[str, Any] = {}
    for text in sweeps:
        name, _, words = text.partition("=")
        if not name or not words:
            raise ConfigError(
                f"--sweep {text!r}: accepted is NAME=VALUES, as gamma=0.98,0.99 or learning_rate=1e-4..1e-2:log"
            )
        if name in flags:
            raise ConfigError(f"--sweep {name} is there twice: give it once")
        if name in fixed:
            raise ConfigError(f"{name} is fixed to {fixed[name]}, and swept: give it once")
        flags[name] = _domain(learner, f"--sweep {name}", name, words)
    domains |= flags
    notes = []
    around = learner.space.SPACES.get(preset, {}) if sweeps and not file else ()
    if left := [name for name in around if name not in {*flags, *fixed}]:
        notes.append(f"--sweep takes the place of the space around {preset}; no longer swept: {', '.join(left)}.")
    if resources and "cpus_per_worker" not in domains:
        cpus = settings.get("cpus_per_worker", learner.config_class().cpus_per_worker)
        check_settings(learner.config_class, {"cpus_per_worker": cpus})
        domains, cut = _fitting(domains, cpus, resources)
        notes += cut
    return Space(settings, domains, notes, own, own_preset)


def grid(domains: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All combinations of the choices, the last setting changing fastest."""
    for name, domain in domains.items():
        if not isinstance(domain, Choices):
            said = f"{name}={in_words(domain)}:4" if in_words(domain) else "tune.choice"
            raise ConfigError(f"--grid: {name} is a range; say how many of its values, as {said}")
    choices = [domain.values for domain in domains.values()]
    if (count := math.prod(map(len, choices))) > MOST:
        raise ConfigError(f"--grid has {count:,} configurations: accepted are up to {MOST:,}")
    return [dict(zip(domains, values, strict=True)) for values in itertools.product(*choices)]


def kind_of(learner: Learner, name: Any) -> Any:
    """A setting's type."""
    known = learner.config_class().to_dict()
    if name not in known:
        raise ConfigError(unknown("setting", str(name), known))
    return typing.get_type_hints(learner.config_class)[name]


def _domain(learner: Learner, where: str, name: str, words: Any) -> Any:
    """What words say of a setting."""
    kind = kind_of(learner, name)
    if name == "seed":
        raise ConfigError("seed is not swept: --seeds N gives each configuration N of them")
    domain = parse(where, words, kind)
    for each in domain.values if isinstance(domain, Choices) else ends_of(domain):
        check_settings(learner.config_class, {name: each})
    return domain


def _fitting(
    domains: dict[str, Any], cpus_per_worker: float, resources: ClusterResources
) -> tuple[dict[str, Any], list[str]]:
    """The domains with the choices of parallelism that fit, and a note on those that do not."""
    if not isinstance(domain := domains.get("num_workers"), Choices):
        return domains, []
    most = resources.workers(cpus_per_worker)
    cut = ", ".join(str(choice) for choice in domain.values if choice > most)
    if not (fitting := [choice for choice in domain.values if choice <= most]):
        raise ConfigError(f"no choice of num_workers ({cut}) fits on {resources}; set cpus_per_worker lower")
    notes = [f"num_workers {cut} left out of the space: too many for {resources}."] if cut else []
    return domains | {"num_workers": Choices(fitting)}, notes
