"""A page of data in a file of the user's own: presets and spaces, in Python as in ``search_spaces/``, or in YAML."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from experiments.ask.imports import constants
from trainables.checks import ConfigError, unknown
from trainables.texts import read_text

NAMES = ("PRESETS", "SPACES", "MUTATIONS")


class Page(NamedTuple):
    """What a page has for one preset, as it stands there."""

    preset: Mapping[str, Any] | None  # its settings; None if it has no preset of this name
    space: Mapping[str, Any]


def read_page(file: Path, preset: str) -> Page:
    """What stands in a file. One that ends in ``.py`` is run.

    YAML may leave the name SPACES out: then each line is a setting, around any preset. Raises ConfigError for a file
    that cannot be read, or that has no such space.
    """
    try:
        content = constants(file) if file.suffix == ".py" else _read_yaml(file)
    except ConfigError as error:
        raise ConfigError(f"--space {error}") from None
    if file.suffix != ".py" and content and not {*NAMES} & content.keys():
        content = {"SPACES": {preset: content}}
    if file.suffix != ".py" and (strangers := content.keys() - {*NAMES}):
        raise ConfigError(f"--space {file}: {unknown('name', sorted(strangers)[0], NAMES)}")
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
    return Page(presets.get(preset), spaces[preset])


def require_pages(where: str, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """PRESETS and SPACES of a page, empty where there are none. Raises ConfigError if they are of another form."""
    found = content.get("PRESETS", {}), content.get("SPACES", {})
    for name, of in zip(("PRESETS", "SPACES"), found, strict=True):
        if not isinstance(of, Mapping) or not all(isinstance(each, Mapping) for each in of.values()):
            raise ConfigError(f"{where}: {name} has settings for each preset, as in search_spaces/")
    return found


class _Texts(yaml.BaseLoader):
    """YAML whose values all stay texts: ``1e-4``, ``no`` and ``1:30`` mean what they mean after ``--sweep``."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping. Raises ConfigError if a name stands there twice."""
        names = [name.value for name, _ in node.value]
        for index, (name, _) in enumerate(node.value):
            if name.value in names[:index]:
                raise ConfigError(f"{name.value} is there twice, in line {name.start_mark.line + 1} again")
        return super().construct_mapping(node, deep=deep)


def _read_yaml(file: Path) -> dict[str, Any]:
    try:
        content = yaml.load(read_text(file), Loader=_Texts)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{file} is no YAML: {error.problem}{line}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{file} is no YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ConfigError(f"{file} is nested too deep") from None
    return content if isinstance(content, dict) else {}
