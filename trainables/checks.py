"""Settings checked against the type and bounds that their dataclass declares, with one line about a wrong one."""

import dataclasses
import difflib
import functools
import math
import numbers
import re
import types
import typing
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from trainables.texts import MAX_DIGITS


class ConfigError(ValueError):
    """A setting is unknown or impossible; the message is one line for the user."""


@dataclass(frozen=True)
class Bounds:
    """The numbers that a field accepts: from ``low`` to ``high``, each end included or not."""

    low: float
    high: float = math.inf
    low_included: bool = True

    def accepts(self, value: float) -> bool:
        """Whether the value lies within; NaN and infinities never do."""
        above = value >= self.low if self.low_included else value > self.low
        return math.isfinite(value) and above and value <= self.high

    def __str__(self) -> str:
        sign = ">=" if self.low_included else ">"
        if self.high == math.inf:
            return f"a number {sign} {self.low:g}"
        return f"a number in {'[' if self.low_included else '('}{self.low:g}, {self.high:g}]"


@dataclass(frozen=True)
class Only:
    """In a field's type: it means something only where another field has this value, or one within these bounds."""

    setting: str
    value: Any

    def holds(self, settings: Any) -> bool:
        """Whether the other field is as asked for."""
        other = getattr(settings, self.setting)
        return self.value.accepts(other) if isinstance(self.value, Bounds) else other == self.value

    def __str__(self) -> str:
        return f"{self.setting} {self.value}" if isinstance(self.value, Bounds) else f"{self.setting}={self.value}"


OTHERS_WORDS = {
    "batch_size": ("games_per_update", "timesteps_per_batch", "minibatch_size"),
    "train_batch_size": ("games_per_update", "timesteps_per_batch"),
    **dict.fromkeys(("n_steps", "num_steps", "rollout_fragment_length"), ("segment_length",)),
    **dict.fromkeys(("n_envs", "num_envs", "num_envs_per_env_runner"), ("slots",)),
    **dict.fromkeys(("num_env_runners", "num_rollout_workers"), ("num_workers",)),
    **dict.fromkeys(("clip_range", "clip_coef", "clip_param"), ("clip",)),
    **dict.fromkeys(("ent_coef", "entropy_coeff"), ("entropy_bonus",)),
    **dict.fromkeys(("n_epochs", "num_epochs", "update_epochs"), ("epochs",)),
    "target_kl": ("max_kl",),
    "lr": ("learning_rate",),
    "total_timesteps": ("timesteps",),
    "n_trials": ("num_samples",),
    **dict.fromkeys(("ppo", "reinforce"), ("pg",)),
    "confirm_seeds": ("seeds",),
}
"""What Stable-Baselines3, CleanRL, RLlib, Optuna and version 0.1.0 call it, and the name, or the nearest one, here."""


def unknown(kind: str, name: str, known: typing.Iterable[str]) -> str:
    """One line about a name that does not exist: what was probably meant, and what does exist.

    An empty name is none at all: then the line asks for one.
    """
    known = sorted(known)
    there = f"Known: {', '.join(known) or 'none'}"
    if not name:
        return f"which {kind}? {there}"
    folder, slash, word = name.rpartition("/")
    ours = [folder + slash + other for other in OTHERS_WORDS.get(word, ())]
    meant = [other for other in ours if other in known] or difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {' or '.join(map(repr, meant))}?" if meant else "."
    return f"unknown {kind} {name!r}{hint} {there}"


def check_fields(settings: Any) -> None:
    """Check every field of a frozen dataclass against its type and bounds, and store it in that type.

    So a NumPy scalar becomes a plain number. Raises ConfigError, naming field, value and what is accepted.
    """
    hints = _hints(settings.__class__)
    for field in dataclasses.fields(settings):
        object.__setattr__(settings, field.name, _checked(field.name, getattr(settings, field.name), hints[field.name]))


def check_settings(kind: type, settings: typing.Mapping[str, Any]) -> None:
    """Check those of these settings that ``kind``, a dataclass, has as fields. Raises as ``check_fields`` does."""
    hints = _hints(kind)
    for name in settings.keys() & hints.keys():
        _checked(name, settings[name], hints[name])


def ignored(settings: Any, name: str) -> Only | None:
    """What a field would need to count, by its ``Only``; None if it counts."""
    hint = _hints(settings.__class__).get(name)
    needs = (extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Only))
    return next((extra for extra in needs if not extra.holds(settings)), None)


def require_used(settings: Any, given: typing.Iterable[str]) -> None:
    """Raise ConfigError if one of the fields that were ``given`` would be ignored."""
    for name in given:
        if need := ignored(settings, name):
            value, other = getattr(settings, name), getattr(settings, need.setting)
            raise ConfigError(f"{name}={value} means nothing with {need.setting}={other}: it is for {need}")


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields, with their bounds; to find them takes longer than to check a value."""
    return typing.get_type_hints(kind, include_extras=True)


def _checked(name: str, value: Any, hint: Any) -> Any:
    """A value as its type and bounds have it. Raises ConfigError if they do not accept it."""
    hint, bounds = without_bounds(hint)
    if types.NoneType in typing.get_args(hint):
        if value is None:
            return None
        (hint,) = {*typing.get_args(hint)} - {types.NoneType}
        return _checked(name, value, Annotated[hint, bounds] if bounds else hint)
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # a NumPy scalar
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            raise ConfigError(f"{name}={value!r}: accepted are {', '.join(map(str, choices))}")
        return value
    if typing.get_origin(hint) is tuple and typing.get_args(hint)[0] in (int, float):
        return _checked_tuple(name, value, typing.get_args(hint)[0], bounds)
    if hint in _KINDS:
        return _checked_plain(name, value, hint, bounds)
    return value


def without_bounds(hint: Any) -> tuple[Any, Bounds | None]:
    """A type without its annotations, and the bounds among these."""
    if typing.get_origin(hint) is not Annotated:
        return hint, None
    hint, *extras = typing.get_args(hint)
    for extra in extras:
        if isinstance(extra, Bounds):
            return hint, extra
    return hint, None


def accepted(kind: type, bounds: Bounds | None) -> str:
    """What a field of a plain type accepts, in words: ``a whole number >= 1``, ``true or false``."""
    _, words = _KINDS[kind]
    return str(bounds).replace("a number", words) if bounds else words


def _checked_plain(name: str, value: Any, kind: type, bounds: Bounds | None) -> Any:
    """A number, a text, or true or false."""
    expected, _ = _KINDS[kind]
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # 1e6 is a whole number in any notation but Python's
    if not isinstance(value, expected) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f"{name}={value!r}: accepted is {accepted(kind, bounds)}")
    _require_digits(name, value)
    checked = kind(value)
    if bounds and not bounds.accepts(checked):
        raise ConfigError(f"{name}={checked!r}: accepted is {accepted(kind, bounds)}")
    if kind is float and not math.isfinite(checked):
        raise ConfigError(f"{name}={checked!r}: accepted is a finite number")
    return checked


def _require_digits(name: str, value: Any) -> None:
    """Raise ConfigError for a whole number of so many digits that no file of an experiment could hold it."""
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        raise ConfigError(f"{name}: accepted is a number of at most {MAX_DIGITS} digits")


def _checked_tuple(name: str, values: Any, kind: type, bounds: Bounds | None) -> tuple:
    """One number or a sequence of several, also as a text ``"64-64"``; each of the same kind and bounds."""
    entries = [values] if isinstance(values, numbers.Real) else values
    if isinstance(values, str):
        try:
            entries = [kind(part) for part in re.split(r"(?<=[\d.])-(?=[-\d.])", values)]
        except ValueError:
            entries = ()
    if not isinstance(entries, tuple | list) or not entries:
        each = bounds or _KINDS[kind][1]
        raise ConfigError(f"{name}={values!r}: accepted are one or more numbers, as 64-64, each {each}")
    hint = Annotated[kind, bounds] if bounds else kind
    return tuple(_checked(name, value, hint) for value in entries)


_KINDS: dict[type, tuple[type, str]] = {
    int: (numbers.Integral, "a whole number"),
    float: (numbers.Real, "a number"),
    bool: (bool, "true or false"),
    str: (str, "a text"),
}
