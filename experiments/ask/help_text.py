"""How ``--help`` shows flags: what everybody needs first, all others in groups, and texts as wide as the terminal."""

import ast
import contextlib
import dataclasses
import functools
import inspect
import io
import itertools
import os
import re
import shutil
import sys
import textwrap
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import tyro

FIRST = (
    *("iterations", "timesteps", "time_budget_s", "num_samples", "preset", "sweep", "set", "seeds", "num_workers"),
    *("name", "resume", "smoke_test", "dry_run"),
)
"""What stands before all groups, of programs that have groups."""

GROUPS = {
    "network": ("hidden_size", "hidden_sizes", "coarse_coding"),
    "experience": (
        *("env_id", "slots", "segment_length", "updates_per_iteration", "games_per_update", "timesteps_per_batch"),
        *("min_games", "block_size"),
    ),
    "speed": ("cpus_per_worker", "placement", "game_timeout_s", "learner_threads", "max_concurrent"),
    "evaluation": ("eval_interval", "eval_games", "confirm", "best"),
    "storage": ("storage_path", "checkpoint_frequency", "keep_checkpoints", "extend", "fork", "resume_or_start"),
    "ray": ("address", "callback", "verbose"),
}
"""Groups of flags. Those that stand in none are of the group that is called as their part of the flags."""

WHOLE_WORDS: Any = {"break_long_words": False, "break_on_hyphens": False}


def in_groups(parts: Mapping[str, Any]) -> Any:
    """A dataclass of the fields of all ``parts``, dataclasses' instances by name, with one more for each group."""
    grouped: dict[str, list[Any]] = {}
    for part, values in parts.items():
        for name, field in _fields(values).items():
            group = next((group for group, names in GROUPS.items() if name in names), part)
            grouped.setdefault("" if name in FIRST or len(parts) == 1 else group, []).append(field)
    first = sorted(grouped.pop("", []), key=lambda field: FIRST.index(field[0]) if len(parts) > 1 else 0)
    made = {group: dataclasses.make_dataclass(group, fields, frozen=True) for group, fields in grouped.items()}
    order = [group for group in (*(parts.keys() - GROUPS.keys()), *GROUPS) if group in made]
    groups = [(group, made[group], dataclasses.field(default_factory=made[group])) for group in order]
    return dataclasses.make_dataclass("Flags", [*first, *groups], frozen=True)


def _fields(values: Any) -> dict[str, tuple[str, Any, Any]]:
    """The fields of a dataclass's instance, as ``make_dataclass`` takes them, each with its line of help."""
    hints, found = typing.get_type_hints(type(values), include_extras=True), {}
    for field in dataclasses.fields(values):
        text = lines_of_help(values.__class__).get(field.name)
        kind = Annotated[hints[field.name], tyro.conf.arg(help=text)] if text else hints[field.name]
        value = functools.partial(getattr, values, field.name)
        found[field.name] = field.name, kind, dataclasses.field(default_factory=value)
    return found


@functools.cache
def lines_of_help(kind: type) -> dict[str, str]:
    """The text below each field of a dataclass, in one line: tyro keeps some of its line breaks."""
    found = {}
    for each in filter(dataclasses.is_dataclass, reversed(kind.__mro__)):
        with contextlib.suppress(OSError):  # a class without a file
            (definition,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
            for field, text in itertools.pairwise(typing.cast(ast.ClassDef, definition).body):
                match field, text:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                        found[name] = " ".join(words.split())
    return found


def wrapped(text: str) -> str:
    """A text as wide as the terminal: paragraphs are filled, and a command's explanation goes below it if need be."""
    return "\n\n".join("\n".join(_lines(part, columns())) for part in text.strip().split("\n\n"))


def _lines(paragraph: str, width: int) -> Iterator[str]:
    """A paragraph's lines: of words that follow each other, or of a list, whose lines begin with two spaces."""
    lines, deep = re.sub(r"\n(?! )", " ", paragraph).splitlines(), 6 * " "
    if max(map(len, lines)) <= width:
        yield from lines
        return
    for line in lines:
        if line.startswith("Example: "):
            yield "Example:"
            line = f"  {line.removeprefix('Example: ')}"
        if not line.startswith("  "):
            yield from textwrap.wrap(line, width)
            continue
        item, *explanation = re.split(r" {2,}", line.strip(), maxsplit=1)
        item = re.sub(r"(--\S+) (?!-)", "\\1\N{NO-BREAK SPACE}", item)  # a flag and its value
        *begun, last = textwrap.wrap(item, width - 2, initial_indent="  ", subsequent_indent=deep, **WHOLE_WORDS)
        yield from (f"{part} \\".replace("\N{NO-BREAK SPACE}", " ") for part in begun)
        yield last.replace("\N{NO-BREAK SPACE}", " ")
        yield from textwrap.wrap("".join(explanation), width, initial_indent=deep, subsequent_indent=deep)


def columns() -> int:
    """Characters of a line that a terminal does not wrap: one less than it has."""
    return shutil.get_terminal_size().columns - 1


class _Output(io.StringIO):
    """Holds what would go to standard output, and looks like it: tyro asks for its characters and colours."""

    def __init__(self) -> None:
        super().__init__()
        self._terminal = sys.stdout

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Decides whether boxes have round corners."""
        return self._terminal.encoding

    def isatty(self) -> bool:
        """Decides whether there are colours."""
        return self._terminal.isatty()


@contextlib.contextmanager
def held() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Holds what is printed to stdout and to stderr, for a terminal that is a column narrower than this one."""
    before, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), str(columns())
    try:
        with contextlib.redirect_stdout(_Output()) as output, contextlib.redirect_stderr(io.StringIO()) as complaint:
            yield output, complaint
    finally:
        del os.environ["COLUMNS"]
        os.environ |= {"COLUMNS": before} if before else {}
