"""``table``: results for other programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from experiments.read.frame import Frames
from experiments.show.files import Format, format_of, put
from experiments.subcommands.storage import Several
from trainables.checks import ConfigError


@dataclass(frozen=True)
class Table(Several):
    """Experiments' trials with results and settings as CSV, JSON or Parquet; docs/python.md has the columns.

    Example: python experiments/results.py table pg-1 pg-2 --rows --out rows.parquet
    """

    rows: bool = False
    """A line for each iteration, with its metrics, in place of one for each trial."""

    windows: bool = False
    """A line for each window of 250,000 agent steps, with the mean return of the games that ended in it."""

    format: Annotated[
        Format | None, tyro.conf.arg(help_behavior_hint="(default: as the name of --out ends, else csv)")
    ] = None
    """How to write it."""

    out: Annotated[
        Path | None,
        tyro.conf.arg(metavar="FILE", aliases=["--output"], help_behavior_hint="(default: standard output)"),
    ] = None
    """The file."""

    def run(self) -> None:
        """Write the table."""
        if self.rows and self.windows:
            raise ConfigError("--rows and --windows are two tables: write one after the other")
        frames = Frames(*self.read_named())
        frame = frames.rows() if self.rows else frames.windows() if self.windows else frames.trials()
        put(frame, self.format or format_of(self.out), self.out)
