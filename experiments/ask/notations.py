"""Notations that a command line accepts beside tyro's own: of whole numbers, of times, of switches and of paths."""

import contextlib
import json
import os
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tyro

from trainables.checks import ConfigError

REGISTRY = tyro.constructors.ConstructorRegistry()

UNITS = {
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("m", "min", "minute"), 60.0),
    **dict.fromkeys(("h", "hr", "hour"), 3600.0),
    **dict.fromkeys(("d", "day"), 86400.0),
}
"""Seconds of each unit of time that may follow a number, also with an ``s`` behind it."""

THOUSANDS = {"k": "e3", "K": "e3", "M": "e6"}
"""The exponents that letters behind a number stand for."""


@REGISTRY.primitive_rule
def _whole(field: tyro.constructors.PrimitiveTypeInfo) -> tyro.constructors.PrimitiveConstructorSpec[Any] | None:
    """Whole numbers as ``1000000``, ``1_000_000``, ``1,000,000``, ``1e6`` or ``1M``."""
    if field.type not in (int, int | None):
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: whole(_without_commas(words[0])),
        is_instance=lambda value: value is None or (isinstance(value, int) and not isinstance(value, bool)),
        str_from_instance=lambda value: [str(value)],
    )


@REGISTRY.primitive_rule
def _numbers(field: tyro.constructors.PrimitiveTypeInfo) -> tyro.constructors.PrimitiveConstructorSpec[Any] | None:
    """Numbers of a tuple as tables have them, ``64-64``, or each a word of its own."""
    if (field.type_origin, typing.get_args(field.type)) != (tuple, (int, ...)):
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs="*",
        metavar="N-N",
        instance_from_str="-".join,  # the dataclass checks its fields, and takes such a text apart
        is_instance=lambda value: isinstance(value, tuple),
        str_from_instance=lambda value: ["-".join(map(str, value))],
    )


@REGISTRY.primitive_rule
def _one_of(field: tyro.constructors.PrimitiveTypeInfo) -> tyro.constructors.PrimitiveConstructorSpec[Any] | None:
    """One of some words, or nothing where the flag is left out: tyro's own rule lists None among the words."""
    parts = typing.get_args(field.type)
    if len(parts) != 2 or parts[1] is not type(None) or typing.get_origin(parts[0]) is not typing.Literal:
        return None
    choices = typing.get_args(parts[0])
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="|".join(choices),
        instance_from_str=lambda words: words[0],
        is_instance=lambda value: value is None or value in choices,
        str_from_instance=lambda value: [str(value)],
        choices=choices,
    )


def whole(word: str) -> int:
    """A whole number in any notation without commas, which stand between choices. Raises ValueError for another."""
    with contextlib.suppress(ValueError):
        return int(word)
    with contextlib.suppress(ValueError, OverflowError):
        digits, letter = word[:-1], word[-1:]
        number = float(digits + THOUSANDS.get(letter, letter))
        if number == int(number):
            return int(number)
    raise ValueError(f"{word} is no whole number")


def _without_commas(word: str) -> str:
    """``1000000`` for ``1,000,000``; another word as it is."""
    return word.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+", word) else word


def setting(name: str, word: str) -> Any:
    """What a word stands for as a setting's value: JSON, a number or a time in any notation, or the word itself."""
    if word in ("True", "False"):
        return word == "True"
    of_kind: Callable[[str], float] = whole
    if name.endswith(TIMES):
        of_kind = seconds
    for read in (json.loads, of_kind, float):
        with contextlib.suppress(ValueError, RecursionError):
            return read(word)
    return word


def seconds(word: str) -> float:
    """A time in seconds, in units as ``10m`` and ``1h30m``, or as ``1:30:00``. Raises ValueError for anything else."""
    with contextlib.suppress(ValueError):
        return float(word)
    if clock := re.fullmatch(r"(\d+):(\d\d):(\d\d)", word):
        hours, minutes, rest = map(int, clock.groups())
        return 3600.0 * hours + 60.0 * minutes + rest
    parts = re.findall(r"(\d+\.?\d*|\.\d+) *([a-z]+)", word)
    if not parts or "".join("".join(part) for part in parts) != word.replace(" ", ""):
        raise ValueError(f"{word} is no time: accepted are {ACCEPTED_TIMES}")
    total = 0.0
    for number, unit in parts:
        of_unit = UNITS.get(unit, UNITS.get(unit.removesuffix("s")))
        if of_unit is None:
            raise ValueError(f"{unit} is no unit of time: accepted are {ACCEPTED_TIMES}")
        total += float(number) * of_unit
    return total


ACCEPTED_TIMES = "seconds, or a number with a unit, as 90s, 10m, 1h30m or 2d, or 1:30:00"

TIMES = "_s"
"""How the names of flags and settings end whose value is a time."""


SECONDS = tyro.constructors.PrimitiveConstructorSpec[float](
    nargs=1,
    metavar="SECONDS|10m|2h",
    instance_from_str=lambda words: seconds(words[0]),
    is_instance=lambda value: isinstance(value, float),
    str_from_instance=lambda value: [f"{value:g}"],
)
"""The type of flags whose value is a time, in seconds or with units."""


TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
"""What a switch's value says, in any case of its letters."""


def truth(word: str) -> bool:
    """What a switch's value says. Raises ValueError for another word."""
    if word.lower() not in TRUTHS:
        raise ValueError(f"{word} is neither True nor False")
    return TRUTHS[word.lower()]


UNDECIDED = tyro.constructors.PrimitiveConstructorSpec[bool | None](
    nargs=1,
    metavar="True|False",
    instance_from_str=lambda words: truth(words[0]),
    is_instance=lambda value: value is None or isinstance(value, bool),
    str_from_instance=lambda value: [str(value)],
)
"""In a flag's type: it is a switch that is neither on nor off unless it is typed."""


def plain(words: Sequence[str], switches: Mapping[str, Any], named: bool = False) -> list[str]:
    """A command line in the notations that tyro takes.

    ``switches`` are the fields that are true or false, with their defaults. ``named`` says that words without a flag
    are names, as of experiments.

    ``~`` at the beginning of a path becomes the home folder, also where no shell replaces it: behind ``=`` or a comma,
    or in quotes. A switch may have a value, as in other programs: ``--verbose False``, ``--verbose=0``. One whose
    default is None always has one in tyro's notation.

    Raises ConfigError for a switch with another value.
    """
    return [without_tilde(word) for word in _without_values(words, switches, named)]


def without_tilde(word: str) -> str:
    """The word with home folders in place of ``~`` and ``~user`` at the beginning of its paths."""
    return re.sub(r"(^|[=,])(~[\w.-]*)(?=/|$)", lambda found: found[1] + os.path.expanduser(found[2]), word)


def _without_values(words: Sequence[str], switches: Mapping[str, Any], named: bool) -> Iterator[str]:
    """The words, with ``--x`` for ``--x True``, and ``--no-x`` for ``--x False``."""
    waiting = ""  # the switch before this word, whose value this word may be
    for word in words:
        if waiting:
            follows = _may_follow(word, named)
            yield _switch(waiting, truth(word) if follows else True, switches)
            waiting = ""
            if follows:
                continue
        flag, equals, text = word.partition("=")
        if _name(flag) not in switches:
            yield word
        elif not equals:
            waiting = flag
        elif text.lower() in TRUTHS:
            yield _switch(flag, truth(text), switches)
        else:
            raise ConfigError(f"{word}: accepted are True and False")
    if waiting:
        yield _switch(waiting, True, switches)


def _may_follow(word: str, named: bool) -> bool:
    """Whether a word behind a switch is its value: ``1`` or ``no`` may be an experiment's name where there are any."""
    return word.lower() in (("true", "false") if named else TRUTHS)


def _name(flag: str) -> str:
    """The field of a switch, be it ``--x`` or ``--no-x``; empty for another word."""
    return flag[2:].replace("-", "_").removeprefix("no_") if flag.startswith("--") else ""


def _switch(flag: str, said: bool, switches: Mapping[str, Any]) -> str:
    """A switch in tyro's notation. ``said`` is its value: ``--no-x`` with the value False is ``--x``."""
    on = said != flag.startswith(("--no-", "--no_"))
    name = _name(flag)
    dashed = name.replace("_", "-")
    if switches[name] is None:
        return f"--{dashed}={on}"
    return f"--{dashed}" if on else f"--no-{dashed}"
