"""The search space of a sweep: the one around a preset, or the user's own, from flags or a file."""

import itertools
import math
import runpy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from ray.tune.search.sample import Categorical, Domain, Float, Integer

from experiments.plan.learners import Learner
from experiments.plan.ranges import in_words, parse
from trainables.checks import ConfigError, ignored, require_used, unknown
from trainables.config import Config

Space = dict[str, Any]
"""Ray Tune's domain of each setting that is swept, or a value that is none."""

MOST = 1000
"""Configurations of a grid."""


def space_of(
    learner: Learner, preset: str, fixed: Mapping[str, Any], file: Path | None, sweeps: Sequence[str]
) -> Space:
    """The space of a sweep: with a file or ``--sweep`` flags theirs alone, else the one around the preset.

    Settings that are ``fixed``, or that mean nothing with them, are left out of a preset's space, and refused in the
    user's own. Raises ConfigError for a space that cannot be, each end and each choice being tried in a configuration.
    """
    base = learner.config_class.from_dict(learner.preset(preset) | dict(fixed))
    if not file and not sweeps:
        space = learner.space.SPACES[preset]
        return {name: domain for name, domain in space.items() if name not in fixed and not ignored(base, name)}
    space = read(file, preset, learner) if file else {}
    given = [_assignment(text) for text in sweeps]
    if again := [name for index, (name, _) in enumerate(given) if name in dict(given[:index])]:
        raise ConfigError(f"--sweep {again[0]} is there twice: give it once")
    space |= {name: parse(f"--sweep {name}", words, _whole(learner, name)) for name, words in given}
    for name, domain in space.items():
        _require_possible(learner, base, fixed, name, domain)
    return space


def read(file: Path, preset: str, learner: Learner) -> Space:
    """The space in a file: Python with ``SPACES`` as in ``search_spaces/``, else YAML with a line for each setting.

    A Python file is run. Raises ConfigError for a file that cannot be read, or that holds no space.
    """
    try:
        if file.suffix == ".py":
            spaces = runpy.run_path(str(file)).get("SPACES")
            if not isinstance(spaces, Mapping) or not isinstance(spaces.get(preset), Mapping):
                raise ConfigError(f"--space {file}: it has no SPACES[{preset!r}], as the files in search_spaces/ have")
            return dict(spaces[preset])
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
        raise ConfigError(f"--space {file} cannot be read: {reason}") from None
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(f"--space {file} raised {type(error).__name__}: {error}") from None
    if not isinstance(content, Mapping) or not content:
        raise ConfigError(f"--space {file}: accepted is a line for each setting, as learning_rate: 1e-4..1e-2:log")
    return {
        str(name): parse(f"--space {file}: {name}", words, _whole(learner, str(name)))
        for name, words in content.items()
    }


def grid(space: Space) -> list[dict[str, Any]]:
    """All combinations of the choices, the last setting changing fastest. Raises ConfigError if they are too many."""
    for name, domain in space.items():
        if isinstance(domain, Domain) and not isinstance(domain, Categorical):
            raise ConfigError(f"--grid: {name} is a range; say how many of its values, as {in_words(domain)}:4")
    choices = [domain.categories if isinstance(domain, Categorical) else [domain] for domain in space.values()]
    if (count := math.prod(map(len, choices))) > MOST:
        raise ConfigError(f"--grid has {count:,} configurations: accepted are up to {MOST:,}")
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*choices)]


def words_of(space: Space) -> dict[str, str]:
    """Each setting's values in words; empty where a domain has none."""
    return {name: in_words(domain) for name, domain in space.items()}


def _whole(learner: Learner, name: str) -> bool:
    """Whether a setting is a whole number."""
    return type(learner.config_class.from_dict({}).to_dict().get(name)) is int


def _assignment(text: str) -> tuple[str, str]:
    name, equals, words = text.partition("=")
    if not equals or not name or not words:
        raise ConfigError(
            f"--sweep {text!r}: accepted is NAME=VALUES, as gamma=0.98,0.99 or learning_rate=1e-4..1e-2:log"
        )
    return name, words


def _require_possible(learner: Learner, base: Config, fixed: Mapping[str, Any], name: str, domain: Any) -> None:
    """Raise ConfigError for what is no setting, is fixed, counts for nothing, or has impossible values."""
    known = learner.config_class.from_dict({}).to_dict()
    if name not in known:
        raise ConfigError(unknown("setting", name, known))
    if name in fixed:
        raise ConfigError(f"{name} is fixed to {fixed[name]}, and swept: give it once")
    if name == "seed":
        raise ConfigError("seed is not swept: --seeds N gives each configuration N of them")
    require_used(base, [name])
    for value in _examples(domain):
        learner.config_class.from_dict(base.to_dict() | {name: value})


def _examples(domain: Any) -> Iterator[Any]:
    """Each choice, or both ends of a range."""
    if isinstance(domain, Categorical):
        yield from domain.categories
    elif isinstance(domain, Float | Integer):
        yield from (domain.lower, domain.upper - isinstance(domain, Integer))
    elif not isinstance(domain, Domain):
        yield domain
