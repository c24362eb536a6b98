"""Modes of the programs that run experiments, and the flags that count in each: what would be ignored is refused."""

import dataclasses
import typing
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.ask.storage import is_uri
from trainables.checks import ConfigError

NEW, SMOKE_TEST, FORK, RESUME, EXTEND = "new", "smoke_test", "fork", "resume", "extend"
"""Modes. All but the first have the name of the flag that asks for them."""

STARTS = (NEW, SMOKE_TEST, FORK)
"""Modes in which a new experiment starts."""

ALWAYS = (*STARTS, RESUME, EXTEND)

WHERE = {
    NEW: "in a new experiment",
    SMOKE_TEST: "with --smoke-test: what it runs is fixed",
    FORK: "with --fork: it starts with its origin's trials, settings and seeds, of which flags of settings change some",
    RESUME: "with --resume: an experiment keeps its settings; --fork starts one with others, --extend goes further",
    EXTEND: "with --extend: an experiment keeps its settings; --fork starts one with others",
}
"""Each mode in words, and why other flags do not count in it."""


@dataclass(frozen=True)
class Counts:
    """In a flag's type: where it counts. A flag without it counts wherever an experiment starts."""

    modes: tuple[str, ...] = STARTS
    beside: str | None = None
    """The flag without which it means nothing."""

    repeatable: bool = False


def mode_of(flags: Sequence[Any]) -> str:
    """The mode that flags ask for; ``flags`` are dataclasses that were read from one command line."""
    given = vars_of(flags)
    return next((mode for mode in (RESUME, EXTEND, FORK, SMOKE_TEST) if given.get(mode) not in (None, False)), NEW)


def require_counted(flags: Sequence[Any], words: Sequence[str]) -> str:
    """The mode that flags ask for. ``words`` are the command line from which the dataclasses ``flags`` were read.

    Raises ConfigError for a flag among the words that is empty, stands there twice, or would be ignored.
    """
    mode, given, rules = mode_of(flags), vars_of(flags), _rules(flags)
    counted = typed(words, rules)
    for name, times in counted.items():
        flag, rule = "--" + name.replace("_", "-"), rules[name]
        if mode not in rule.modes:
            raise ConfigError(f"{flag} does not count {WHERE[mode]}")
        if given[name] == "":
            raise ConfigError(f"{flag} is empty")
        if times > 1 and not rule.repeatable:
            raise ConfigError(f"{flag} stands there {times} times: once is accepted")
        if rule.beside and not given[rule.beside]:
            raise ConfigError(f"{flag} means nothing without --{rule.beside.replace('_', '-')}")
    if mode in (RESUME, EXTEND) and "storage_path" in counted and is_whole(given[mode]):
        raise ConfigError(f"--storage-path does not count with --{mode} {given[mode]}, which says where it lies")
    return mode


def typed(words: Sequence[str], known: typing.Collection[str]) -> Counter[str]:
    """How often each of the flags ``known``, as fields are written, stands in a command line: ``--no-x`` is ``x``."""
    names = [word[2:].partition("=")[0].replace("-", "_") for word in words if word.startswith("--")]
    names = [name if name in known else name.removeprefix("no_") for name in names]
    return Counter(name for name in names if name in known)


def vars_of(flags: Sequence[Any]) -> dict[str, Any]:
    """The values of all fields of several dataclasses."""
    return {field.name: getattr(each, field.name) for each in flags for field in dataclasses.fields(each)}


def is_whole(name: str) -> bool:
    """Whether an experiment is named by a path or URI that does not depend on where one looks."""
    return is_uri(name) or Path(name).is_absolute()


def _rules(flags: Sequence[Any]) -> dict[str, Counts]:
    """Where each flag counts."""
    hints = [typing.get_type_hints(type(each), include_extras=True) for each in flags]
    names = [[field.name for field in dataclasses.fields(each)] for each in flags]
    extras = {name: getattr(of[name], "__metadata__", ()) for of, own in zip(hints, names, strict=True) for name in own}
    return {name: next((e for e in found if isinstance(e, Counts)), Counts()) for name, found in extras.items()}
