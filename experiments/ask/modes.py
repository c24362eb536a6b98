"""In which modes each flag counts: what would be ignored is refused.

A flag's type says it, by a ``Counts``; one without counts wherever flags say how a new experiment runs.
"""

import dataclasses
import typing
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.ask.storage import is_uri
from trainables.checks import ConfigError

NEW, SMOKE_TEST, FORK, CONFIRM, RESUME, EXTEND = "new", "smoke_test", "fork", "confirm", "resume", "extend"
"""Modes. All but the first have the name of the flag that asks for them."""

CHOSEN = (NEW, SMOKE_TEST, FORK)
"""Modes in which flags say how a new experiment runs."""

STARTS = (*CHOSEN, CONFIRM)
"""Modes in which a new experiment starts."""

ALWAYS = (*STARTS, RESUME, EXTEND)

WHERE = {
    NEW: "in a new experiment",
    SMOKE_TEST: "with --smoke-test: what it runs is fixed",
    FORK: "with --fork: it starts with its origin's trials, settings and seeds, of which flags of settings change some",
    CONFIRM: "with --confirm: it runs the best of an ended sweep with that sweep's settings and budget, and has a name"
    " of its own for --resume and --extend; --best and --seeds say how many",
    RESUME: "with --resume: an experiment keeps its settings; --fork starts one with others, --extend goes further",
    EXTEND: "with --extend: an experiment keeps its settings and seeds; --fork starts one with other settings, and more"
    " seeds are a new run with --seed and --seeds: `python experiments/results.py compare A,B` takes both as one",
}
"""Each mode in words, and why other flags do not count in it."""


@dataclass(frozen=True)
class Counts:
    """Where a flag counts."""

    modes: tuple[str, ...] = CHOSEN
    beside: str | None = None  # the flag without which it means nothing
    repeatable: bool = False


def require_counted(flags: Sequence[Any], words: Sequence[str]) -> None:
    """Raise ConfigError for a flag of a command line that is empty, stands there twice, or would be ignored.

    ``flags`` are the dataclasses that were read from the command line's ``words``.
    """
    given: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    for each in flags:
        given |= {field.name: getattr(each, field.name) for field in dataclasses.fields(each)}
        hints |= typing.get_type_hints(type(each), include_extras=True)
    for name, times in typed(words, given).items():
        _require_counted(name, times, _rule(hints[name]), given)


def _rule(hint: Any) -> Counts:
    """Where a flag of this type counts."""
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, Counts):
            return extra
    return Counts()


def _mode(given: Mapping[str, Any]) -> str:
    """The mode that flags ask for."""
    for mode in (CONFIRM, RESUME, EXTEND, FORK, SMOKE_TEST):
        if given.get(mode) not in (None, False):
            return mode
    return NEW


def _require_counted(name: str, times: int, rule: Counts, given: Mapping[str, Any]) -> None:
    """Raise ConfigError unless a flag that stands in a command line so many times counts beside all that is given."""
    flag, mode = "--" + name.replace("_", "-"), _mode(given)
    if mode not in rule.modes:
        raise ConfigError(f"{flag} does not count {WHERE[mode]}")
    if given[name] == "":
        raise ConfigError(f"{flag} is empty")
    if times > 1 and not rule.repeatable:
        raise ConfigError(f"{flag} stands there {times} times: once is accepted")
    if rule.beside and not given[rule.beside]:
        raise ConfigError(f"{flag} means nothing without --{rule.beside.replace('_', '-')}")
    where = str(given.get(mode))
    if name == "storage_path" and mode in (CONFIRM, RESUME, EXTEND) and (is_uri(where) or where.startswith("/")):
        raise ConfigError(f"{flag} does not count with --{mode} {where}, which says where it lies")


def typed(words: Sequence[str], known: Collection[str]) -> Counter[str]:
    """How often each of the flags ``known``, as fields are written, stands in a command line: ``--no-x`` is ``x``."""
    names = [word[2:].partition("=")[0].replace("-", "_") for word in words if word.startswith("--")]
    names = [name if name in known else name.removeprefix("no_") for name in names]
    return Counter(name for name in names if name in known)
