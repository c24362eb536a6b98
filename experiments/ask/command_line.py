"""How a program reads its command line, shows its help, and ends: what is wrong is said in one line.

Help begins with the flags that everybody needs, has all others in groups, and is as wide as the terminal.
"""

import ast
import contextlib
import dataclasses
import functools
import inspect
import io
import itertools
import os
import re
import shlex
import shutil
import signal
import sys
import textwrap
import typing
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import tyro

from experiments.ask.notations import REGISTRY, SECONDS, TIMES, plain, without_tilde
from experiments.ask.signals import SIGNALLED, SIGNALS, end_at_once, handle_all
from experiments.ask.streams import open_streams
from trainables.checkpoints import CheckpointError
from trainables.checks import OTHERS_WORDS, ConfigError, unknown
from trainables.surroundings import require_a_current_folder
from trainables.texts import printable


@contextlib.contextmanager
def clean_exit() -> Iterator[None]:
    """Decorates a ``main``: ConfigError and CheckpointError become one line on stderr and status 2.

    Ctrl-C ends the program with status 130, and a reader that has gone (``--help | head``) with 141, both without a
    word. Other signals are named in a line.
    """
    open_streams()
    handle_all(end_at_once, [number for number in SIGNALS if number != signal.SIGINT])
    try:
        try:
            os.environ["MPLBACKEND"] = "agg"  # figures go into files, also where a notebook's window is set
            require_a_current_folder()
            _require_what_stands_beside()
            yield
        except (ConfigError, CheckpointError) as error:
            fail(as_typed(str(error)))
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing interrupts what Ray does as it ends
            sys.exit(SIGNALLED + signal.SIGINT)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more as it ends
        sys.exit(SIGNALLED + signal.SIGPIPE)


def parse(arguments: Any, description: str | None = None, settings: Collection[str] = (), **options: Any) -> Any:
    """Read ``sys.argv`` into a dataclass like the instance ``arguments``; ``options`` are those of ``tyro.cli``.

    ``arguments`` can also be several instances by name: then their fields are flags in groups, and a list of as many
    dataclasses is returned. ``--help`` begins with the description, or without one with the dataclass's docstring.
    Wrong flags end the program; who types one of the ``settings`` as a flag is told of ``--set``.

    Raises ConfigError where values are wrong.
    """
    parts = arguments if isinstance(arguments, Mapping) else {"": arguments}
    how: dict[str, Any] = {
        "prog": program(),
        "config": (tyro.conf.OmitArgPrefixes,),
        "registry": REGISTRY,
        "description": "",
        "args": sys.argv[1:],
    }
    how |= options
    how["args"] = plain(how["args"], _switches(parts))
    try:
        with held() as (output, complaint):
            found = tyro.cli(in_groups(parts), **how)
    except SystemExit as stop:
        if stop.code:
            known = set().union(*map(vars, parts.values()))
            fail(_one_line(complaint.getvalue(), known, settings))
        usage, _, flags_text = output.getvalue().partition("\n\n")
        text = as_typed(description or inspect.getdoc(arguments) or "")
        print(wrapped(_uncoloured(usage)), wrapped(text), flags_text, sep="\n\n", end="")
        raise
    flags = vars(found[0] if options.get("return_unknown_args") else found)
    values = dict(flags)
    for group in flags.values():
        if dataclasses.is_dataclass(group):
            values |= vars(group)
    made = [type(part)(**{name: values[name] for name in vars(part)}) for part in parts.values()]
    return made if parts is arguments else made[0]


def _switches(parts: Mapping[str, Any]) -> dict[str, bool | None]:
    """The fields that are true or false, with their defaults; None of one that is neither unless it is typed."""
    found = {}
    for part in parts.values():
        hints = typing.get_type_hints(type(part))
        for name, value in vars(part).items():
            if hints[name] in (bool, bool | None):
                found[name] = value
    return found


def first_word(kind: str, known: Collection[str], description: str) -> str:
    """The program's first argument, a ``kind`` that is one of ``known`` or may be another one.

    Where it is missing or asks for help, the program prints ``description`` and ends.
    """
    name = without_tilde(sys.argv[1]) if len(sys.argv) > 1 else "--help"
    if name in ("-h", "--help"):
        print(wrapped(f"usage: {program()} {{{','.join(known)}}} ...\n\n{as_typed(description)}"))
        sys.exit(0)
    if name.startswith("-"):
        raise ConfigError(f"the first word is a {kind}, not {name} (see --help)")
    return name


def subcommand(kind: str, known: Collection[str], description: str) -> str:
    """As ``first_word``. Raises ConfigError if it is none of ``known``."""
    name = first_word(kind, known, description)
    if name not in known:
        raise ConfigError(unknown(kind, name, known))
    return name


COMMANDS = {
    "train.py": "pong-train",
    "sweep.py": "pong-sweep",
    "sweep_pong.py": "pong-sweep pg",
    "sweep_trpo.py": "pong-sweep trpo",
    "results.py": "pong-results",
    "watch.py": "pong-watch",
}
"""The console command of an installed package that runs each program."""


def program() -> str:
    """What this program was started as: ``train.py``, or ``pong-train``."""
    return Path(sys.argv[0]).name


def this_command() -> list[str]:
    """The command line as an experiment's record has it: with the program's file, also if it was ``pong-train``."""
    files = {command: file for file, command in COMMANDS.items()}
    return [files.get(program(), program()), *sys.argv[1:]]


def neighbour(name: str, *words: str) -> str:
    """How the program of this name, with these words, is typed by whoever started this one.

    ``python experiments/results.py``, with the way to this program's folder, or ``pong-results``.
    """
    if program() not in COMMANDS.values():
        return shlex.join(["python", str(Path(sys.argv[0]).with_name(name)), *words])
    return installed(*COMMANDS[name].split(), *words)


def installed(command: str, *words: str) -> str:
    """How an installed command is typed: with the way to it if it lies beside this one, and that is not on PATH."""
    beside = str(Path(sys.argv[0]).with_name(command))
    hidden = shutil.which(beside) and shutil.which(command) != os.path.abspath(beside)
    return shlex.join([beside if hidden else command, *words])


def as_typed(text: str) -> str:
    """A text whose commands, ``python experiments/results.py``, are those of whoever started this program."""
    return re.sub(f"python experiments/({'|'.join(COMMANDS)})", lambda found: neighbour(found[1]), text)


def fail(message: str) -> NoReturn:
    """End the program with status 2 and one line on stderr."""
    print(printable(f"{program()}: error: {' '.join(message.splitlines())}"), file=sys.stderr)
    raise SystemExit(2)


def _require_what_stands_beside() -> None:
    """Raise ConfigError if this program would run packages of ours that stand elsewhere."""
    for name in ("experiments", "search_spaces", "trainables"):
        own = Path(sys.argv[0]).resolve().parent.parent / name / "__init__.py"
        module = sys.modules.get(name)
        if not module or not own.is_file():
            continue
        found = module.__file__ or "/"
        if not own.samefile(found):
            raise ConfigError(f"{name} comes from {found}, and not from {own}: see PYTHONPATH, or start Python anew")


def _uncoloured(text: str) -> str:
    """A text without the colours that tyro gives it on a terminal."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def _one_line(box: str, known: Collection[str], settings: Collection[str]) -> str:
    """The first paragraph of tyro's error box, and the flag that was probably meant, or that tyro suggests.

    The box is taken apart because tyro's hook for errors (``tyro._errors.on_parse_error``) is private, and changes
    without notice.
    """
    _, *lines = (line.strip(" │╭╮╰╯─") for line in _uncoloured(box).splitlines())  # the first line is the box's title
    lines = ["" if set(line) == {"-"} else line for line in lines]  # a rule, in a terminal that knows ASCII alone
    words = itertools.takewhile(bool, itertools.dropwhile(lambda line: not line, lines))
    message = re.sub(r"^Error parsing \w*: ", "", " ".join(words))
    meant = re.findall(r"Perhaps you meant:\s*(--[\w-]+)", " ".join(lines))
    if typed := re.match(r"Unrecognized options: --([\w-]+)", message):
        name = typed[1].replace("-", "_")
        names = [name, *OTHERS_WORDS.get(name, ())]
        flags = [f"--{each.replace('_', '-')}" for each in names if each in known]
        meant = flags or [f"--set {each}=VALUE" for each in names if each in settings] or meant
    if meant:
        message += f"; did you mean {' or '.join(meant)}?"
    return f"{message} (see --help)"


FIRST = (
    *("iterations", "timesteps", "time_budget_s", "num_samples", "preset", "sweep", "set", "seeds", "num_workers"),
    *("name", "resume", "smoke_test", "dry_run"),
)
"""The flags that stand before all groups, in this order, where help has groups."""

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
"""Groups of flags. A flag that stands in none is in the group that has the name of its part of the flags."""

WHOLE_WORDS: Any = {"break_long_words": False, "break_on_hyphens": False}
"""Options of ``textwrap.wrap`` with which a command's words stay whole, so that it can be pasted."""


def in_groups(parts: Mapping[str, Any]) -> Any:
    """A dataclass of the fields of all ``parts``, which are instances of dataclasses by name.

    The fields of a single part are its own. Of several, those in ``FIRST`` are its own, and it has one more for each
    group: a dataclass of the group's fields.
    """
    if len(parts) == 1:
        (values,) = parts.values()
        return dataclasses.make_dataclass("Flags", _fields(values).values(), frozen=True)
    first: list[Any] = []
    grouped: dict[str, list[Any]] = {}
    for part, values in parts.items():
        for name, field in _fields(values).items():
            if name in FIRST:
                first.append(field)
            else:
                grouped.setdefault(_group_of(name, part), []).append(field)
    first.sort(key=lambda field: FIRST.index(field[0]))
    groups = []
    for group in [*(part for part in parts if part not in GROUPS), *GROUPS]:
        if group in grouped:
            made = dataclasses.make_dataclass(group, grouped[group], frozen=True)
            groups.append((group, made, dataclasses.field(default_factory=made)))
    return dataclasses.make_dataclass("Flags", [*first, *groups], frozen=True)


def _group_of(name: str, part: str) -> str:
    """The group of a flag that is a field of this part."""
    for group, names in GROUPS.items():
        if name in names:
            return group
    return part


def _fields(values: Any) -> dict[str, tuple[str, Any, Any]]:
    """The fields of a dataclass's instance, as ``make_dataclass`` takes them, each with its line of help."""
    found = {}
    hints, texts = typing.get_type_hints(type(values), include_extras=True), lines_of_help(values.__class__)
    for field in dataclasses.fields(values):
        kind = hints[field.name]
        if field.name in texts:
            kind = Annotated[kind, tyro.conf.arg(help=texts[field.name])]
        if field.name.endswith(TIMES):
            kind = Annotated[kind, SECONDS]
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
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(columns())
    try:
        with contextlib.redirect_stdout(_Output()) as output, contextlib.redirect_stderr(io.StringIO()) as complaint:
            yield output, complaint
    finally:
        del os.environ["COLUMNS"]
        if before:
            os.environ["COLUMNS"] = before
