"""What a setting may be, in words: ``1e-4..1e-2:log``, ``64..512``, ``0.98,0.99,0.995``.

The same words stand after ``--sweep NAME=``, in a YAML file of ``--space``, in the plan and in the record.
"""

import contextlib
import json
import math
import re
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainables.checks import ConfigError

ACCEPTED = "accepted are choices, as 0.98,0.99, and ranges, as 1e-4..1e-2:log, 64..512 or 0.9..0.99:4 (4 values)"


@dataclass(frozen=True)
class Choices:
    """Values to choose from, each as probable as the others."""

    values: list[Any]

    def at(self, u: float, rng: np.random.Generator) -> Any:
        """The inverse distribution function, for u in [0, 1); what has none is drawn by ``rng``."""
        return self.values[int(u * len(self.values))]

    @property
    def extremes(self) -> list[Any]:
        """What has to be possible for all draws to be; of one value alone trials cannot differ."""
        return self.values

    def __str__(self) -> str:
        return ",".join(map(_word, self.values))


@dataclass(frozen=True)
class Range:
    """The numbers between two ends, evenly, or so that their logarithms are even. Of whole ones both ends belong."""

    low: float
    high: float
    log: bool
    whole: bool

    def at(self, u: float, rng: np.random.Generator) -> float:
        end = self.high + self.whole
        number = self.low * (end / self.low) ** u if self.log else self.low + (end - self.low) * u
        return int(number) if self.whole else float(number)

    def drawn(self, rng: np.random.RandomState) -> float:
        """A number as Tune would draw it."""
        end = self.high + self.whole
        if self.whole and not self.log:
            return int(rng.randint(int(self.low), int(end)))
        number = np.exp(rng.uniform(np.log(self.low), np.log(end))) if self.log else rng.uniform(self.low, end)
        return int(number) if self.whole else float(number)

    @property
    def extremes(self) -> list[Any]:
        return [self.low, self.high] if self.low < self.high else [self.low]

    def __str__(self) -> str:
        return f"{_word(self.low)}..{_word(self.high)}{':log' if self.log else ''}"


@dataclass(frozen=True)
class OfTune:
    """One of Tune's domains that has no words, such as ``tune.quniform``: what is drawn is its own affair."""

    domain: Any

    def at(self, u: float, rng: np.random.Generator) -> Any:
        return self.domain.sample(random_state=np.random.RandomState(rng.integers(2**31)))  # what Tune's domains take

    @property
    def extremes(self) -> list[Any]:
        return []

    def __str__(self) -> str:
        return ""


Domain = Choices | Range | OfTune


def parse(name: str, words: Any, kind: Any) -> Domain:
    """What words stand for: a text, a value, a list of choices, or one of Tune's domains.

    ``kind`` is the setting's type. A range of whole numbers has both its ends; a range with a count becomes so many
    choices, evenly spread from end to end. Raises ConfigError, which calls it ``name``, if they stand for none.
    """
    if hasattr(words, "get_sampler"):
        words = _of_tune(words)
    if isinstance(words, Range | OfTune):
        return words
    if isinstance(words, str) and ".." in words and not _is_text(kind):
        return _range(name, words, kind is int)
    values = words.split(",") if isinstance(words, str) else words if isinstance(words, list) else [words]
    choices = Choices([value(name, each, kind) for each in values])
    _require_no_dash(name, choices.values, kind)
    if not choices.values or "" in choices.values:
        raise ConfigError(f"{name}={choices}: a choice is empty; {ACCEPTED}")
    if again := [each for each in choices.values if choices.values.count(each) > 1]:
        raise ConfigError(f"{name}={choices}: {again[0]} stands there more than once")
    return choices


def _require_no_dash(name: str, values: Sequence[Any], kind: Any) -> None:
    """Raise ConfigError for two numbers with a dash between them where a setting is one number."""
    for each in values:
        ends = None if _is_text(kind) else re.fullmatch(r"(\d[\d.e]*(?:e-\d+)?) *- *(\d[\d.e]*(?:e-\d+)?)", str(each))
        if ends:
            raise ConfigError(f"{name}={each}: did you mean {ends[1]}..{ends[2]}? {ACCEPTED}")


def value(name: str, word: Any, kind: Any) -> Any:
    """One value of a setting of this type: a text in JSON's notation, or as it stands where texts are expected.

    A tuple becomes ``"64-64"``, as in records. Raises ConfigError for what is neither number, text nor tuple.
    """
    if isinstance(word, tuple | list):
        word = "-".join(map(str, word))
    if isinstance(word, np.generic):
        word = word.item()
    if isinstance(word, str) and (kind is bool or not _is_text(kind)):
        with contextlib.suppress(ValueError, RecursionError):
            word = json.loads(word)
    if not isinstance(word, str | int | float):
        raise ConfigError(f"{name}={word}: {ACCEPTED}")
    if kind is int and isinstance(word, float) and word.is_integer():
        return int(word)
    return word.strip() if isinstance(word, str) else word


def _of_tune(domain: Any) -> list[Any] | Range | OfTune:
    """One of Tune's domains as a list of choices or a Range, if it is either."""
    from ray.tune.search import sample  # which whoever made the domain has imported

    if isinstance(domain, sample.Categorical):
        return domain.categories
    sampler, whole = domain.get_sampler(), isinstance(domain, sample.Integer)
    if not isinstance(sampler, sample.LogUniform | sample.Uniform):
        return OfTune(domain)
    return Range(domain.lower, domain.upper - whole, isinstance(sampler, sample.LogUniform), whole)


def _range(name: str, text: str, whole: bool) -> Choices | Range:
    ends, *options = text.split(":")
    counts, log = [int(each) for each in options if re.fullmatch(r"[2-9]|[1-9]\d{1,3}", each)], "log" in options
    low, high = (value(name, end, float) for end in ends.split("..", 1))
    numbers = all(type(end) in (int, float) and math.isfinite(end) for end in (low, high))
    if not numbers or len(counts) > 1 or len(options) > len(counts) + log:
        raise ConfigError(f"{name}={text} is no range of finite numbers: {ACCEPTED}")
    if not low < high:
        meant = f"; did you mean {':'.join([f'{_word(high)}..{_word(low)}', *options])}?" if high < low else ""
        raise ConfigError(f"{name}={text}: a range goes from the smaller to the larger number{meant}")
    if log and low <= 0:
        raise ConfigError(f"{name}={text}: a logarithmic range begins above 0")
    if whole:
        if (low, high) != (int(low), int(high)):
            raise ConfigError(f"{name}={text}: a range of whole numbers has whole ends")
        low, high = int(low), int(high)
    if not counts:
        return Range(low, high, log, whole)
    between = (np.geomspace if log else np.linspace)(low, high, counts[0]).tolist()[1:-1]
    spread = [low, *(round(number) if whole else float(f"{number:.6g}") for number in between), high]
    return typing.cast(Choices, parse(name, spread, int if whole else float))


def _is_text(kind: Any) -> bool:
    """Whether a setting's values are words, of which there is no range."""
    return kind in (str, bool) or typing.get_origin(kind) in (tuple, typing.Literal)


def _word(choice: Any) -> str:
    return choice if isinstance(choice, str) else json.dumps(choice)
