"""How the values of a setting are laid out along an axis: a range, a logarithmic one, or choices in their order."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from experiments.ask.words import short


def is_range(values: Sequence[Any]) -> bool:
    """Whether these numbers, one a trial, were drawn from a range, so that hardly any comes twice."""
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return numeric and len(set(values)) > len(values) / 2 and math.isfinite(max(values) - min(values))


def is_logarithmic(values: Sequence[float]) -> bool:
    """Whether a range's numbers are far enough apart for a logarithmic scale."""
    return min(values) > 0 and 4 < max(values) / min(values) < math.inf


def in_order(choices: Iterable[Any]) -> list[Any]:
    """Each choice once; numbers and texts of numbers by size, ``64-64`` before ``128-128``, other texts after them."""
    return sorted(set(choices), key=_by_size)


def _by_size(choice: Any) -> tuple[int, list[Any]]:
    parts = str(choice).split("-") if isinstance(choice, str) else [choice]
    try:
        return (0, [float(part) for part in parts])
    except (TypeError, ValueError):
        return (1, [str(part) for part in parts])


def short_tick(value: float, _: float) -> str:
    """A tick of a logarithmic scale, labelled at 1, 2 and 5 only."""
    mantissa = f"{value:e}"[0]
    return short(value) if mantissa in "125" else ""
