"""How long a trial is to train: so many updates, or so many agent steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ITERATIONS = 150
"""Updates of a trial of train.py, unless it is told otherwise: both learners play better than even by then."""

TIMESTEPS = 1_000_000
"""Agent steps of a sweep's trial, unless it is told otherwise: good settings come near parity by then."""


@dataclass(frozen=True)
class Budget:
    """A limit of updates, one of agent steps, or both: then the one that is reached first counts.

    Trials of different batches are comparable at equal steps, not at equal updates.
    """

    iterations: int | None
    timesteps: int | None = None

    @classmethod
    def of(cls, iterations: int | None, timesteps: int | None, default: "Budget") -> "Budget":
        """What flags ask for; without any, the default."""
        return cls(iterations, timesteps) if iterations or timesteps else default

    @property
    def limits(self) -> dict[str, int]:
        """Limits by the metric that counts towards each."""
        found = {"timesteps_total": self.timesteps, "training_iteration": self.iterations}
        return {name: limit for name, limit in found.items() if limit}

    @property
    def time_attr(self) -> str:
        """The metric by which trials are compared (Tune's word): steps if they are limited, else updates."""
        return next(iter(self.limits))

    @property
    def unit(self) -> str:
        """The flag that sets that limit, without its dashes: ``timesteps`` or ``iterations``."""
        return "timesteps" if self.timesteps else "iterations"

    def share(self, row: Mapping[str, Any]) -> float:
        """How much of it a result has used up, 1 for all or more."""
        return min(1.0, max(row.get(name, 0) / limit for name, limit in self.limits.items()))

    def ended(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Whether results end where the budget does: the last one, and no earlier one, has used it up."""
        return bool(rows) and self.share(rows[-1]) == 1 and (len(rows) == 1 or self.share(rows[-2]) < 1)

    def __str__(self) -> str:
        words = [f"{self.timesteps:,} agent steps"] if self.timesteps else []
        return " or ".join(words + ([f"{self.iterations} iterations"] if self.iterations else []))
