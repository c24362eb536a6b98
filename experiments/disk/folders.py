"""The files and folders of an experiment: what they are called, and how a name from a disk or bucket becomes a path.

What lies in an experiment is where its folder says: a name is one step, and no link is followed. Trials' and
checkpoints' folders have exactly the names that programs give them; a copy under another name is not one of them.
"""

import os
import re
from pathlib import Path

from experiments.ask.storage import is_name
from trainables.checkpoints import number
from trainables.checks import ConfigError

RECORD = "experiment.json"  # what the experiment was asked to do, and where it comes from (``disk/spec.py``)

DECISIONS, WINNER = "rungs.json", "winner.json"
"""What was decided while it ran (``disk/decisions.py``)."""

WINNER_FILM = "winner.gif"  # the first of the winner's games

RESULTS, PARAMS, ERROR = "result.json", "params.json", "error.txt"
"""In a trial's folder: a row of JSON for each iteration, the settings, and Tune's report of what went wrong."""

TUNE_STATES = "experiment_state-*.json"
"""Pattern of Tune's own accounts of the trials, one file for each time that it was started."""

TUNE_TRIAL = re.compile(r"(PongPG|PongTRPO)_((?:[0-9a-f]+_)?[0-9a-f]+)_(\d{1,9})(_.*)?", re.ASCII | re.DOTALL)
"""Tune's own names of trials' folders: Trainable, the trial's id, a number, and what was drawn."""

TRIAL = re.compile(r"(\d{5}|[1-9]\d{5,})(_.*)?", re.ASCII | re.DOTALL)  # names of trials' folders


def existing(storage_path: Path) -> list[str]:
    """Names of the experiments in a storage folder, as far as it can be read."""
    try:
        names = os.listdir(storage_path)
    except OSError:
        return []
    return sorted(name for name in names if is_experiment(storage_path / name))


def is_experiment(folder: Path) -> bool:
    """Whether a folder is an experiment of our programs, or of somebody's own Tuner with our Trainables."""
    return os.path.isfile(folder / RECORD) or is_tunes_own(folder)


def is_tunes_own(folder: Path) -> bool:
    """Whether a Tuner of somebody's own made it: Tune's account of trials, and not ours."""
    if os.path.lexists(folder / RECORD) or not any(folder.glob(TUNE_STATES)):
        return False
    return any(TUNE_TRIAL.fullmatch(name) for name in os.listdir(folder))


def inside(folder: Path, name: str) -> Path:
    """The path of what is called so in a folder. Raises ConfigError if it would be anywhere else, or is a link."""
    if not is_name(name):
        raise ConfigError(f"{folder} holds {name!r}: accepted are names without / and \\ that can be printed")
    path = folder / name
    if path.is_symlink():
        raise ConfigError(f"{path} is a link: in an experiment none is followed")
    return path


def trial_folders(experiment: Path) -> dict[str, Path]:
    """The folders of an experiment's trials, by number. Raises ConfigError for a link, or two of one number.

    In an experiment that is Tune's own, trials have Tune's ids in place of numbers, and come in Tune's order. Two
    Tuners of one name share a folder, and both count from 0.
    """
    found: dict[str, Path] = {}
    order: dict[str, int] = {}
    tunes_own = is_tunes_own(experiment)
    pattern = TUNE_TRIAL if tunes_own else TRIAL
    for name in _listed(experiment):
        match = pattern.fullmatch(name)
        if not match or not os.path.isdir(experiment / name):
            continue
        if tunes_own:
            key, place = match[2], int(match[3])
        else:
            key, place = match[1], int(match[1])
        if key in found:
            raise ConfigError(
                f"{found[key].name!r} and {name!r} in {experiment} are two folders of one trial: move the copy away"
            )
        found[key], order[key] = inside(experiment, name), place
    return {key: found[key] for key in sorted(found, key=order.__getitem__)}


def checkpoint_folders(trial: Path) -> list[Path]:
    """The folders of a trial's checkpoints, by number. Raises ConfigError if one is a link, or if it cannot be read."""
    found = []
    for name in sorted(_listed(trial), key=number):
        if number(name) >= 0 and os.path.isdir(trial / name):
            found.append(inside(trial, name))
    return found


def _listed(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise ConfigError(f"{folder} cannot be read: {error.strerror}") from None


def display(path: Path) -> str:
    """A path as it is typed here: as it is, or relative to the present folder, whichever is shorter."""
    return min(str(path), os.path.relpath(path), key=len)
