"""The flags that sweeps have beside those of all programs that run experiments."""

import contextlib
import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from experiments.ask.budget import TIMESTEPS, Budget
from experiments.ask.flags import LENGTH, Repeated, shown
from experiments.ask.modes import CONFIRM, FORK, NEW, SMOKE_TEST, STARTS, Counts
from experiments.ask.notations import SECONDS, UNDECIDED
from experiments.ask.schedulers import SCHEDULERS, require_scheduler
from trainables.checks import Bounds, ConfigError, check_fields

SAMPLES = 8
"""Trials of a sweep whose scheduler makes no plan of its own."""

FRESH = 3
"""Seeds of each configuration in a confirmation."""


@dataclass(frozen=True)
class SweepFlags:
    """What is swept, how far, and how trials are stopped."""

    num_samples: Annotated[int | None, Bounds(1), Counts((NEW,)), shown("N", "default: what time allows")] = None
    """Trials (with --seeds configurations): the baseline, and others whose settings cover the search space evenly.
    Without it halving begins as many as it has time for (9 at most, unless the last one has 4 million steps), and other
    schedulers 8. Optuna's n_trials."""

    iterations: Annotated[int | None, Bounds(1), LENGTH, shown("N", "default: no limit")] = None
    """Iterations of a trial that is not stopped early."""

    timesteps: Annotated[int | None, Bounds(1), LENGTH, shown("N", "default: what time allows")] = None
    """Agent steps of a trial that is not stopped early. Trials are compared at equal steps, which is fair to trials of
    different batches; with --iterations alone, after equally many. Without either halving gives the last trial as
    many steps as it has time for, and other schedulers give each a million."""

    time_budget_s: Annotated[float, Bounds(0, low_included=False), SECONDS] = 1800.0
    """Seconds that halving plans for, and after which any sweep ends, whatever is left to do. --resume has as many
    again."""

    scheduler: Annotated[
        str,
        Counts((NEW, FORK)),
        tyro.conf.arg(
            metavar="|".join(SCHEDULERS), help="; ".join(f"{name} {of.help}" for name, of in SCHEDULERS.items()) + "."
        ),
    ] = "halving"

    preset: Annotated[str, Counts((NEW,)), tyro.conf.arg(metavar="NAME")] = "default"
    """Named settings, and the search space around them."""

    num_workers: Annotated[int | None, Bounds(1), shown("N", "default: swept")] = None
    """Rollout actors of every trial."""

    max_concurrent: Annotated[int | None, Bounds(1), shown("N", "default: as many as the CPUs hold")] = None
    """Trials that run at once."""

    seed: Annotated[int, Counts((NEW, SMOKE_TEST)), Bounds(0)] = 0
    """Decides what is drawn, and the trials' own seeds, which the plan lists: 32 bits each, spawned from this one. With
    --seeds N all configurations have the same N."""

    seeds: Annotated[int | None, Counts((NEW, CONFIRM)), Bounds(1), shown("N", "default: 1; to confirm 3")] = None
    """Seeds of each configuration, which begins as so many trials: halving compares it by all of them, and lets all of
    them go on or none; fifo runs them all; asha takes one. With --confirm they are fresh ones."""

    set: Annotated[Repeated, Counts(repeatable=True), shown("KEY=VALUE", "repeatable")] = ()
    """Fix any setting of the learner's configuration in all trials."""

    sweep: Annotated[Repeated, Counts((NEW,), repeatable=True), shown("KEY=VALUES", "repeatable")] = ()
    """Sweep this setting: choices, as gamma=0.98,0.99, a range, as learning_rate=1e-4..1e-2:log, or so many values of
    it, as gamma=0.9..0.99:4. What is named so, or in --space, is then all that is swept, in place of the preset's
    space."""

    space: Annotated[Path | None, Counts((NEW,)), shown("FILE", "default: the preset's")] = None
    """Sweep the settings in this file: Python as in search_spaces/, in --sweep's words, which is run. --sweep adds to
    it, so a preset's space can be had with a change: give its file."""

    grid: Annotated[bool, Counts((NEW,))] = False
    """Run every combination of the choices once, in place of even draws; of a range, say how many values."""

    baseline: Annotated[bool | None, Counts((NEW,)), UNDECIDED, shown("True|False", "default: yes, but for a grid")] = (
        None
    )
    """Begin with the baseline: a trial that has the preset's own values of what is swept, so that the end says whether
    anything drawn is better. --num-samples counts it. --no-baseline leaves it out."""

    confirm: Annotated[str | None, Counts((CONFIRM,)), shown("NAME|PATH|URI", "with --best and --seeds")] = None
    """Start an experiment that runs the best configurations of a sweep that has ended, and its baseline, again with
    fresh seeds: how much of their scores was luck? Without --name it is called NAME-confirm, beside the sweep."""

    best: Annotated[int, Counts(STARTS, beside="confirm"), Bounds(1)] = 3
    """Configurations that --confirm runs again, beside the baseline."""

    smoke_test: Annotated[bool, Counts((SMOKE_TEST,))] = False
    """2 trials of 2 short iterations on real Pong (--preset smoke), some 15 seconds on free cores: does everything
    work here?"""

    dry_run: Annotated[bool, Counts(STARTS)] = False
    """Print the plan and stop."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)
        if self.grid and self.num_samples:
            raise ConfigError(f"--grid runs all combinations: leave --num-samples {self.num_samples} out")
        if self.grid and self.baseline is False:
            raise ConfigError("--grid has a baseline only with --baseline: leave --no-baseline out")
        if self.confirm and self.confirm.isdecimal():
            raise ConfigError(
                f"--confirm takes the name of a sweep that has ended: leave it out now, and type --confirm NAME --best"
                f" {self.confirm} when it has"
            )
        if self.confirm and self.seeds == 1:
            raise ConfigError("--seeds 1: one seed says nothing of luck; with --confirm accepted is a number >= 2")
        require_scheduler(self.scheduler)

    @property
    def settled(self) -> "SweepFlags":
        """These flags, with what --smoke-test fixes if it was asked for."""
        if not self.smoke_test:
            return self
        return dataclasses.replace(self, preset="smoke", scheduler="fifo", num_samples=2, iterations=2)

    @property
    def seeds_each(self) -> int:
        """How many seeds each configuration has."""
        return self.seeds or (FRESH if self.confirm else 1)

    @property
    def has_baseline(self) -> bool:
        """Whether a configuration has the preset's own values of what is swept."""
        if self.baseline is None:
            return not self.grid
        return self.baseline

    @property
    def budget(self) -> Budget:
        """How long a trial trains."""
        return Budget(self.iterations, self.timesteps if self.timesteps or self.iterations else TIMESTEPS)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that are the same in all trials.

        Raises ConfigError for a ``--set`` that is no assignment, and for a setting that is given twice.
        """
        settings: dict[str, Any] = {}
        if self.num_workers:
            settings["num_workers"] = self.num_workers
        for text in self.set:
            name, equals, word = text.partition("=")
            if not equals:
                raise ConfigError(f"--set {text!r}: accepted is key=value")
            if name in settings:
                raise ConfigError(f"--set {text} comes on top of {name}={settings[name]}: give it once")
            settings[name] = word
            with contextlib.suppress(ValueError):
                settings[name] = json.loads(word)
        return settings
