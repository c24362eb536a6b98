"""``verify``: is what was recorded what the code plays?"""

import secrets
from dataclasses import dataclass
from typing import Annotated

import tyro

from experiments.ask.own_code import OwnCode
from experiments.plan.own import import_typed
from experiments.plan.resources import local_cpus
from experiments.subcommands.storage import One
from trainables.checks import Bounds, check_fields


@dataclass(frozen=True)
class Verify(One, OwnCode):
    """Play random iterations again, from the checkpoints beside them, and compare rows and arrays bit for bit.

    A stretch goes from a checkpoint of a trial, or its beginning, to the next one that is kept; a run with
    --keep-checkpoints all has short ones. The first difference is named, and the exit status is then 1. Times, and
    what tells where and how often a trial ran, are not compared. The experiment's files stay as they are.

    Example: python experiments/results.py verify first --iterations 20
    """

    iterations: Annotated[int, Bounds(0)] = 10
    """Iterations to play, of all trials together (0: all that can be). A stretch that is cut off by it ends without a
    look at arrays."""

    num_workers: Annotated[
        int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: one for each core)")
    ] = None
    """Rollout actors: any number, whatever the trials had."""

    seed: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: another each time)")] = None
    """Decides which iterations are drawn."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)

    def run(self) -> None:
        """Verify, and end the program with status 1 if something is different."""
        import_typed(self.learner)
        experiment = self.read_named()
        from experiments.run.verify import verify  # Ray takes a second to import

        seed = secrets.randbelow(10**6) if self.seed is None else self.seed
        workers = local_cpus() if self.num_workers is None else self.num_workers
        if not verify(experiment, self.iterations, seed, workers):
            raise SystemExit(1)
