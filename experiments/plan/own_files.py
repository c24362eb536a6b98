"""Files of the user's own: modules that are imported, and pages of presets and spaces in Python or YAML.

They are read where a command line names them, and nowhere else: names in records and checkpoints are data, and never
come here. Whatever is wrong with a file is said in one line, as a ConfigError.
"""

import importlib
import importlib.util
import runpy
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from trainables.checks import ConfigError, unknown
from trainables.texts import read_text

ACCEPTED = "accepted is module:name (of a file here or on PYTHONPATH), or file.py:name"

NAMES = ("PRESETS", "SPACES", "MUTATIONS")
"""What a page may define."""


def imported(typed: str) -> tuple[ModuleType, Any]:
    """The module that ``module:name`` or ``file.py:name`` names, and what is called so in it."""
    where, _, name = typed.rpartition(":")
    if not where or not name.isidentifier():
        raise ConfigError(f"{typed!r}: {ACCEPTED}")
    try:
        file = Path(where).absolute() if where.endswith(".py") else None
        module = _imported(file.stem if file else where, file)
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:  # whatever somebody's module does
        raise ConfigError(f"{typed}: its import fails with {reason(error)}") from None
    if not hasattr(module, name):
        public = [known for known, it in vars(module).items() if getattr(it, "__module__", "") == module.__name__]
        raise ConfigError(f"{typed}: {unknown('name', name, public)}")
    return module, getattr(module, name)


def reason(error: BaseException) -> str:
    """An error in one line: its type, its text, and where it arose."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    known = last and not isinstance(error, SyntaxError)  # whose text says where
    place = f" ({Path(last[0].filename).name}, line {last[0].lineno})" if known else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def _imported(name: str, file: Path | None) -> ModuleType:
    """A file's module, or one of this name that is found here or on PYTHONPATH."""
    if file and not file.is_file():
        raise ConfigError(f"there is no file {file}")
    if file and not name.isidentifier():
        raise ConfigError(f"{file.name} cannot be the name of a module: call it as a variable could be called")
    if not all(part.isidentifier() for part in name.split(".")):
        raise ConfigError(f"{name!r} is no module: {ACCEPTED}")
    if (folder := str(file.parent if file else Path().absolute())) not in sys.path:
        sys.path.append(folder)  # after all others: no file in it takes the place of a library
    importlib.invalidate_caches()
    spec = importlib.util.find_spec(name) if file else None
    if file and not (spec and spec.origin and Path(spec.origin).resolve() == file.resolve()):
        raise ConfigError(f"{file}: there is another module {name!r}; call the file otherwise")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # a module that this one imports
        raise ConfigError(f"there is no module {error.name!r} here or on PYTHONPATH: {ACCEPTED}") from None


def read_page(file: Path, preset: str) -> tuple[Mapping[str, Any] | None, Mapping[str, Any]]:
    """The settings of a preset, None if the file has no such preset, and the space around it, as they stand there.

    A file that ends in ``.py`` is run. YAML may leave the name SPACES out: then each line is a setting, around any
    preset.
    """
    content = _run(file) if file.suffix == ".py" else _read_yaml(file, preset)
    presets, spaces = require_pages(f"--space {file}", content)
    if not spaces:
        raise ConfigError(
            f"--space {file} holds no space: accepted are lines as learning_rate: 1e-4..1e-2:log,"
            " or SPACES as in search_spaces/"
        )
    if preset not in spaces:
        raise ConfigError(f"--space {file} has no space for --preset {preset}: {unknown('preset', preset, spaces)}")
    if not spaces[preset]:
        raise ConfigError(f"--space {file}: the space of preset {preset} is empty")
    return presets.get(preset), spaces[preset]


def require_pages(where: str, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """PRESETS and SPACES of a page, each with settings for each preset; empty where there are none."""
    found = content.get("PRESETS", {}), content.get("SPACES", {})
    for name, of in zip(NAMES, found, strict=False):
        if not isinstance(of, Mapping) or not all(isinstance(each, Mapping) for each in of.values()):
            raise ConfigError(f"{where}: {name} has settings for each preset, as in search_spaces/")
    return found


def _run(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise ConfigError(f"--space {file} cannot be read: there is no such file")
    try:
        return runpy.run_path(str(file))
    except (Exception, SystemExit) as error:  # whatever is in it
        raise ConfigError(f"--space {file} fails with {reason(error)}") from None


def _read_yaml(file: Path, preset: str) -> dict[str, Any]:
    try:
        content = yaml.load(read_text(file), Loader=_Texts)
    except OSError as error:
        raise ConfigError(f"--space {file} cannot be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", " ".join(str(error).split()))
        raise ConfigError(f"--space {file} is no YAML: {problem}{line}") from None
    except ValueError as error:
        raise ConfigError(f"--space {file}: {error}") from None
    except RecursionError:
        raise ConfigError(f"--space {file} is nested too deep") from None
    if not isinstance(content, dict) or not content:
        return {}
    if not {*NAMES} & content.keys():
        return {"SPACES": {preset: content}}
    if strangers := content.keys() - {*NAMES}:
        raise ConfigError(f"--space {file}: {unknown('name', min(strangers), NAMES)}")
    return content


class _Texts(yaml.BaseLoader):
    """YAML whose values all stay texts: ``1e-4``, ``no`` and ``1:30`` mean what they mean after ``--sweep``."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping. Raises ValueError if a name stands there twice."""
        names = set()
        for name, _ in node.value:
            if str(name.value) in names:
                raise ValueError(f"{name.value} is there twice, in line {name.start_mark.line + 1} again")
            names.add(str(name.value))
        return super().construct_mapping(node, deep=deep)
