"""``export``: the best policy alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich import filesize

from experiments.ask.own_code import OwnCode
from experiments.plan.own import import_typed
from experiments.read import policies
from experiments.read.next_command import watch_command
from experiments.record import folders
from experiments.show.text import line
from experiments.subcommands.storage import Storage
from trainables.checks import ConfigError


@dataclass(frozen=True)
class Export(Storage, OwnCode):
    """Write the best policy alone into a new folder, in half precision: watch.py plays it, and it can be given away.

    Example: python experiments/results.py export first --out policy
    """

    target: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(metavar="CHECKPOINT|TRIAL|EXPERIMENT", help_behavior_hint=""),
    ] = ""
    """A path, or the name of an experiment in the storage path."""

    out: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path("policy")
    """The new folder."""

    def run(self) -> None:
        """Write the policy."""
        import_typed(self.learner)
        best = policies.best_of(policies.find(self.storage_path, self.target))
        try:
            size = policies.export(best, self.out)
        except OSError as error:
            raise ConfigError(f"--out {self.out} cannot be written: {error.strerror}") from None
        where = folders.display(best.folder)
        line(f"{where}: iteration {best.iteration}, {best.in_training}")
        line(f"Watch:  {watch_command(self.out.absolute(), best.state.learner)}  ({filesize.decimal(size)})")
