"""The flags of the programs that run experiments. A flag's type says where it counts (modes.py)."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from experiments.ask.budget import ITERATIONS, TIMESTEPS, Budget
from experiments.ask.modes import ALWAYS, EXTEND, FORK, NEW, RESUME, SMOKE_TEST, STARTS, Counts
from experiments.ask.schedulers import SCHEDULERS, those
from experiments.ask.storage import MIRRORS, is_uri, locate
from trainables.checks import Bounds, ConfigError, check_fields, unknown

KEEP_BEST = 2
"""Best checkpoints that a trial keeps beside its latest, unless it is told otherwise."""

SAMPLES = 8
"""Trials of a sweep whose scheduler makes no plan of its own."""

LENGTH = Counts((NEW, FORK, EXTEND))
"""How long trials train: --extend gives more of it."""

Repeated = tyro.conf.UseAppendAction[tuple[str, ...]]


def shown(metavar: str, default: str) -> Any:
    """How ``--help`` shows a flag: what its value stands for, and what holds without it."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=f"({default})")


@dataclass(frozen=True)
class RunFlags:
    """Where results go, how they are kept, and on which Ray."""

    name: Annotated[str | None, shown("NAME", "default: learner, date, time")] = None
    """The experiment's name, and its folder's."""

    storage_path: Annotated[str, Counts(ALWAYS), tyro.conf.arg(metavar="DIR|URI")] = "results"
    """Folder of experiments, shared by all nodes of a cluster; or s3://... or gs://..., which ./results mirrors."""

    checkpoint_frequency: Annotated[int, Bounds(1)] = 5
    """Iterations between checkpoints: a kill costs at most these."""

    keep_checkpoints: Annotated[str, tyro.conf.arg(metavar="all|best|N")] = "best"
    """A trial keeps its latest checkpoint and its N best ones, by the mean return of its last 100 games (best: 2); or
    all, so that results.py verify and replay have a way of a few iterations to any of its iterations."""

    resume: Annotated[str | None, Counts((RESUME,)), shown("NAME|PATH|URI", "default: start a new one")] = None
    """Continue an interrupted experiment with the settings it was started with."""

    extend: Annotated[str | None, Counts((EXTEND,)), shown("NAME|PATH|URI", "with --iterations or --timesteps")] = None
    """Give the trials of an experiment more to do, in place; those that were stopped early stay stopped."""

    fork: Annotated[str | None, Counts((FORK,)), shown("NAME|PATH|URI", "with changed settings")] = None
    """Start a new experiment from the best checkpoints of another one's trials."""

    address: Annotated[str | None, Counts(ALWAYS), shown("auto|HOST:PORT", "default: this machine alone")] = None
    """Attach to a running Ray cluster; its nodes need this project's dependencies, not its code."""

    callback: Annotated[Repeated, Counts(ALWAYS, repeatable=True), shown("MODULE:FACTORY", "repeatable")] = ()
    """Import and call a function of yours that makes a ray.tune.Callback, such as MLflow's. It is yours, and not the
    experiment's: --resume needs it typed again."""

    verbose: Annotated[bool, Counts(ALWAYS)] = False
    """Show Ray's own messages and tables."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)
        if self.uri:
            locate(self.uri)
        number = self.keep_checkpoints
        if number not in ("all", "best") and not (number.isdecimal() and 2 <= int(number[:6]) < 100_000):
            raise ConfigError(f"keep_checkpoints={number!r}: accepted is all, best or a number >= 2")

    @property
    def again(self) -> list[str]:
        """The words that a record does not keep, and that going on needs once more: on which Ray, and callbacks."""
        words = ["--address", self.address] if self.address else []
        return words + [word for name in self.callback for word in ("--callback", name)]

    @property
    def kept(self) -> int:
        """The best checkpoints that a trial keeps beside its latest; 0: all."""
        words = {"all": 0, "best": KEEP_BEST}
        return words[self.keep_checkpoints] if self.keep_checkpoints in words else int(self.keep_checkpoints)

    @property
    def uri(self) -> str | None:
        """The storage path if it is a URI."""
        return self.storage_path if is_uri(self.storage_path) else None

    @property
    def folder(self) -> Path:
        """Where experiments lie on this machine."""
        return MIRRORS if self.uri else Path(self.storage_path)


@dataclass(frozen=True)
class TrainFlags(RunFlags):
    """How long to train, where results go, and on which Ray."""

    iterations: Annotated[int | None, LENGTH, shown("N", f"default: {ITERATIONS}, or what --timesteps takes")] = None
    """Updates."""

    timesteps: Annotated[int | None, LENGTH, shown("N", "default: no limit")] = None
    """Agent steps after which it ends, if it has not made all --iterations before."""

    preset: Annotated[str, Counts((NEW,)), tyro.conf.arg(metavar="NAME")] = "default"
    """Named settings that the other flags then change."""

    seeds: Annotated[int, Counts((NEW,)), Bounds(1)] = 1
    """Runs of this configuration, with the seeds --seed, --seed + 1 and so on: as many at once as the CPUs hold."""

    def __post_init__(self) -> None:
        """Check every flag."""
        super().__post_init__()
        _require_positive(self, "iterations", "timesteps")

    @property
    def budget(self) -> Budget:
        """How long to train."""
        return Budget.of(self.iterations, self.timesteps, default=Budget(ITERATIONS))


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

    scheduler: Annotated[
        str,
        Counts((NEW, FORK)),
        tyro.conf.arg(
            metavar="|".join(SCHEDULERS), help="; ".join(f"{name} {of.help}" for name, of in SCHEDULERS.items()) + "."
        ),
    ] = "halving"

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

    set: Annotated[Repeated, Counts(repeatable=True), shown("KEY=VALUE", "repeatable")] = ()
    """Fix any setting of the learner's configuration in all trials."""

    sweep: Annotated[Repeated, Counts((NEW,), repeatable=True), shown("KEY=VALUES", "repeatable")] = ()
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
        _require_positive(self, "num_samples", "iterations", "timesteps", "num_workers", "batch_size", "max_concurrent")
        if self.grid and self.num_samples:
            raise ConfigError(f"--grid runs all combinations: leave --num-samples {self.num_samples} out")
        if self.scheduler not in SCHEDULERS:
            raise ConfigError(unknown("scheduler", self.scheduler, SCHEDULERS))
        if self.confirm and SCHEDULERS[self.scheduler].changes_settings:
            able = those(lambda scheduler: not scheduler.changes_settings)
            raise ConfigError(
                f"--confirm runs fixed settings again, and {self.scheduler}'s trials have none; use {able}"
            )

    @property
    def settled(self) -> "SweepFlags":
        """These flags, with what --smoke-test fixes if it was asked for."""
        if not self.smoke_test:
            return self
        return dataclasses.replace(self, preset="smoke", scheduler="fifo", num_samples=2, iterations=2)

    @property
    def budget(self) -> Budget:
        """How long a trial trains."""
        return Budget.of(self.iterations, self.timesteps, default=Budget(None, TIMESTEPS))

    def settings(self, batch_field: str) -> dict[str, Any]:
        """The settings that are the same in all trials; ``batch_field`` is what the learner calls its batch.

        Raises ConfigError for a ``--set`` that is no assignment, and for a setting that is given twice.
        """
        settings: dict[str, Any] = {}
        if self.num_workers:
            settings["num_workers"] = self.num_workers
        if self.batch_size:
            settings[batch_field] = self.batch_size
        for text in self.set:
            name, equals, word = text.partition("=")
            if not equals:
                raise ConfigError(f"--set {text!r}: accepted is key=value")
            try:
                value = json.loads(word)
            except ValueError:
                value = word
            if name in settings:
                raise ConfigError(f"--set {name}={value} comes on top of {name}={settings[name]}: give it once")
            settings[name] = value
        return settings


def _require_positive(flags: Any, *names: str) -> None:
    """Raise ConfigError unless each of these flags is at least 1, or was left out."""
    for name in names:
        if (value := getattr(flags, name)) is not None and value < 1:
            raise ConfigError(f"{name}={value}: accepted is a number >= 1")
