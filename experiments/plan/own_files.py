"""Files of the user's own: modules that are imported, and pages of presets and spaces.

They are read where a command line names them, and nowhere else: names in records and checkpoints are data, and never
come here. Whatever is wrong with a file is said in one line, as a ConfigError.
"""

import contextlib
import importlib
import runpy
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from trainables.checks import ConfigError, unknown

ACCEPTED = (
    "accepted is module:name (of a file here or on PYTHONPATH), or file.py:name, with names as variables can have them"
)

NAMES = ("PRESETS", "SPACES")
"""What a page may define."""


def imported(typed: str) -> tuple[ModuleType, Any]:
    """The module that ``module:name`` or ``file.py:name`` names, and what is called so in it."""
    where, _, name = typed.rpartition(":")
    called, folder = where, Path().absolute()
    file = None
    if where.endswith(".py"):
        file = Path(where).absolute()
        called, folder = file.stem, file.parent
    if not all(part.isidentifier() for part in (*called.split("."), name)):
        raise ConfigError(f"{typed!r}: {ACCEPTED}")
    if file and not file.is_file():
        raise ConfigError(f"{typed}: there is no such file")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # after all others: no file in it takes the place of a library
    module = _import(typed, called)
    if file and Path(module.__file__ or "").resolve() != file.resolve():
        raise ConfigError(f"{typed}: there is another module {called!r}; call the file otherwise")
    if not hasattr(module, name):
        public = [known for known, it in vars(module).items() if getattr(it, "__module__", "") == called]
        raise ConfigError(f"{typed}: {unknown('name', name, public)}")
    return module, getattr(module, name)


def _import(typed: str, called: str) -> ModuleType:
    """The module that is ``called`` so. Raises ConfigError if there is none, or if its code fails."""
    importlib.invalidate_caches()
    with one_line(f"{typed}: its import"):
        try:
            return importlib.import_module(called)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{called}.".startswith(f"{error.name}."):
                raise  # a module that this one imports
            raise ConfigError(f"{typed}: there is no module {error.name!r}; {ACCEPTED}") from None


@contextlib.contextmanager
def one_line(what: str) -> Iterator[None]:
    """Whatever somebody's code raises becomes a ConfigError: that ``what`` fails, and with what."""
    try:
        yield
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{what} fails with {reason(error)}") from None


def reason(error: BaseException) -> str:
    """An error in one line: its type, its text, and where it arose, if that is in a file and the text has it not."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    known = last and not isinstance(error, SyntaxError) and not last[0].filename.startswith("<")
    place = f" ({Path(last[0].filename).name}, line {last[0].lineno})" if known else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def read_page(file: Path, preset: str) -> tuple[Mapping[str, Any] | None, Mapping[str, Any]]:
    """The settings of a preset, None if the file has no such preset, and the space around it, as they stand there.

    The file is Python, as those in search_spaces/, and is run.
    """
    where = f"--space {file}"
    if not file.is_file():
        raise ConfigError(f"{where} cannot be read: there is no such file")
    if file.suffix != ".py":
        raise ConfigError(
            f"{where}: accepted is Python as in search_spaces/ (docs/sweeps.md shows a file); what YAML has as KEY:"
            ' VALUES is "KEY": "VALUES" there'
        )
    with one_line(where):
        content = runpy.run_path(str(file))
    presets, spaces = presets_and_spaces(where, content)
    if not spaces.get(preset):
        filled = unknown("preset", preset, [name for name in spaces if spaces[name]])
        raise ConfigError(
            f"{where} holds no space for --preset {preset}: accepted is SPACES as in search_spaces/; {filled}"
        )
    return presets.get(preset), spaces[preset]


def presets_and_spaces(where: str, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """PRESETS and SPACES of a page, each with settings for each preset; empty where there are none."""
    found = content.get("PRESETS", {}), content.get("SPACES", {})
    for name, of in zip(NAMES, found, strict=True):
        if not isinstance(of, Mapping) or not all(isinstance(each, Mapping) for each in of.values()):
            raise ConfigError(f"{where}: {name} has settings for each preset, as in search_spaces/")
    return found
