"""``best``: the command that trains the best configuration."""

import json
from dataclasses import dataclass

from experiments.ask.own_code import OwnCode
from experiments.plan.own import import_typed
from experiments.read.next_command import best_command
from experiments.show.text import line
from experiments.subcommands.storage import One


@dataclass(frozen=True)
class Best(One, OwnCode):
    """Print the command that trains the configuration with the best latest return (mean over its seeds).

    Example: python experiments/results.py best first --json
    """

    json: bool = False
    """Print configuration, score and command as JSON."""

    def run(self) -> None:
        """Print the best configuration."""
        import_typed(self.learner)
        experiment = self.read_named()
        command, best = best_command(experiment)
        if self.json:
            print(json.dumps({"learner": experiment.learner} | best | {"command": command}))
        else:
            line(command)
