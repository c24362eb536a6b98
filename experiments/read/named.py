"""Experiments by the names that a user gives."""

from pathlib import Path

from experiments.read.trials import Experiment, read_experiment
from experiments.record import folders
from trainables.checks import ConfigError


def read_group(storage_path: Path, names: str) -> list[Experiment]:
    """An experiment by name or path, or several whose names are joined by commas.

    Raises ConfigError, listing what there is, if one is not there.
    """
    try:
        return [read_experiment(folders.find(storage_path, names))]
    except ConfigError:
        if "," not in names:
            raise
    return [read_experiment(folders.find(storage_path, name)) for name in names.split(",")]


def read_all(storage_path: Path) -> tuple[list[Experiment], dict[str, str]]:
    """The experiments in a storage folder, and by name what is wrong with those that cannot be understood."""
    experiments, damaged = [], {}
    for name in folders.existing(storage_path):
        try:
            experiments.append(read_experiment(folders.find(storage_path, name)))
        except ConfigError as error:
            damaged[name] = str(error)
    return experiments, damaged
