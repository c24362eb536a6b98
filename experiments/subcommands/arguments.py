"""What subcommands of results.py are given: which experiments, where they lie, and code that may be imported."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from experiments.plan.learners import learner_typed
from experiments.read.experiments import Experiment, read_experiment
from experiments.record.spec import find


@dataclass(frozen=True)
class Storage:
    """Where experiments are looked for by name."""

    storage_path: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path("results")
    """Folder that holds experiments."""

    def read(self, name_or_path: str) -> Experiment:
        """An experiment by name or path. Raises ConfigError, listing what there is, if it is not there."""
        return read_experiment(find(self.storage_path, name_or_path))


@dataclass(frozen=True)
class One(Storage):
    """An experiment to look at."""

    experiment: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="EXPERIMENT", help_behavior_hint="")] = ""
    """Name in the storage path, or path."""

    def read_named(self) -> Experiment:
        """The experiment. Raises ConfigError, listing what there is, if none is named or it is not there."""
        return self.read(self.experiment)


@dataclass(frozen=True)
class Several(Storage):
    """Experiments to look at together."""

    experiments: Annotated[
        tyro.conf.Positional[tuple[str, ...]],
        tyro.conf.arg(metavar="EXPERIMENT [EXPERIMENT ...]", help_behavior_hint=""),
    ] = ()
    """Names in the storage path, or paths."""

    def read_named(self) -> list[Experiment]:
        """All of them. Raises ConfigError, listing what there is, if none is named or one is not there."""
        return [self.read(name) for name in self.experiments or [""]]


@dataclass(frozen=True)
class OwnCode:
    """Code that a program may import."""

    learner: Annotated[str | None, tyro.conf.arg(metavar="MODULE:CLASS", help_behavior_hint="")] = None
    """The learner, if it is one of your own: its module is imported (docs/own_learner.md)."""

    def import_learner(self) -> None:
        """Import it, if one was named. Raises ConfigError if that fails."""
        if self.learner:
            learner_typed(self.learner)
