"""Subcommands of results.py that look at experiments: lists, reports, comparisons, tables, and what was best.

What they are given, as other subcommands and watch.py are, stands first: which experiments or policy, and code to
import.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich import filesize

from experiments.analysis.caveats import caveats
from experiments.analysis.comparison import compare
from experiments.analysis.frame import Frames
from experiments.analysis.next_command import RESUME, best_command, next_command, next_step, watch_command
from experiments.ask.flags import shown
from experiments.ask.streams import require_written
from experiments.disk import saved_policies
from experiments.disk.experiments import Experiment, read_all, read_experiment, read_group
from experiments.disk.spec import find
from experiments.disk.states import fell
from experiments.plan.learners import learner_typed
from experiments.show.outputs import Format, place_for, put
from experiments.show.tables import age, experiment_table
from experiments.show.text import line, print_table, say
from trainables.checks import Bounds, ConfigError, check_fields
from trainables.saved import Checkpoints
from trainables.texts import printable


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
    """A learner of one's own, whose code a program may import."""

    learner: Annotated[str | None, tyro.conf.arg(metavar="MODULE:CLASS", help_behavior_hint="")] = None
    """The learner, if it is one of your own: its module is imported (docs/own_learner.md)."""

    def import_learner(self) -> None:
        """Import the learner, if one was named. Raises ConfigError if that fails."""
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


@dataclass(frozen=True)
class List(Storage):
    """Show the experiments in a storage path: state, trials, best score, size, age, and how to go on.

    One whose files cannot be understood is "damaged".

    Example: python experiments/results.py list --storage-path results
    """

    def run(self) -> None:
        """Print the table, and the commands that resume."""
        experiments, damaged = read_all(self.storage_path)
        if not experiments and not damaged:
            raise ConfigError(f"no experiments in {self.storage_path}")
        experiments.sort(key=age)
        print_table(experiment_table(experiments, damaged))
        for name, reason in damaged.items():
            line()
            line(f"Damaged {name}:  {reason}")
        for experiment in experiments:
            command = next_command(experiment)
            if command and next_step(experiment) == RESUME:
                line()
                line(f"Resume {experiment.name}:  {command}")


@dataclass(frozen=True)
class Report(Several):
    """Write one HTML file with all figures inside, and the same as Markdown with a folder of figures.

    Runs that differ in seed and parallelism alone are drawn as one curve with its 95% band, also across experiments.

    Example: python experiments/results.py report pg-1 trpo-1 --out both.html
    """

    out: Annotated[Path | None, shown("FILE", "default: report.html in the first experiment")] = None
    """The HTML file."""

    def run(self) -> None:
        """Write the report."""
        experiments = self.read()
        # These load matplotlib, which --help and a wrong name have no use for.
        from experiments.show.page import publish
        from experiments.show.report import report

        publish(report(experiments), self.out, experiments[0].folder, "report.html")


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
    """How many configurations of each to compare, those with the best latest scores (0: all)."""

    out: Annotated[Path | None, shown("FILE", "default: comparison.html in the first experiment")] = None
    """The HTML file."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)

    def run(self) -> None:
        """Write the page, and print what can be told apart."""
        groups = [read_group(self.storage_path, names) for names in self.experiments or [""]]
        found = compare(groups, self.window, self.steps, self.best)
        # These load matplotlib, as in a report.
        from experiments.show.comparison_page import comparison_page, verdict
        from experiments.show.page import publish

        experiments = []
        for group in groups:
            experiments += group
        publish(comparison_page(found, experiments), self.out, groups[0][0].folder, "comparison.html")
        for pair in found.pairs:
            say(verdict(pair, found.steps))
        for text in caveats(found):
            say(text)
        for side in found.sides:
            if side.configuration.remarks:
                say(f"{side.label}: of its trials {side.configuration.remarks}.")


@dataclass(frozen=True)
class Table(Several):
    """Experiments' trials with results and settings as CSV, JSON or Parquet; docs/reference.md has the columns.

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
        frames = Frames(*self.read())
        if self.rows:
            frame = frames.rows()
        elif self.windows:
            frame = frames.windows()
        else:
            frame = frames.trials()
        put(frame, self.format, self.out)


@dataclass(frozen=True)
class Best(One):
    """Print the command that trains the best configuration: after halving the winner, else the best latest score.

    Example: python experiments/results.py best first --json
    """

    json: bool = False
    """Print configuration, score and command as JSON."""

    def run(self) -> None:
        """Print the best configuration."""
        experiment = self.read()
        command, best = best_command(experiment)
        if self.json:
            print(json.dumps({"learner": experiment.learner} | best | {"command": command}))
            require_written()
            return
        line(command)
        how = fell(best["state"])
        if how:
            note(f"its best trial {how} after iteration {best['iterations']}.")
        if best["baseline"]:
            note("this is the baseline: the preset's own settings.")
        if best["origin"]:
            text = f"this is {best['origin']}."
            if best["from_scratch"]:
                text += " The command trains from scratch, which is another thing: the score is not its own."
            note(text)


def note(text: str) -> None:
    """Print on standard error what a command on standard output does not say."""
    print(printable(f"Note: {text}"), file=sys.stderr)


@dataclass(frozen=True)
class Export(Policy):
    """Write the best policy alone into a new folder, in half precision: it can be given away.

    To have it play: python experiments/watch.py results/first/policy

    Example: python experiments/results.py export first --out policy
    """

    out: Annotated[Path | None, shown("DIR", "default: policy, in the experiment")] = None
    """The new folder."""

    def run(self) -> None:
        """Write the policy."""
        best = self.find().best
        assert best
        out = self.out or place_for(best.folder, "policy")
        try:
            size = saved_policies.export(best, out)
        except OSError as error:
            raise ConfigError(f"--out {out} cannot be written: {error.strerror}") from None
        line(saved_policies.in_words(best))
        line(f"Watch:  {watch_command(out.absolute(), best.state.learner)}  ({filesize.decimal(size)})")
