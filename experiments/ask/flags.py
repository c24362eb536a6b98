"""The flags of the programs that run experiments. A flag's type says where it counts (modes.py)."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from experiments.ask.budget import ITERATIONS, Budget
from experiments.ask.modes import ALWAYS, EXTEND, FORK, NEW, RESUME, STARTS, Counts
from experiments.ask.storage import MIRRORS, is_name, is_uri, locate
from trainables.checks import Bounds, ConfigError, check_fields

KEEP_BEST = 2
"""Best checkpoints that a trial keeps beside its latest, unless it is told otherwise."""

LONGEST_NAME = 200
"""Bytes: file systems take 255, and longer names are made of it."""

LENGTH = Counts((NEW, FORK, EXTEND))
"""How long trials train: --extend gives more of it."""

Repeated = tyro.conf.UseAppendAction[tuple[str, ...]]


def shown(metavar: str, default: str) -> Any:
    """How ``--help`` shows a flag: what its value stands for, and what holds without it."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=f"({default})")


@dataclass(frozen=True)
class RunFlags:
    """Where results go, how they are kept, and on which Ray."""

    name: Annotated[str | None, Counts(STARTS), shown("NAME", "default: learner, date, time")] = None
    """The experiment's name, and its folder's."""

    storage_path: Annotated[str, Counts(ALWAYS), tyro.conf.arg(metavar="DIR|URI")] = "results"
    """Folder of experiments, shared by all nodes of a cluster; or s3://... or gs://..., which ./results mirrors."""

    checkpoint_frequency: Annotated[int, Bounds(1)] = 5
    """Iterations between checkpoints: a kill costs at most these."""

    keep_checkpoints: Annotated[str, tyro.conf.arg(metavar="all|best|N")] = "best"
    """A trial keeps its latest checkpoint and its N best ones, by score (best: 2); or
    all, so that results.py (pong-results) verify and replay have a way of a few iterations to any of its iterations."""

    resume: Annotated[str | None, Counts((RESUME,)), shown("NAME|PATH|URI", "default: start a new one")] = None
    """Continue an interrupted experiment with the settings it was started with."""

    extend: Annotated[str | None, Counts((EXTEND,)), shown("NAME|PATH|URI", "with --iterations or --timesteps")] = None
    """Give the trials of an experiment more to do, in place; those that were stopped early stay stopped."""

    fork: Annotated[str | None, Counts((FORK,)), shown("NAME|PATH|URI", "with changed settings")] = None
    """Start a new experiment from the best checkpoints of another one's trials."""

    resume_or_start: Annotated[bool, Counts(STARTS, beside="name")] = False
    """Go on with the experiment of this --name if this very command began it, and start it if there is none: what a
    batch system runs again goes on by itself."""

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
        if self.name and (not is_name(self.name) or len(os.fsencode(self.name)) > LONGEST_NAME):
            raise ConfigError(
                f"--name {self.name[:40]!r}: accepted is a name of at most {LONGEST_NAME} bytes without / and \\ that"
                " can be printed; put the path into --storage-path"
            )
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

    iterations: Annotated[
        int | None, Bounds(1), LENGTH, shown("N", f"default: {ITERATIONS}, or what --timesteps takes")
    ] = None
    """Iterations, each a row of results: several updates of segments, or one of whole games."""

    timesteps: Annotated[int | None, Bounds(1), LENGTH, shown("N", "default: no limit")] = None
    """Agent steps after which it ends, if it has not made all --iterations before. Elsewhere total_timesteps."""

    preset: Annotated[str, Counts((NEW,)), tyro.conf.arg(metavar="NAME")] = "default"
    """Named settings that the other flags then change."""

    seeds: Annotated[int, Counts((NEW,)), Bounds(1)] = 1
    """Runs of this configuration, with the seeds --seed, --seed + 1 and so on: as many at once as the CPUs hold."""

    @property
    def budget(self) -> Budget:
        """How long to train."""
        return Budget(self.iterations if self.iterations or self.timesteps else ITERATIONS, self.timesteps)
