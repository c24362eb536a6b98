"""The flags of a sweep: what is swept, how far, and who decides which trials go on."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from experiments.ask.budget import TIMESTEPS, Budget
from experiments.ask.flags import LENGTH, require_positive, shown
from experiments.ask.modes import FORK, NEW, RESUME, SMOKE_TEST, STARTS, Counts
from trainables.checks import Bounds, ConfigError, check_fields

SchedulerName = Literal["halving", "asha", "fifo", "pbt"]

SAMPLES = 8
"""Trials of a sweep whose scheduler makes no plan of its own."""


@dataclass(frozen=True)
class SweepFlags:
    """What is swept, how far, and how trials are stopped."""

    num_samples: Annotated[int | None, Counts((NEW,)), shown("N", "default: what time allows")] = None
    """Trials (with --seeds configurations), whose settings are drawn so that they cover the search space evenly.
    Without it halving begins as many as it has time for (9 at most, unless the last one has 4 million steps), and other
    schedulers 8."""

    iterations: Annotated[int | None, LENGTH, shown("N", "default: no limit")] = None
    """Updates of a trial that is not stopped early."""

    timesteps: Annotated[int | None, LENGTH, shown("N", "default: what time allows")] = None
    """Agent steps of a trial that is not stopped early. Trials are compared at equal steps, which is fair to trials of
    different batches; with --iterations alone, at equally many updates. Without either halving gives the last trial as
    many steps as it has time for, and other schedulers give each a million."""

    time_budget_s: Annotated[float, Bounds(0, low_included=False)] = 1800.0
    """Seconds that halving plans for, and after which any sweep ends, whatever is left to do. --resume has as many
    again."""

    scheduler: Annotated[SchedulerName, Counts((NEW, FORK))] = "halving"
    """halving compares all trials at a few rungs and lets the best third go on; asha stops trials that lag behind
    those that came before them, pbt copies those that lead, fifo runs every trial to its end."""

    preset: Annotated[str, Counts((NEW,)), tyro.conf.arg(metavar="NAME")] = "default"
    """Named settings, and the search space around them."""

    num_workers: Annotated[int | None, shown("N", "default: swept")] = None
    """Rollout actors of every trial."""

    batch_size: Annotated[int | None, shown("N", "default: the learner's")] = None
    """Experience per update: games of the policy gradient, agent steps of TRPO."""

    max_concurrent: Annotated[int | None, shown("N", "default: as many as the CPUs hold")] = None
    """Trials that run at once."""

    seed: Annotated[int, Counts((NEW, SMOKE_TEST)), Bounds(0)] = 0
    """Decides what is drawn; trial i runs with seed + i, or with --seeds N all configurations with seed to
    seed + N - 1."""

    seeds: Annotated[int, Counts((NEW,)), Bounds(1)] = 1
    """Seeds of each configuration, which begins as so many trials: halving decides on their mean, and lets all of them
    go on or none; fifo runs them all; asha and pbt take one."""

    set: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]],
        Counts(repeatable=True),
        shown("KEY=VALUE", "repeatable"),
    ] = ()
    """Fix any setting of the learner's configuration in all trials."""

    sweep: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]],
        Counts((NEW,), repeatable=True),
        shown("KEY=VALUES", "repeatable"),
    ] = ()
    """Sweep this setting: choices, as gamma=0.98,0.99, a range, as learning_rate=1e-4..1e-2:log, or so many values of
    it, as gamma=0.9..0.99:4. What is named so, or in --space, is then all that is swept, in place of the preset's
    space."""

    space: Annotated[Path | None, Counts((NEW,)), shown("FILE", "default: the preset's")] = None
    """Sweep the settings in this file: YAML with a line KEY: VALUES for each, in --sweep's words, or Python as in
    search_spaces/, which is run. --sweep adds to it, so a preset's space can be had with a change: give its file."""

    grid: Annotated[bool, Counts((NEW,))] = False
    """Run every combination of the choices once, in place of even draws; of a range, say how many values."""

    confirm: Annotated[int, Counts((*STARTS, RESUME)), Bounds(0)] = 0
    """Afterwards, or with --resume of a sweep that has ended, run the best N configurations again with fresh seeds: how
    much of their scores was luck?"""

    confirm_seeds: Annotated[int, Counts((*STARTS, RESUME), beside="confirm"), Bounds(2)] = 3
    """Fresh seeds of each configuration that --confirm runs again."""

    smoke_test: Annotated[bool, Counts((SMOKE_TEST,))] = False
    """2 trials of 2 short iterations on real Pong (--preset smoke): does everything work here?"""

    dry_run: bool = False
    """Print the plan and stop."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)
        require_positive(self, "num_samples", "iterations", "timesteps", "num_workers", "batch_size", "max_concurrent")
        if self.grid and self.num_samples:
            raise ConfigError(f"--grid runs all combinations: leave --num-samples {self.num_samples} out")
        if self.confirm and self.scheduler == "pbt":
            raise ConfigError(
                "--confirm runs fixed settings again, and pbt's trials have none; use halving, asha or fifo"
            )

    @property
    def settled(self) -> "SweepFlags":
        """These flags, with what --smoke-test fixes if it was asked for."""
        if not self.smoke_test:
            return self
        return dataclasses.replace(self, preset="smoke", scheduler="fifo", num_samples=2, iterations=2)

    @property
    def confirmation(self) -> dict[str, int] | None:
        """What --confirm asks for."""
        return {"best": self.confirm, "seeds": self.confirm_seeds} if self.confirm else None

    @property
    def budget(self) -> Budget:
        """How long a trial trains."""
        return Budget.of(self.iterations, self.timesteps, default=Budget(None, TIMESTEPS))

    def settings(self, batch_field: str) -> dict[str, Any]:
        """The settings that are the same in all trials; ``batch_field`` is what the learner calls its batch.

        Raises ConfigError for a ``--set`` that is no assignment, and for a setting that is given twice.
        """
        flags = {"num_workers": ("--num-workers", self.num_workers), batch_field: ("--batch-size", self.batch_size)}
        given = [(name, *flag) for name, flag in flags.items() if flag[1] is not None]
        given += [(name, "--set", value) for name, value in map(_assignment, self.set)]
        settings: dict[str, Any] = {}
        for name, flag, value in given:
            if name in settings:
                raise ConfigError(f"{flag} {name}={value} comes on top of {name}={settings[name]}: give it once")
            settings[name] = value
        return settings


def _assignment(text: str) -> tuple[str, Any]:
    """A ``key=value`` text; the value in JSON's notation, or else plain text. Raises ConfigError."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set {text!r}: accepted is key=value")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value
