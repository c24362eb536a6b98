"""Look at experiments, running, killed or finished: what there is, what was best, and a report with all figures."""

import dataclasses
import datetime
import json
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich import filesize
from rich.console import Console
from rich.table import Table

from experiments.ask.budget import Budget
from experiments.ask.command_line import clean_exit, neighbour, parse, program, subcommand
from experiments.ask.flags import TrainFlags
from experiments.ask.words import duration
from experiments.plan.learners import LEARNERS
from experiments.read import policies
from experiments.read.configurations import candidates
from experiments.read.trials import ENDED, Experiment, read_experiment
from experiments.record import folders
from experiments.run.confirm import pending
from trainables.checks import ConfigError
from trainables.config import Config

DESCRIPTION = """Look at experiments, running, killed or finished.

Examples:
  python experiments/results.py list                            what is there, and how it goes on
  python experiments/results.py report first                    figures and tables: first/report.html, report.md
  python experiments/results.py report pg-1 trpo-1 --out both.html
  python experiments/results.py best first                      the command that trains the best configuration
  python experiments/results.py export first --out policy       the best policy alone, small enough to give away
"""

PROGRAMS = Path(__file__).parent


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

        path = self.out or experiments[0].folder / "report.html"
        try:
            files = write(report(experiments), path)
        except OSError as error:
            raise ConfigError(f"--out {path} cannot be written: {error.strerror}") from None
        for file in files:
            print(f"{folders.display(file.absolute())}  ({filesize.decimal(file.stat().st_size)})")


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
        best = next(iter(candidates(experiment, 1)), None)
        if best is None:
            raise ConfigError(f"{experiment.name} has no results yet")
        trial = max((trial for trial in best.trials if trial.rows), key=lambda trial: trial.last)
        config = LEARNERS[experiment.learner].config_class.from_dict(trial.config)
        budget = Budget(experiment.record.get("iterations"), experiment.record.get("timesteps"))
        command = train_command(experiment.learner, config, budget if budget.limits else Budget(trial.iterations))
        if not self.json:
            print(command)
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
        print(
            f"{folders.display(best.folder)}: iteration {best.iteration}, {best.score:.1f} in training (last 100 games)"
        )
        print(f"Watch:  {neighbour('watch.py')} {folders.display(self.out.absolute())}  ({filesize.decimal(size)})")


@dataclass(frozen=True)
class List(Storage):
    """Show the experiments in a storage path: state, trials, best return, size, age, and how to go on.

    Example: python experiments/results.py list --storage-path results
    """

    def run(self) -> None:
        """Print the table, and the commands that resume."""
        names = folders.existing(self.storage_path)
        if not names:
            raise ConfigError(f"no experiments in {self.storage_path}")
        experiments = [self.read(name) for name in names]
        experiments.sort(key=_age)
        table = Table(box=None, pad_edge=False)
        for column in ("experiment", "state", "learner"):
            table.add_column(column, overflow="fold")
        for column in ("trials done", "best return", "size", "age"):
            table.add_column(column, justify="right")
        for experiment in experiments:
            table.add_row(*_row(experiment))
        Console(markup=False).print(table)
        for experiment in experiments:
            if command := resume_command(experiment):
                print(f"\nResume {experiment.name}:  {command}")


def train_command(learner: str, config: Config, budget: Budget) -> str:
    """The command that trains this configuration; it names only what differs from train.py's defaults."""
    words, preset = [], LEARNERS[learner].preset(TrainFlags.preset)
    flags = TrainFlags(iterations=budget.iterations, timesteps=budget.timesteps)
    defaults: Any = [(config, type(config).from_dict(preset)), (flags, TrainFlags())]
    for settings, default in defaults:
        for field in dataclasses.fields(settings):
            value, flag = getattr(settings, field.name), field.name.replace("_", "-")
            if value == getattr(default, field.name):
                continue
            if isinstance(value, bool):
                words.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                words += [f"--{flag}", *map(str, value if isinstance(value, tuple) else [value])]
    return shlex.join(["python", folders.display(PROGRAMS / "train.py"), learner, *words])


def resume_command(experiment: Experiment) -> str:
    """The command that goes on with an experiment; empty if it runs, or has nothing left to do."""
    program, *words = [str(word) for word in experiment.record.get("command", [""])]
    if not program or _state(experiment) in ("running", "finished", "confirming"):
        return ""
    learner = [word for word in words[:1] if not word.startswith("-")]  # train.py's; sweeps have none
    # A confirmation is gone on with by its sweep, which then compares the two.
    folder = experiment.folder.with_name(experiment.record.get("confirms") or experiment.name)
    where = folders.display(folder)
    return shlex.join(["python", folders.display(PROGRAMS / program), *learner, "--resume", where])


def _state(experiment: Experiment) -> str:
    return pending(experiment) or experiment.state


def _row(experiment: Experiment) -> list[str]:
    done = sum(trial.state in ENDED and trial.state != "failed" for trial in experiment.trials)
    failed = sum(trial.state == "failed" for trial in experiment.trials)
    planned = len(experiment.record.get("configs", experiment.trials))
    size = sum(path.stat().st_size for path in experiment.folder.rglob("*") if path.is_file())
    return [
        experiment.name,
        _state(experiment),
        experiment.learner,
        f"{done}/{planned}" + (f", {failed} failed" if failed else ""),
        f"{experiment.best.last:.1f}" if experiment.best else "",
        filesize.decimal(size),
        duration(_age(experiment)),
    ]


def _age(experiment: Experiment) -> float:
    """Seconds since the experiment was started."""
    started = experiment.record.get("started")
    if started:
        return time.time() - datetime.datetime.fromisoformat(started).timestamp()
    return time.time() - (experiment.folder / folders.RECORD).stat().st_mtime


@clean_exit()
def main() -> None:
    """Do what the command line says."""
    commands = {command.__name__.lower(): command for command in (Report, Best, Export, List)}
    name = subcommand("command", commands, DESCRIPTION)
    parse(commands[name], prog=f"{program()} {name}", args=sys.argv[2:]).run()


if __name__ == "__main__":
    main()
