"""What a setting may be, in words: ``1e-4..1e-2:log``, ``64..512``, ``0.98,0.99,0.995``.

The same words stand after ``--sweep NAME=``, in a YAML file of ``--space``, in the plan and in the record.
"""

import json
import math
import re
import typing
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainables.checks import ConfigError

ACCEPTED = "accepted are choices, as 0.98,0.99, and ranges, as 1e-4..1e-2:log, 64..512 or 0.9..0.99:4 (4 values)"


@dataclass(frozen=True)
class Choices:
    """Values to choose from, each as probable as the others."""

    values: list[Any]

    def at(self, u: float) -> Any:
        """The inverse distribution function, for u in [0, 1)."""
        return self.values[int(u * len(self.values))]


@dataclass(frozen=True)
class Range:
    """The numbers between two ends, evenly, or so that their logarithms are even. Of whole ones both ends belong."""

    low: float
    high: float
    log: bool
    whole: bool

    def at(self, u: float) -> float:
        """The inverse distribution function, for u in [0, 1)."""
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


def parse(name: str, words: Any, kind: Any) -> Any:
    """The Choices or the Range that words stand for: a text, a list of choices, or one of Tune's domains.

    One that is neither, such as ``tune.quniform``, stays what it is: draws are its own. ``kind`` is the setting's type.
    A range of whole numbers has both its ends; a range with a count becomes so many choices, evenly spread from end to
    end. ``name`` is how complaints call it. Raises ConfigError if the words stand for none.
    """
    if hasattr(words, "get_sampler"):
        words = _of_tune(words)
        if not isinstance(words, list):
            return words
    if isinstance(words, str) and ".." in words and not _is_text(kind):
        return _range(name, words, kind is int)
    choices = words.split(",") if isinstance(words, str) else words if isinstance(words, list) else [words]
    choices = [value(name, choice, kind) for choice in choices]
    shown = words if isinstance(words, str) else ",".join(map(str, choices))
    if not choices or "" in choices:
        raise ConfigError(f"{name}={shown}: a choice is empty; {ACCEPTED}")
    if again := [choice for choice in choices if choices.count(choice) > 1]:
        raise ConfigError(f"{name}={shown}: {again[0]} stands there more than once")
    return Choices(choices)


def value(name: str, word: Any, kind: Any) -> Any:
    """One value of a setting of this type: a text in JSON's notation, or as it stands where texts are expected.

    A tuple becomes ``"64-64"``, as in records. Raises ConfigError for what is neither number, text nor tuple of these.
    """
    if isinstance(word, np.generic):
        word = word.item()
    if isinstance(word, tuple | list) and word and all(isinstance(part, int | float | str) for part in word):
        return "-".join(map(str, word))
    if not isinstance(word, str | int | float):
        raise ConfigError(f"{name}={word}: {ACCEPTED}")
    if not isinstance(word, str):
        return word
    word = word.strip()
    if _is_text(kind) and kind is not bool:
        return word
    try:
        found = json.loads(word)
    except (ValueError, RecursionError):
        return word
    return found if isinstance(found, str | int | float) else word


def in_words(domain: Any) -> str:
    """A domain in words; empty for one that has none, such as ``tune.quniform``."""
    if isinstance(domain, Choices):
        return ",".join(map(_word, domain.values))
    return f"{_word(domain.low)}..{_word(domain.high)}{':log' * domain.log}" if isinstance(domain, Range) else ""


def varies(domain: Any) -> bool:
    """Whether trials can differ in a setting of this domain."""
    if isinstance(domain, Choices):
        return len(domain.values) > 1
    ends = ends_of(domain)
    return not ends or ends[0] < ends[1]


def ends_of(domain: Any) -> list[Any]:
    """The smallest and the largest number of a range; empty for what is none."""
    if isinstance(domain, Range):
        return [domain.low, domain.high]
    ends = [getattr(domain, end, None) for end in ("lower", "upper")]  # as Tune's have them
    return ends if all(end is not None and math.isfinite(end) for end in ends) else []


def _of_tune(domain: Any) -> Any:
    """One of Tune's domains as a list of choices or a Range; itself if it is neither."""
    from ray.tune.search import sample  # which whoever made the domain has imported

    if isinstance(domain, sample.Categorical):
        return domain.categories
    sampler, whole = domain.get_sampler(), isinstance(domain, sample.Integer)
    if not isinstance(sampler, sample.LogUniform | sample.Uniform) or not ends_of(domain):
        return domain
    return Range(domain.lower, domain.upper - whole, isinstance(sampler, sample.LogUniform), whole)


def _range(name: str, text: str, whole: bool) -> Choices | Range:
    ends, *options = text.split(":")
    counts = [int(option) for option in options if re.fullmatch(r"[1-9]\d{0,3}", option)]
    low, high = (value(name, end, float) for end in ends.split("..", 1))
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high))
    if not numbers or {*options} - {"log", *map(str, counts)} or len({*options}) < len(options):
        raise ConfigError(f"{name}={text} is no range: {ACCEPTED}")
    log = "log" in options
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ConfigError(f"{name}={text}: both ends of a range are finite numbers")
    if not low < high:
        meant = f"; did you mean {':'.join([f'{_word(high)}..{_word(low)}', *options])}?" if high < low else ""
        raise ConfigError(f"{name}={text}: a range goes from the smaller to the larger number{meant}")
    if log and low <= 0:
        raise ConfigError(f"{name}={text}: a logarithmic range begins above 0")
    if whole and (low != int(low) or high != int(high)):
        raise ConfigError(f"{name}={text}: a range of whole numbers has whole ends")
    if len(counts) > 1 or counts == [1]:
        raise ConfigError(f"{name}={text}: a range has one count, of 2 values or more")
    if counts:
        between = (np.geomspace if log else np.linspace)(low, high, counts[0]).tolist()[1:-1]
        spread = [low, *(float(f"{number:.6g}") for number in between), high]
        return parse(name, [round(number) for number in spread] if whole else spread, int if whole else float)
    return Range(int(low) if whole else low, int(high) if whole else high, log, whole)


def _is_text(kind: Any) -> bool:
    """Whether a setting's values are words, of which there is no range."""
    return kind in (str, bool) or typing.get_origin(kind) in (tuple, typing.Literal)


def _word(choice: Any) -> str:
    return choice if isinstance(choice, str) else json.dumps(choice)
