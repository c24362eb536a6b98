"""``list``: what there is, and how it goes on."""

from dataclasses import dataclass

from experiments.read.experiments import read_all
from experiments.read.luck import state_with_confirmation
from experiments.read.next_command import next_command
from experiments.show.tables import age, experiment_table
from experiments.show.text import line, print_table
from experiments.subcommands.storage import Storage
from trainables.checks import ConfigError


@dataclass(frozen=True)
class List(Storage):
    """Show the experiments in a storage path: state, trials, best return, size, age, and how to go on.

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
            if state_with_confirmation(experiment) in ("interrupted", "failed", "unconfirmed") and (
                command := next_command(experiment.folder, experiment.spec, over=False)
            ):
                line()
                line(f"Resume {experiment.name}:  {command}")
