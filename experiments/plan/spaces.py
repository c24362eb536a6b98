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
from experiments.plan.ranges import Choices, Domain, parse, value
from experiments.plan.resources import ClusterResources
from trainables.checks import ConfigError, check_settings, ignored, unknown

MOST = 1000
"""Configurations of a grid."""


class Space(NamedTuple):
    """From what a sweep's configurations are drawn."""

    settings: dict[str, Any]  # the same in all of them
    domains: dict[str, Domain]  # of each setting that is swept
    notes: list[str]  # what was left out
    own: bool = False  # the user's, of which nothing may be left out
    preset: dict[str, Any] | None = None  # what of the settings is a preset in the user's file

    @property
    def words(self) -> dict[str, str]:
        """Each setting's values in words."""
        return {name: str(domain) for name, domain in self.domains.items()}


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
        own_preset = _preset_of(learner, own_preset, fixed)
    settings = (learner.preset(preset) if own_preset is None else own_preset) | dict(fixed)
    flags, notes = _assigned(sweeps, fixed), []
    if not file and not sweeps:
        page = _around(learner, preset, settings)
    elif not file:
        left = [name for name in learner.space.SPACES.get(preset, {}) if name not in {*flags, *fixed}]
        if left:
            notes.append(f"--sweep takes the place of the space around {preset}; no longer swept: {', '.join(left)}.")
    domains = _domains(learner, {**page, **flags}, fixed)
    if resources and "cpus_per_worker" not in domains:
        notes += _fit_parallelism(learner, settings, domains, resources)
    return Space(settings, domains, notes, bool(file or sweeps), own_preset)


def _domains(learner: Learner, page: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Domain]:
    """What a page's words say of each setting that is not ``fixed``."""
    found = {}
    for name, words in page.items():
        if name not in fixed:
            found[name] = _domain(learner, name, words)
    return found


def _preset_of(learner: Learner, typed: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a preset in a user's file, each as its type asks, without those that are ``fixed``."""
    found = {}
    for name, word in typed.items():
        setting = value(name, word, kind_of(learner, name))
        if name not in fixed:
            found[name] = setting
    return found


def _around(learner: Learner, preset: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The space around a preset, without what would be ignored beside the ``settings``."""
    base = learner.config_class.from_dict(settings)
    found = {}
    for name, words in learner.space.SPACES.get(preset, {}).items():
        if not ignored(base, name):
            found[name] = words
    return found


def _fit_parallelism(
    learner: Learner, settings: Mapping[str, Any], domains: dict[str, Domain], resources: ClusterResources
) -> list[str]:
    """Leave out of ``domains`` the numbers of workers for which there is no room; return a note if there are any.

    Raises ConfigError if no choice has room.
    """
    parallel = domains.get("num_workers")
    if not isinstance(parallel, Choices):
        return []
    cpus = settings.get("cpus_per_worker", learner.config_class().cpus_per_worker)
    check_settings(learner.config_class, {"cpus_per_worker": cpus})
    most = resources.workers(cpus)
    fitting = [choice for choice in parallel.values if choice <= most]
    cut = ", ".join(str(choice) for choice in parallel.values if choice > most)
    if not fitting:
        raise ConfigError(f"no choice of num_workers ({cut}) fits on {resources}; set cpus_per_worker lower")
    domains["num_workers"] = Choices(fitting)
    return [f"num_workers {cut} left out of the space: too many for {resources}."] if cut else []


def _assigned(sweeps: Sequence[str], fixed: Mapping[str, Any]) -> dict[str, str]:
    """Each setting's words in ``--sweep`` flags. Raises ConfigError for what is no assignment, or is given twice."""
    found: dict[str, str] = {}
    for text in sweeps:
        name, _, words = text.partition("=")
        if not name or not words:
            raise ConfigError(
                f"--sweep {text!r}: accepted is NAME=VALUES, as gamma=0.98,0.99 or learning_rate=1e-4..1e-2:log"
            )
        if name in {*found, *fixed}:
            raise ConfigError(f"--sweep {text}: there is {name}={(found | dict(fixed))[name]} already: give it once")
        found[name] = words
    return found


def grid(domains: Mapping[str, Domain]) -> list[dict[str, Any]]:
    """All combinations of the choices, the last setting changing fastest."""
    choices = []
    for name, domain in domains.items():
        if not isinstance(domain, Choices):
            raise ConfigError(f"--grid: {name} is a range; say how many of its values, as {name}={domain}:4")
        choices.append(domain.values)
    if (count := math.prod(map(len, choices))) > MOST:
        raise ConfigError(f"--grid has {count:,} configurations: accepted are up to {MOST:,}")
    return [dict(zip(domains, values, strict=True)) for values in itertools.product(*choices)]


def kind_of(learner: Learner, name: Any) -> Any:
    """A setting's type."""
    if name not in (known := learner.config_class().to_dict()):
        raise ConfigError(unknown("setting", str(name), known))
    return typing.get_type_hints(learner.config_class)[name]


def _domain(learner: Learner, name: str, words: Any) -> Domain:
    """What words say of a setting."""
    if name == "seed":
        raise ConfigError("seed is not swept: --seeds N gives each configuration N of them")
    domain = parse(name, words, kind_of(learner, name))
    for each in domain.extremes:
        check_settings(learner.config_class, {name: each})
    return domain
