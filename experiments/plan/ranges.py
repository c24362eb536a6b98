"""What a setting may be, in words: ``1e-4..1e-2:log``, ``64..512``, ``0.98,0.99,0.995``.

The same words stand after ``--sweep NAME=``, in a YAML file of ``--space``, in the plan and in the record.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from ray.tune.search.sample import (
    Categorical,
    Domain,
    Float,
    Integer,
    LogUniform,
    Uniform,
    lograndint,
    loguniform,
    randint,
    uniform,
)

from trainables.checks import ConfigError

ACCEPTED = "accepted are choices, as 0.98,0.99, and ranges, as 1e-4..1e-2:log, 64..512 or 0.9..0.99:4 (4 values)"


def parse(name: str, text: Any, whole: bool) -> Domain:
    """The values that words stand for, or a list of choices. Raises ConfigError if they stand for none.

    ``whole`` says that the setting is a whole number; a range of these has both its ends. A range with a count becomes
    so many choices, evenly spread from end to end.
    """
    if isinstance(text, str) and ".." in text:
        return _range(name, text, whole)
    words = text.split(",") if isinstance(text, str) else text if isinstance(text, list | tuple) else [text]
    choices = [_value(word) if isinstance(word, str) else word for word in words]
    if not choices or "" in choices:
        raise ConfigError(f"{name}={_shown(text)}: a choice is empty; {ACCEPTED}")
    return _choices(name, text, choices)


def in_words(domain: Any) -> str:
    """A domain in words; empty for one that has none, such as ``tune.quniform``."""
    if isinstance(domain, Categorical):
        return ",".join(_word(value) for value in domain.categories)
    sampler = domain.get_sampler() if isinstance(domain, Float | Integer) else None
    if not isinstance(sampler, LogUniform | Uniform):
        return "" if isinstance(domain, Domain) else _word(domain)
    last = domain.upper - isinstance(domain, Integer)
    return f"{_word(domain.lower)}..{_word(last)}" + ":log" * isinstance(sampler, LogUniform)


def _range(name: str, text: str, whole: bool) -> Domain:
    ends, *options = text.split(":")
    counts = [int(option) for option in options if re.fullmatch(r"[1-9]\d{0,3}", option)]
    low, high = map(_value, ends.split("..", 1))
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high))
    if not numbers or {*options} - {"log", *map(str, counts)} or len({*options}) < len(options):
        raise ConfigError(f"{name}={text} is no range: {ACCEPTED}")
    log = "log" in options
    if not low < high or not np.isfinite([low, high]).all():
        raise ConfigError(f"{name}={text}: a range goes from the smaller to the larger number")
    if log and low <= 0:
        raise ConfigError(f"{name}={text}: a logarithmic range begins above 0")
    if whole and (low != int(low) or high != int(high)):
        raise ConfigError(f"{name}={text}: a range of whole numbers has whole ends")
    if len(counts) > 1 or counts == [1]:
        raise ConfigError(f"{name}={text}: a range has one count, of 2 values or more")
    if counts:
        spread = np.geomspace if log else np.linspace
        found = [round(x) if whole else float(f"{x:.6g}") for x in spread(low, high, counts[0]).tolist()]
        return _choices(name, text, found)
    if whole:
        return (lograndint if log else randint)(int(low), int(high) + 1)
    return (loguniform if log else uniform)(low, high)


def _choices(name: str, text: Any, choices: Sequence[Any]) -> Domain:
    if again := [choice for choice in choices if choices.count(choice) > 1]:
        raise ConfigError(f"{name}={_shown(text)}: {again[0]} stands there more than once")
    return Categorical(choices)


def _value(word: str) -> Any:
    """A word in JSON's notation, or else plain text."""
    try:
        return json.loads(word)
    except ValueError:
        return word.strip()


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _shown(text: Any) -> str:
    return text if isinstance(text, str) else json.dumps(text)
