"""``export``: the best policy alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich import filesize

from experiments.ask.command_line import neighbour
from experiments.read import policies
from experiments.record import folders
from experiments.show.text import line
from experiments.subcommands.storage import Storage
from trainables.checks import ConfigError


@dataclass(frozen=True)
class Export(Storage):
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
        best = policies.best_of(policies.find(self.storage_path, self.target))
        try:
            size = policies.export(best, self.out)
        except OSError as error:
            raise ConfigError(f"--out {self.out} cannot be written: {error.strerror}") from None
        where = folders.display(best.folder)
        line(f"{where}: iteration {best.iteration}, {best.score:.1f} in training (last 100 games)")
        line(f"Watch:  {neighbour('watch.py')} {folders.display(self.out.absolute())}  ({filesize.decimal(size)})")
