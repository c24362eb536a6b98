"""How long a trial is to train: so many iterations, or so many agent steps; and how long that takes, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainables.checks import ConfigError
from trainables.texts import counted

ITERATIONS = 150
"""Iterations of a trial of train.py, unless it is told otherwise: both learners play better than even by then."""

TIMESTEPS = 1_000_000
"""Agent steps of a sweep's trial, unless it is told otherwise: good settings come near parity by then."""

METRICS = {"timesteps": "timesteps_total", "iterations": "training_iteration"}
"""The metric that counts towards each limit, by the flag that sets the limit, without its dashes."""


@dataclass(frozen=True)
class Budget:
    """A limit of iterations, one of agent steps, or both: then the one that is reached first counts.

    Trials of different batches are comparable at equal steps, not after equally many iterations.
    """

    iterations: int | None
    timesteps: int | None = None

    @property
    def limits(self) -> dict[str, int]:
        """Limits by the metric that counts towards each."""
        found = {}
        for unit, metric in METRICS.items():
            limit = getattr(self, unit)
            if limit:
                found[metric] = limit
        return found

    @property
    def unit(self) -> str:
        """The flag whose limit trials are compared by: ``timesteps`` if steps are limited, else ``iterations``."""
        return "timesteps" if self.timesteps else "iterations"

    @property
    def noun(self) -> str:
        """One of what it counts."""
        return "agent step" if self.timesteps else "iteration"

    @property
    def time_attr(self) -> str:
        """The metric by which trials are compared (Tune's word)."""
        return METRICS[self.unit]

    @property
    def limit(self) -> int:
        """The limit by which trials are compared, in its own unit."""
        return self.limits[self.time_attr]

    @property
    def flags(self) -> list[str]:
        """The flags that ask for it, each followed by its value."""
        words = []
        for unit, metric in METRICS.items():
            if metric in self.limits:
                words += [f"--{unit}", str(self.limits[metric])]
        return words

    @property
    def doubled(self) -> "Budget":
        """A budget of twice as much."""
        return Budget(self.iterations and 2 * self.iterations, self.timesteps and 2 * self.timesteps)

    def extended(self, more: "Budget") -> "Budget":
        """This budget with the larger limits that ``more`` has; a limit that it leaves out stays.

        Raises ConfigError if there are none, or one that is not larger, or that there was not before.
        """
        if not more.limits:
            raise ConfigError(f"--extend needs --iterations or --timesteps: until now they are {self}")
        for unit in METRICS:
            now, before = getattr(more, unit), getattr(self, unit)
            if now and not before:
                raise ConfigError(f"--{unit} {now}: trials have {self}; give more --{self.unit}")
            if now and now <= before:
                raise ConfigError(f"--{unit} {now}: trials have {before} already; --extend needs more of them")
        return Budget(more.iterations or self.iterations, more.timesteps or self.timesteps)

    def made(self, row: Mapping[str, Any]) -> int:
        """How far the iteration took its trial, of which this is the result, in what the budget counts."""
        return int(row.get("timesteps_this_iter", 0)) if self.timesteps else 1

    def share(self, row: Mapping[str, Any]) -> float:
        """How much of it a result has used up, 1 for all or more."""
        return min(1.0, max(row.get(name, 0) / limit for name, limit in self.limits.items()))

    def spent(self, row: Mapping[str, Any]) -> list[str]:
        """The flags that set the limits to which a result has come."""
        found = []
        for unit, metric in METRICS.items():
            limit = self.limits.get(metric)
            if limit and row.get(metric, 0) >= limit:
                found.append(f"--{unit}")
        return found

    def ended(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Whether results end where the budget does: the last one, and no earlier one, has used it up."""
        return bool(rows) and self.share(rows[-1]) == 1 and (len(rows) == 1 or self.share(rows[-2]) < 1)

    def __str__(self) -> str:
        words = []
        if self.timesteps:
            words.append(f"{self.timesteps:,} agent steps")
        if self.iterations:
            words.append(counted(self.iterations, "iteration"))
        return " or ".join(words)


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them: ``100 s``, ``25 min``, ``3.5 h``, ``4 days``."""
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < 172800:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} days"


def clock(seconds: float) -> str:
    """Seconds to the second: ``40 s``, ``25 min 07 s``, ``3 h 05 min 09 s``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min {rest:02} s"
    if minutes:
        return f"{minutes} min {rest:02} s"
    return f"{rest} s"
