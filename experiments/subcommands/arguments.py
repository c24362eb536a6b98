"""What subcommands of results.py, and watch.py, are given: which experiments or policy, and code to import."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from experiments.disk import saved_policies
from experiments.disk.experiments import Experiment, read_experiment
from experiments.disk.spec import find
from experiments.plan.learners import learner_typed
from trainables.saved import Checkpoints


@dataclass(frozen=True)
class Storage:
    """Where experiments are looked for by name."""

    storage_path: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path("results")
    """Folder that holds experiments."""


@dataclass(frozen=True)
class Several(Storage):
    """Experiments to look at together."""

    experiments: Annotated[
        tyro.conf.Positional[tuple[str, ...]],
        tyro.conf.arg(metavar="EXPERIMENT [EXPERIMENT ...]", help_behavior_hint=""),
    ] = ()
    """Names in the storage path, or paths."""

    def read(self) -> list[Experiment]:
        """All of them. Raises ConfigError, listing what there is, if none is named or one is not there."""
        return [read_experiment(find(self.storage_path, name)) for name in self.experiments or [""]]


@dataclass(frozen=True)
class OwnCode(Storage):
    """Code that a program may import."""

    learner: Annotated[str | None, tyro.conf.arg(metavar="MODULE:CLASS", help_behavior_hint="")] = None
    """The learner, if it is one of your own: its module is imported (docs/own_learner.md)."""

    def import_learner(self) -> None:
        """Import it, if one was named. Raises ConfigError if that fails."""
        if self.learner:
            learner_typed(self.learner)


@dataclass(frozen=True)
class One(OwnCode):
    """An experiment to look at."""

    experiment: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="EXPERIMENT", help_behavior_hint="")] = ""
    """Name in the storage path, or path."""

    def read(self) -> Experiment:
        """The experiment, its learner imported. Raises ConfigError, listing what there is, if it is not there."""
        self.import_learner()
        return read_experiment(find(self.storage_path, self.experiment))


@dataclass(frozen=True)
class Policy(OwnCode):
    """A policy to take from its checkpoint."""

    target: Annotated[
        tyro.conf.Positional[str], tyro.conf.arg(metavar="CHECKPOINT|TRIAL|EXPERIMENT", help_behavior_hint="")
    ] = ""
    """A path, the name of an experiment in the storage path, or trained/pg or trained/trpo, which come along."""

    def find(self) -> Checkpoints:
        """The trial's checkpoints, one of them usable, the learner imported. Raises ConfigError if there is none."""
        self.import_learner()
        return saved_policies.find(self.storage_path, self.target)
