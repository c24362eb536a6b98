"""Look at experiments, running, killed or finished: what there is, what was best, and a report with all figures."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich import filesize

from experiments.ask.budget import Budget
from experiments.ask.command_line import clean_exit, neighbour, parse, program, subcommand
from experiments.plan.learners import LEARNERS
from experiments.read import policies
from experiments.read.configurations import best_configurations
from experiments.read.confirmations import state_with_confirmation
from experiments.read.next_command import next_command, train_command
from experiments.read.trials import Experiment, read_experiment
from experiments.record import folders, names
from experiments.show.table import print_table
from experiments.show.tables import age, experiment_table
from experiments.show.text import line
from trainables.checks import ConfigError

DESCRIPTION = """Look at experiments, running, killed or finished.

Examples:
  python experiments/results.py list                            what is there, and how it goes on
  python experiments/results.py report first                    figures and tables: first/report.html, report.md
  python experiments/results.py report pg-1 trpo-1 --out both.html
  python experiments/results.py best first                      the command that trains the best configuration
  python experiments/results.py export first --out policy       the best policy alone, small enough to give away
"""


@dataclass(frozen=True)
class Storage:
    """Where experiments are looked for by name."""

    storage_path: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path("results")
    """Folder that holds experiments."""

    def read(self, name_or_path: str) -> Experiment:
        """An experiment by name or path. Raises ConfigError, listing what there is, if it is not there."""
        return read_experiment(folders.find(self.storage_path, name_or_path))


@dataclass(frozen=True)
class Report(Storage):
    """Write one HTML file with all figures inside, and the same as Markdown with a folder of figures.

    Runs that differ in seed and parallelism alone are drawn as one curve with its 95% band, also across experiments.

    Example: python experiments/results.py report pg-1 trpo-1 --out both.html
    """

    experiments: Annotated[
        tyro.conf.Positional[tuple[str, ...]],
        tyro.conf.arg(metavar="EXPERIMENT [EXPERIMENT ...]", help_behavior_hint=""),
    ] = ()
    """Names in the storage path, or paths."""

    out: Annotated[
        Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: report.html in the first experiment)")
    ] = None
    """The HTML file."""

    def run(self) -> None:
        """Write the report."""
        experiments = [self.read(name) for name in self.experiments or [""]]
        from experiments.show.page import report  # matplotlib takes a second to import
        from experiments.show.write import write

        path = self.out or _free(experiments[0].folder, "report.html")
        try:
            files = write(report(experiments), path)
        except OSError as error:
            raise ConfigError(f"--out {path} cannot be written: {error.strerror}") from None
        for file in files:
            line(f"{folders.display(file.absolute())}  ({filesize.decimal(file.stat().st_size)})")


@dataclass(frozen=True)
class Best(Storage):
    """Print the command that trains the configuration with the best latest return (mean over its seeds).

    Example: python experiments/results.py best first --json
    """

    experiment: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="EXPERIMENT", help_behavior_hint="")] = ""
    """Name in the storage path, or path."""

    json: bool = False
    """Print configuration, score and command as JSON."""

    def run(self) -> None:
        """Print the best configuration."""
        experiment = self.read(self.experiment)
        best = next(iter(best_configurations(experiment, 1)), None)
        if best is None:
            raise ConfigError(f"{experiment.name} has no results yet")
        trial = max((trial for trial in best.trials if trial.rows), key=lambda trial: trial.last)
        config = LEARNERS[experiment.learner].config_class.from_dict(trial.config)
        budget = Budget.of_record(experiment.record)
        command = train_command(experiment.learner, config, budget if budget.limits else Budget(trial.iterations))
        if not self.json:
            line(command)
            return
        scores = {"score": best.score, "seeds": best.seeds, "iterations": trial.iterations}
        print(json.dumps({"learner": experiment.learner, "config": config.to_dict()} | scores | {"command": command}))


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
        line(
            f"{folders.display(best.folder)}: iteration {best.iteration}, {best.score:.1f} in training (last 100 games)"
        )
        line(f"Watch:  {neighbour('watch.py')} {folders.display(self.out.absolute())}  ({filesize.decimal(size)})")


@dataclass(frozen=True)
class List(Storage):
    """Show the experiments in a storage path: state, trials, best return, size, age, and how to go on.

    One whose files cannot be understood is "damaged".

    Example: python experiments/results.py list --storage-path results
    """

    def run(self) -> None:
        """Print the table, and the commands that resume."""
        found = folders.existing(self.storage_path)
        if not found:
            raise ConfigError(f"no experiments in {self.storage_path}")
        experiments, damaged = [], {}
        for name in found:
            try:
                experiments.append(self.read(name))
            except ConfigError as error:
                damaged[name] = str(error)
        experiments.sort(key=age)
        print_table(experiment_table(experiments, damaged))
        for name, reason in damaged.items():
            line()
            line(f"Damaged {name}:  {reason}")
        for experiment in experiments:
            if state_with_confirmation(experiment) in ("interrupted", "failed", "unconfirmed") and (
                command := next_command(experiment.folder, experiment.record, over=False)
            ):
                line()
                line(f"Resume {experiment.name}:  {command}")


def _free(experiment: Path, name: str) -> Path:
    """Where a file of this name goes in an experiment's folder. Raises ConfigError if none can be there."""
    path = names.inside(experiment, name)
    if path.exists() and not path.is_file():
        raise ConfigError(f"{path} is in the way: it is no file")
    return path


@clean_exit()
def main() -> None:
    """Do what the command line says."""
    commands = {command.__name__.lower(): command for command in (Report, Best, Export, List)}
    name = subcommand("command", commands, DESCRIPTION)
    parse(commands[name], prog=f"{program()} {name}", args=sys.argv[2:]).run()


if __name__ == "__main__":
    main()
