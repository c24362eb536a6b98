"""``compare``: which configuration is better."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from experiments.read.comparison import compare
from experiments.read.experiments import read_group
from experiments.show.text import line
from experiments.subcommands.storage import Several
from trainables.checks import Bounds, check_fields


@dataclass(frozen=True)
class Compare(Several):
    """Which configuration is better, by its seeds at equal agent steps, and how sure is that?

    The others are compared with the first. Experiments joined by commas count as one: the seeds of a configuration.

    Example: python experiments/results.py compare old-1,old-2,old-3 new-1,new-2,new-3
    """

    window: Annotated[int, Bounds(0)] = 0
    """Agent steps over which returns are averaged (0: 250,000, or less if a run is short)."""

    steps: Annotated[int, Bounds(0)] = 0
    """Agent steps to compare at, where seeds that did not come so far are left out (0: as far as all came)."""

    best: Annotated[int, Bounds(0)] = 0
    """How many configurations of each to compare, those with the best latest returns (0: all)."""

    out: Annotated[
        Path | None,
        tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: comparison.html in the first experiment)"),
    ] = None
    """The HTML file."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)

    def run(self) -> None:
        """Write the page, and print what can be told apart."""
        groups = [read_group(self.storage_path, names) for names in self.experiments or [""]]
        found = compare(groups, self.window, self.steps, self.best)
        from experiments.show.comparison import comparison_page, verdict  # matplotlib takes a second to import
        from experiments.show.page import publish

        page = comparison_page(found, [experiment for group in groups for experiment in group])
        publish(page, self.out, groups[0][0].folder, "comparison.html")
        for pair in found.pairs:
            line(verdict(pair, found.steps))
