"""Command-line flags that every experiment program has, and one-line answers to wrong ones."""

import contextlib
import dataclasses
import io
import itertools
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import tyro

from experiments.ask.storage import MIRRORS, is_uri, locate
from trainables.checks import Bounds, ConfigError, check_fields


@dataclass(frozen=True)
class RunFlags:
    """Where results go, how they are kept, and on which Ray."""

    name: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="(default: learner, date, time)")] = (
        None
    )
    """The experiment's name, and its folder's."""

    storage_path: Annotated[str, tyro.conf.arg(metavar="DIR|URI")] = "results"
    """Folder of experiments, shared by all nodes of a cluster; or s3://... or gs://..., which ./results mirrors."""

    checkpoint_frequency: Annotated[int, Bounds(1)] = 5
    """Iterations between checkpoints: a kill costs at most these."""

    resume: Annotated[
        str | None, tyro.conf.arg(metavar="NAME|PATH|URI", help_behavior_hint="(default: start a new one)")
    ] = None
    """Continue an interrupted experiment with the settings it was started with."""

    extend: Annotated[
        str | None, tyro.conf.arg(metavar="NAME|PATH|URI", help_behavior_hint="(with --iterations or --timesteps)")
    ] = None
    """Give the trials of an experiment more to do, in place; those that were stopped early stay stopped."""

    fork: Annotated[
        str | None, tyro.conf.arg(metavar="NAME|PATH|URI", help_behavior_hint="(with changed settings)")
    ] = None
    """Start a new experiment from the best checkpoints of another one's trials."""

    address: Annotated[
        str | None, tyro.conf.arg(metavar="auto|HOST:PORT", help_behavior_hint="(default: this machine alone)")
    ] = None
    """Attach to a running Ray cluster; its nodes need this project's dependencies, not its code."""

    verbose: bool = False
    """Show Ray's own messages and tables."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)
        if self.uri:
            locate(self.uri)
        if sum(value is not None for value in (self.resume, self.extend, self.fork)) > 1:
            raise ConfigError("--resume, --extend and --fork exclude each other: an experiment goes on in one way")

    @property
    def uri(self) -> str | None:
        """The storage path if it is a URI."""
        return self.storage_path if is_uri(self.storage_path) else None

    @property
    def folder(self) -> Path:
        """Where experiments lie on this machine."""
        return MIRRORS if self.uri else Path(self.storage_path)


CONTINUING = {"resume", "extend", "storage_path", "address", "verbose"}
"""Flags that mean something where an experiment goes on; all others were decided when it started."""


def parse(arguments: Any, description: str, **options: Any) -> Any:
    """Read ``sys.argv`` into the dataclass ``arguments``; ``options`` are those of ``tyro.cli``.

    Wrong flags end the program with status 2 and one line that says what is wrong.
    """
    complaint = io.StringIO()
    config = (tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff)
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(arguments, description=description, config=config, **({"prog": program()} | options))
    except SystemExit as stop:
        if stop.code:
            fail(_one_line(complaint.getvalue()))
        raise


def program() -> str:
    """The program's file name."""
    return Path(sys.argv[0]).name


def command_line() -> str:
    """How this program was called, without its flags: ``python experiments/train.py pg``."""
    command = [word for word in sys.argv[1:2] if not word.startswith("-")]
    return shlex.join(["python", sys.argv[0], *command])


def neighbour(name: str) -> str:
    """How the program of this name, beside the one that runs, is called: ``python experiments/results.py``."""
    return shlex.join(["python", str(Path(sys.argv[0]).with_name(name))])


def fail(message: str, status: int = 2) -> NoReturn:
    """End the program with one line on stderr."""
    print(f"{program()}: error: {message}", file=sys.stderr)
    raise SystemExit(status)


def require_positive(flags: Any, *names: str) -> None:
    """Raise ConfigError unless each of these flags is at least 1, or was left out."""
    for name in names:
        if (value := getattr(flags, name)) is not None and value < 1:
            raise ConfigError(f"{name}={value}: accepted is a number >= 1")


def refuse_settled(run: RunFlags, flags: Any, default: Any) -> None:
    """Raise ConfigError if any of ``flags`` was given that ``--resume`` or ``--extend`` would ignore."""
    allowed = CONTINUING | ({"iterations", "timesteps"} if run.extend else set())
    for field in dataclasses.fields(flags):
        if field.name not in allowed and (given := getattr(flags, field.name)) != getattr(default, field.name):
            flag, way = "--" + field.name.replace("_", "-"), "--extend" if run.extend else "--resume"
            raise ConfigError(
                f"{flag} {given} cannot change with {way}: an experiment keeps its settings; --fork starts a new one"
                " with others"
            )


def _one_line(box: str) -> str:
    """The first paragraph of tyro's error box, and the flag that it suggests."""
    _, *lines = (line.strip(" │╭╮╰╯─") for line in box.splitlines())  # the first line is the box's title
    lines = ["" if set(line) == {"-"} else line for line in lines]  # a rule, where the terminal knows no better
    words = itertools.takewhile(bool, itertools.dropwhile(lambda line: not line, lines))
    message = re.sub(r"^Error parsing \w*: ", "", " ".join(words))
    suggestion = re.search(r"Perhaps you meant:\s*(--[\w-]+)", " ".join(lines))
    if suggestion:
        message += f"; did you mean {suggestion[1]}?"
    return f"{message} (see --help)"
