"""``report``: figures and tables of one or several experiments."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from experiments.subcommands.storage import Several


@dataclass(frozen=True)
class Report(Several):
    """Write one HTML file with all figures inside, and the same as Markdown with a folder of figures.

    Runs that differ in seed and parallelism alone are drawn as one curve with its 95% band, also across experiments.

    Example: python experiments/results.py report pg-1 trpo-1 --out both.html
    """

    out: Annotated[
        Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: report.html in the first experiment)")
    ] = None
    """The HTML file."""

    def run(self) -> None:
        """Write the report."""
        experiments = self.read_named()
        from experiments.show.page import publish
        from experiments.show.report import report

        publish(report(experiments), self.out, experiments[0].folder, "report.html")
