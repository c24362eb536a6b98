"""Names from a folder or a bucket: each passes here before it becomes a path.

What lies in an experiment is where its folder says: a name is one step, and no link is followed. Trials' and
checkpoints' folders have exactly the names that programs give them; a copy under another name is not one of them.
"""

import os
import re
from pathlib import Path

from trainables.checkpoints import number
from trainables.checks import ConfigError

TRIAL = re.compile(r"(\d{5}|[1-9]\d{5,})(_.*)?", re.ASCII | re.DOTALL)


def is_name(name: str) -> bool:
    """Whether this can be the name of a file or folder of ours: one step downwards, and fit to be printed."""
    return name not in ("", ".", "..") and name.isprintable() and not {"/", "\\"} & {*name}


def inside(folder: Path, name: str) -> Path:
    """The path of what is called so in a folder. Raises ConfigError if it would be anywhere else, or is a link."""
    if not is_name(name):
        raise ConfigError(f"{folder} holds {name!r}: accepted are names without / and \\ that can be printed")
    path = folder / name
    if path.is_symlink():
        raise ConfigError(f"{path} is a link: in an experiment none is followed")
    return path


def trials(experiment: Path) -> dict[str, Path]:
    """The folders of an experiment's trials, by number, in order.

    Raises ConfigError if two have one number, if one is a link, or if the experiment cannot be read.
    """
    found: dict[str, Path] = {}
    for name in _listed(experiment):
        if not (match := TRIAL.fullmatch(name)) or not os.path.isdir(experiment / name):
            continue
        if earlier := found.get(match[1]):
            raise ConfigError(
                f"{earlier.name!r} and {name!r} in {experiment} are two folders of one trial: move the copy away"
            )
        found[match[1]] = inside(experiment, name)
    return found


def checkpoints(trial: Path) -> list[Path]:
    """The folders of a trial's checkpoints, by number. Raises ConfigError if one is a link, or if it cannot be read."""
    names = [name for name in sorted(_listed(trial), key=number) if number(name) >= 0]
    return [inside(trial, name) for name in names if os.path.isdir(trial / name)]


def _listed(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise ConfigError(f"{folder} cannot be read: {error.strerror}") from None
