"""The search space of a sweep: the one around a preset, or the user's own, from flags or a file.

What a setting may be stands in words, such as ``1e-4..1e-2:log``, ``64..512`` or ``0.98,0.99,0.995``. They are the same
after ``--sweep NAME=``, in a file of ``--space``, in the plan and in the record. What cannot be is refused with a
ConfigError of one line. Each choice and both ends of each range are checked here, and each configuration once it is
drawn.
"""

import itertools
import json
import math
import re
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.ask.notations import setting
from experiments.plan.learners import Learner, read_page
from experiments.plan.resources import ClusterResources
from trainables.checks import ConfigError, check_settings, ignored, unknown

ACCEPTED = "accepted are choices, as 0.98,0.99, and ranges, as 1e-4..1e-2:log, 64..512 or 0.9..0.99:4 (4 values)"


@dataclass(frozen=True)
class Choices:
    """Values to choose from, each as probable as the others."""

    values: list[Any]

    def at(self, u: float) -> Any:
        """The inverse distribution function, for u in [0, 1)."""
        return self.values[int(u * len(self.values))]

    @property
    def extremes(self) -> list[Any]:
        """The values that have to be possible so that each draw by itself is; one alone if all draws are the same."""
        return self.values

    def __str__(self) -> str:
        return ",".join(map(_word, self.values))


@dataclass(frozen=True)
class Range:
    """The numbers between two ends, all equally probable, or (``log``) so that their logarithms are.

    Of ``whole`` numbers both ends can be drawn.
    """

    low: float
    high: float
    log: bool
    whole: bool

    def at(self, u: float) -> float:
        """The inverse distribution function, for u in [0, 1)."""
        end = self.high + self.whole
        if self.log:
            number = self.low * (end / self.low) ** u
        else:
            number = self.low + (end - self.low) * u
        return int(number) if self.whole else float(number)

    @property
    def extremes(self) -> list[Any]:
        """Both ends, or the only number."""
        return [self.low, self.high] if self.low < self.high else [self.low]

    def __str__(self) -> str:
        return f"{_word(self.low)}..{_word(self.high)}{':log' if self.log else ''}"


Domain = Choices | Range


def parse(name: str, words: Any, kind: Any) -> Domain:
    """The domain that words stand for: a text, a value, a list of choices, or one of Tune's domains.

    ``kind`` is the type of the setting called ``name``. A range with a count becomes so many choices, evenly spread
    from end to end. Raises ConfigError if the words stand for none.
    """
    if hasattr(words, "get_sampler"):
        words = _of_tune(name, words)
    if isinstance(words, Range):
        return words
    if isinstance(words, str) and ".." in words and not _is_text(kind):
        return _range(name, words, kind is int)
    values = words
    if isinstance(words, str):
        values = words.split(",")
    elif not isinstance(words, list):
        values = [words]
    choices = Choices([value(name, each, kind) for each in values])
    _require_choices(name, choices, kind)
    return choices


def _require_choices(name: str, choices: Choices, kind: Any) -> None:
    """Raise ConfigError for no choice, an empty one, one that is there twice, or a range as others write it."""
    if not choices.values or "" in choices.values:
        raise ConfigError(f"{name}={choices}: a choice is empty; {ACCEPTED}")
    for each in choices.values:
        if choices.values.count(each) > 1:
            raise ConfigError(f"{name}={choices}: {each} stands there more than once")
        ends = DASHED.fullmatch(each) if isinstance(each, str) and not _is_text(kind) else None
        if ends:
            raise ConfigError(f"{name}={each}: did you mean {ends[1]}..{ends[2]}? {ACCEPTED}")


DASHED = re.compile(r"(\d[\d.e]*(?:e-\d+)?) *(?:-|\N{EN DASH}|:|to) *(\d[\d.e]*(?:e-\d+)?)")
"""Two numbers with a dash, a colon or a word between them, as others write ranges."""


def value(name: str, word: Any, kind: Any) -> Any:
    """One value of a setting of this type: a text in JSON's notation, or as it stands where texts are expected.

    A tuple becomes ``"64-64"``, as in records. Raises ConfigError for what is neither number, text nor tuple.
    """
    if isinstance(word, tuple | list):
        word = "-".join(map(str, word))
    if isinstance(word, np.generic):
        word = word.item()
    if isinstance(word, str) and (kind is bool or not _is_text(kind)):
        word = setting(name, word)
    if not isinstance(word, str | int | float):
        raise ConfigError(f"{name}={word}: {ACCEPTED}")
    if kind is int and isinstance(word, float) and word.is_integer():
        return int(word)
    return word.strip() if isinstance(word, str) else word


def _of_tune(name: str, domain: Any) -> list[Any] | Range:
    """One of Tune's domains as a list of choices or a Range. Raises ConfigError if it is neither."""
    from ray.tune.search import sample  # which whoever made the domain has imported

    if isinstance(domain, sample.Categorical):
        return domain.categories
    sampler, whole = domain.get_sampler(), isinstance(domain, sample.Integer)
    if isinstance(sampler, sample.Quantized) and whole and not isinstance(sampler.sampler, sample.LogUniform):
        step = int(sampler.q)
        first = -(-domain.lower // step) * step
        return [*range(first, int(domain.upper) + 1, step)]
    if not isinstance(sampler, sample.LogUniform | sample.Uniform):
        raise ConfigError(
            f"{name}: this domain of Ray Tune has no words here; accepted are tune.choice, uniform, loguniform,"
            " randint, lograndint and qrandint, and a tune.Tuner of your own takes all of them (docs/library.md)"
        )
    return Range(domain.lower, domain.upper - whole, isinstance(sampler, sample.LogUniform), whole)


def _range(name: str, text: str, whole: bool) -> Choices | Range:
    """What ``1e-4..1e-2:log`` or ``0.9..0.99:4`` stands for."""
    low, high, log, count = _parts(name, text)
    if not low < high:
        meant = _turned(text, low, high) if high < low else ""
        raise ConfigError(f"{name}={text}: a range goes from the smaller to the larger number{meant}")
    if log and low <= 0:
        raise ConfigError(f"{name}={text}: a logarithmic range begins above 0")
    if whole:
        if (low, high) != (int(low), int(high)):
            raise ConfigError(f"{name}={text}: a range of whole numbers has whole ends")
        low, high = int(low), int(high)
    if not count:
        return Range(low, high, log, whole)
    spread = np.geomspace if log else np.linspace
    values: list[float] = [low]
    for number in spread(low, high, count).tolist()[1:-1]:
        values.append(round(number) if whole else float(f"{number:.6g}"))
    choices = Choices([*values, high])
    _require_choices(name, choices, int if whole else float)
    return choices


def _parts(name: str, text: str) -> tuple[float, float, bool, int]:
    """A range's ends, whether it is logarithmic, and how many of its values are meant; 0 for all."""
    ends, *options = text.split(":")
    low, high = (value(name, end, float) for end in ends.split("..", 1))
    log, count, understood = False, 0, True
    for option in options:
        if option == "log" and not log:
            log = True
        elif re.fullmatch(r"[2-9]|[1-9]\d{1,3}", option) and not count:
            count = int(option)
        else:
            understood = False
    finite = all(type(end) in (int, float) and math.isfinite(end) for end in (low, high))
    if not (understood and finite):
        raise ConfigError(f"{name}={text} is no range of finite numbers: {ACCEPTED}")
    return low, high, log, count


def _turned(text: str, low: float, high: float) -> str:
    """A question whether a range with its ends the other way round is meant."""
    _, *options = text.split(":")
    return f"; did you mean {':'.join([f'{_word(high)}..{_word(low)}', *options])}?"


def _is_text(kind: Any) -> bool:
    """Whether a setting's values are words, true or false, or tuples, of which there is no range."""
    return kind in (str, bool) or typing.get_origin(kind) in (tuple, typing.Literal)


def _word(choice: Any) -> str:
    """A choice as ``--sweep`` has it."""
    return choice if isinstance(choice, str) else json.dumps(choice)


MOST = 1000
"""The most configurations of a grid."""


class Space(NamedTuple):
    """What a sweep's configurations are drawn from."""

    settings: dict[str, Any]  # the same in all of them
    domains: dict[str, Domain]  # of each setting that is swept
    notes: list[str]  # what was left out
    own: bool = False  # whether flags or a file give it: then each of its settings has to mean something
    preset: dict[str, Any] | None = None  # those of the settings that are a preset in the user's file

    @property
    def words(self) -> dict[str, str]:
        """The domain of each setting that is swept, in words."""
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

    Left out are settings that are ``fixed``, of the space around a preset those that mean nothing there, and numbers of
    workers that the machine has no room for. Without ``resources`` these stay: a grid has to be the same on any
    machine.
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
    """The domain of each of a page's settings that is not ``fixed``."""
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
    """Leave out of ``domains`` the numbers of workers for which there is no room; return a note if it left any out.

    Raises ConfigError if no choice has room.
    """
    parallel = domains.get("num_workers")
    if not isinstance(parallel, Choices):
        return []
    cpus = settings.get("cpus_per_worker", learner.config_class().cpus_per_worker)
    check_settings(learner.config_class, {"cpus_per_worker": cpus})
    most = resources.workers(cpus)
    fitting = [choice for choice in parallel.values if choice <= most]
    cut = ", ".join(str(choice) for choice in parallel.values if choice > most)  # those that are left out
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
    """All combinations of the choices; the last setting changes fastest. Raises ConfigError for a range."""
    choices = []
    for name, domain in domains.items():
        if not isinstance(domain, Choices):
            raise ConfigError(f"--grid: {name} is a range; say how many of its values, as {name}={domain}:4")
        choices.append(domain.values)
    count = math.prod(map(len, choices))
    if count > MOST:
        raise ConfigError(f"--grid has {count:,} configurations: accepted are up to {MOST:,}")
    return [dict(zip(domains, values, strict=True)) for values in itertools.product(*choices)]


def kind_of(learner: Learner, name: Any) -> Any:
    """A setting's type. Raises ConfigError if the learner has no setting of this name."""
    known = learner.config_class().to_dict()
    if name not in known:
        raise ConfigError(unknown("setting", str(name), known))
    return typing.get_type_hints(learner.config_class)[name]


def _domain(learner: Learner, name: str, words: Any) -> Domain:
    """The domain that words give a setting. Raises ConfigError for the seed, and for a value out of bounds."""
    if name == "seed":
        raise ConfigError("seed is not swept: --seeds N gives each configuration N of them")
    domain = parse(name, words, kind_of(learner, name))
    for each in domain.extremes:
        check_settings(learner.config_class, {name: each})
    return domain
