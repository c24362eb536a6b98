"""Tables of docs/reference.md, made of the code: settings with defaults, bounds and meanings, and public signatures."""

import dataclasses
import importlib
import inspect
import typing
from typing import Any

from learning_tables import table

from experiments.ask.command_line import lines_of_help
from trainables.checks import Only, accepted, without_bounds
from trainables.config import Config, PGConfig, TRPOConfig

PUBLIC = {
    "trainables": ("load_policy", "TrainedPolicy.make_env", "TrainedPolicy.reset", "TrainedPolicy.act"),
    "experiments.read": ("experiment",),
    "experiments.analysis.frame": ("Frames.trials", "Frames.rows", "Frames.windows"),
    "experiments.analysis.statistics": ("difference", "probability_of_improvement", "mean_interval"),
}
"""Functions and methods of the table of signatures, by module. `experiment` returns `Frames`."""


def settings_of_both() -> str:
    """The settings that both learners have, with the default of each."""
    rows = []
    for field in dataclasses.fields(Config):
        default, other = _default(PGConfig, field.name), _default(TRPOConfig, field.name)
        if default != other:
            default += f"; {other}"
        meaning, of_trpo = lines_of_help(Config)[field.name], lines_of_help(TRPOConfig)[field.name]
        if of_trpo != meaning:
            meaning += f" With `trpo`: {of_trpo}"
        rows.append([f"`{field.name}`", default, _accepted(Config, field.name), meaning])
    return table(["setting", "default (`pg`; `trpo`)", "accepted", "what"], rows)


def settings_of_pg() -> str:
    """The settings that the learner of pixels alone has."""
    return _own_settings(PGConfig)


def settings_of_trpo() -> str:
    """The settings that TRPO alone has."""
    return _own_settings(TRPOConfig)


def _own_settings(kind: type) -> str:
    """The settings of a learner that the other one has not."""
    shared = {field.name for field in dataclasses.fields(Config)}
    rows = []
    for field in dataclasses.fields(kind):
        name = field.name
        if name not in shared:
            rows.append([f"`{name}`", _default(kind, name), _accepted(kind, name), lines_of_help(kind)[name]])
    return table(["setting", "default", "accepted", "what"], rows)


def _default(kind: type, name: str) -> str:
    """A setting's default as it is typed."""
    value = kind().to_dict()[name]
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _accepted(kind: type, name: str) -> str:
    """What a setting may be, by its type and bounds, and where it means something."""
    hint = typing.get_type_hints(kind, include_extras=True)[name]
    plain, bounds = without_bounds(hint)
    if typing.get_origin(plain) is typing.Literal:
        words = ", ".join(map(str, typing.get_args(plain)))
    elif typing.get_origin(plain) is tuple:
        words = f"one or more, as 64-64, each {accepted(typing.get_args(plain)[0], bounds)}"
    else:
        words = accepted(plain, bounds)
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, Only):
            words += f"; with {extra}".replace("a number ", "")
    return words


def signatures() -> str:
    """Public functions and methods, with their parameters and the first sentence of their docstrings."""
    rows = []
    for module, names in PUBLIC.items():
        for name in names:
            found = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
            rows.append([f"`{name}{_parameters(found)}`", f"`{module}`", _first_sentence(found)])
    return table(["call", "is in", "what"], rows)


def _parameters(function: Any) -> str:
    """A function's parameters as they are typed, without types and ``self``."""
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name != "self":
            parameters.append(parameter.replace(annotation=inspect.Parameter.empty))
    return str(inspect.Signature(parameters))


def _first_sentence(function: Any) -> str:
    """The first sentence of a docstring, in one line."""
    words = " ".join(inspect.getdoc(function).split())
    return words.partition(". ")[0].rstrip(".").replace("``", "`")
