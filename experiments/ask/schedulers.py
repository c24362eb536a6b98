"""Who decides which trials of a sweep go on: all that is known of a scheduler, in one table.

Another one is a file in ``run/`` with its class, and an entry here. Code that treats schedulers differently asks this
table.
"""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, NamedTuple

from experiments.ask.budget import Budget
from trainables.checks import ConfigError, unknown


class Scheduler(NamedTuple):
    """A scheduler, called by its key in ``SCHEDULERS``."""

    help: str
    made_by: str
    """The class, MODULE:NAME. It is called with the learner, the experiment's folder, its specification and what its
    trials did before (``disk/restored.py``): Tune forgets what a scheduler knows when a program ends."""

    first_decision: int = 10
    """It first decides about a trial that has used its budget divided by this."""

    compares: bool = True
    """Whether the returns of trials decide which of them go on."""

    has_rungs: bool = False
    """Whether it compares all trials at a few rungs, which are planned to fit into the time budget."""

    lends_cores: bool = False
    """Whether a trial can have more or fewer workers than it asks for."""

    joins_seeds: bool = False
    """Whether it accepts several seeds of a configuration."""

    def interval(self, budget: Budget) -> int:
        """How far a trial is when it first decides about it, in what the budget counts."""
        return max(1, budget.limit // self.first_decision)

    @property
    def of_tune(self) -> Any:
        """The class, one of Tune's ``TrialScheduler``."""
        return resolve_name(self.made_by)


SCHEDULERS = {
    "halving": Scheduler(  # Jamieson and Talwalkar 2016
        "compares all trials at a few rungs and lets the best third go on",
        "experiments.run.halving:Halving",
        has_rungs=True,
        lends_cores=True,
        joins_seeds=True,
    ),
    # Li et al. 2020. At a tenth of 1 M steps good and bad settings have returns of -20 to -18.5, in an order that is
    # luck; at a fifth they are up to 3 points apart.
    "asha": Scheduler(
        "stops trials that lag behind those that came before them",
        "experiments.run.independent:ASHA",
        first_decision=5,
    ),
    "fifo": Scheduler(
        "runs every trial to its end", "experiments.run.independent:FIFO", compares=False, joins_seeds=True
    ),
}


def require_scheduler(name: str) -> None:
    """Raise ConfigError for a scheduler that there is not."""
    if name == "pbt":  # an earlier version had it
        raise ConfigError(
            "scheduler 'pbt': population based training is now Ray Tune's own, in a tune.Tuner with our Trainables:"
            " docs/library.md shows it"
        )
    if name not in SCHEDULERS:
        raise ConfigError(unknown("scheduler", name, SCHEDULERS))


def those(wanted: Callable[[Scheduler], bool]) -> str:
    """The names of the schedulers for which ``wanted`` is true: ``halving, asha or fifo``."""
    *others, last = [name for name, of in SCHEDULERS.items() if wanted(of)]
    return f"{', '.join(others)} or {last}" if others else last
