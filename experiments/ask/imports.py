"""Code of the user's own, named as ``module:name``: imported where it stands on a command line, and nowhere else.

Records and checkpoints name learners too. Those names are data, and never come here.
"""

import importlib
import importlib.util
import runpy
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from trainables.checks import ConfigError, unknown

ACCEPTED = "accepted is module:name (of a file here or on PYTHONPATH), or file.py:name"


def imported(typed: str) -> tuple[ModuleType, Any]:
    """The module that ``module:name`` or ``file.py:name`` names, and what is called so in it.

    A module is looked for in the present folder after all others, so that no file here takes the place of a library.
    Raises ConfigError, in one line, if it is not there, or if its import fails.
    """
    where, _, name = typed.rpartition(":")
    if not where or not name.isidentifier():
        raise ConfigError(f"{typed!r}: {ACCEPTED}")
    try:
        module = _of_file(Path(where)) if where.endswith(".py") else _of_name(where)
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:  # whatever somebody's module does
        raise ConfigError(f"{typed}: its import fails with {reason(error)}") from None
    if not hasattr(module, name):
        public = [known for known, it in vars(module).items() if getattr(it, "__module__", "") == module.__name__]
        raise ConfigError(f"{typed}: {unknown('name', name, public)}")
    return module, getattr(module, name)


def constants(file: Path) -> dict[str, Any]:
    """What a Python file defines; it is run. Raises ConfigError, in one line, if it is not there, or if it fails."""
    if not file.is_file():
        raise ConfigError(f"{file} cannot be read: there is no such file")
    try:
        return runpy.run_path(str(file))
    except (Exception, SystemExit) as error:  # whatever is in it
        raise ConfigError(f"{file} fails with {reason(error)}") from None


def reason(error: BaseException) -> str:
    """An error in one line: its type, its text, and where it arose."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    known = last and not isinstance(error, SyntaxError)  # whose text says where; what raises it is Python's importer
    place = f" ({Path(last[0].filename).name}, line {last[0].lineno})" if known else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def _of_name(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ConfigError(f"{name!r} is no module: {ACCEPTED}")
    _search(Path())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # a module that this one imports
        raise ConfigError(f"there is no module {error.name!r} here or on PYTHONPATH: {ACCEPTED}") from None


def _of_file(path: Path) -> ModuleType:
    """A file as a module of its name; it can import what lies beside it."""
    name, path = path.stem, path.absolute()
    if not path.is_file():
        raise ConfigError(f"there is no file {path}")
    if not name.isidentifier():
        raise ConfigError(f"{path.name} cannot be the name of a module: call it as a variable could be called")
    _search(path.parent)
    spec = importlib.util.find_spec(name)
    if not (spec and spec.origin and Path(spec.origin).resolve() == path.resolve()):
        raise ConfigError(f"{path}: there is another module {name!r}; call the file otherwise")
    return importlib.import_module(name)


def _search(folder: Path) -> None:
    """Have Python look into a folder, after all others."""
    if (where := str(folder.absolute())) not in sys.path:
        sys.path.append(where)
    importlib.invalidate_caches()
