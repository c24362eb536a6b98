"""Whether what ``experiment.json`` says has the types that the code relies on."""

import math
import types
import typing
from collections.abc import Mapping
from typing import Any

PLAIN = (str, bool, types.NoneType)


def matches(value: Any, hint: Any) -> bool:
    """Whether a value of JSON is of a type, as a dataclass declares it: plain types, lists, dicts and unions of them.

    A float may be a whole number, and is finite. Any other type matches everything.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(matches(value, choice) for choice in inner)
    if origin is typing.Literal:
        return value in inner
    if origin is list:
        return isinstance(value, list) and all(matches(item, inner[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(matches(item, inner[1]) for item in value.values())
    if typing.is_typeddict(hint):
        return isinstance(value, dict) and all(
            name in value and matches(value[name], each) for name, each in typing.get_type_hints(hint).items()
        )
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)
    if hint is int:
        return type(value) is int and value >= 0
    return type(value) is hint if hint in PLAIN else True


def wrong_entry(record: Mapping[str, Any], hints: Mapping[str, Any]) -> str | None:
    """The first entry of a record that is not of its type, in words; None if there is none."""
    for name, hint in hints.items():
        if name in record and not matches(record[name], hint):
            return f"{name}={str(record[name])[:60]!r} is no {getattr(hint, '__name__', str(hint))}"
    return None
