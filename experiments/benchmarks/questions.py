"""What ``benchmark.py`` can be asked: a class for each benchmark, whose docstring is its help, and its fields flags."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from trainables.checks import Bounds, ConfigError, check_fields


@dataclass(frozen=True)
class Benchmark:
    """Where the figures go."""

    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: print only)")] = None
    """Write the tables as JSON, too."""

    def __post_init__(self) -> None:
        """Check every flag, before minutes are spent."""
        check_fields(self)
        if self.json and not self.json.absolute().parent.is_dir():
            raise ConfigError(f"--json {self.json}: there is no folder {self.json.parent}")


@dataclass(frozen=True)
class Rounds(Benchmark):
    """How long to measure."""

    rounds: Annotated[int, Bounds(1)] = 10
    """Times that every side is measured, in turn."""


@dataclass(frozen=True)
class Emulator(Rounds):
    """Bare emulator loops, one process and one per core: the physical limit here."""


@dataclass(frozen=True)
class Rollout(Rounds):
    """One worker of each learner, alone and as Ray's actor, against the emulator, and dense frames beside them."""


@dataclass(frozen=True)
class Update(Rounds):
    """Iterations of both default learners on all cores, evaluation included, beside bare emulator loops."""


@dataclass(frozen=True)
class Reinforce(Rounds):
    """Iterations of PongPG: serial against 1 to N workers, for several games_per_update, and Ray's figures beside."""

    games_per_update: Annotated[tuple[int, ...], Bounds(1)] = (1, 10, 60)
    """Games per update. Ray's example played 300 on a cluster; here that takes a minute an update on one core."""


@dataclass(frozen=True)
class TRPO(Benchmark):
    """The first ten iterations of the original's TRPO, serial and parallel, beside what Ray's page reports."""

    runs: Annotated[int, Bounds(1)] = 1
    """Times that the iterations are run on 1 and on all cores, half a minute each time."""


@dataclass(frozen=True)
class Tune(Rounds):
    """A trial of 10 games per update under Tune, logged and checkpointed, against the bare learner; time to start."""

    rounds: Annotated[int, Bounds(1)] = 3
    """Times that a trial under Tune and the bare learner are run, in turn, and that the program is started."""

    iterations: Annotated[int, Bounds(6)] = 15
    """Iterations of each run; the first does not count."""


@dataclass(frozen=True)
class Sweep(Benchmark):
    """A whole sweep from its command to its end: the share of what all cores could emulate."""

    learner: Literal["pg", "trpo"] = "pg"
    """pg runs sweep_pong.py, trpo sweep_trpo.py."""

    time_budget_s: Annotated[float, Bounds(0, low_included=False)] = 1800.0
    """Seconds that the sweep is given; the default is its own."""

    scheduler: str = "halving"
    """Who decides which trials go on."""

    seed: Annotated[int, Bounds(0)] = 0
    """Decides what is drawn."""

    rounds: Annotated[int, Bounds(1)] = 5
    """Times that the bare loops are measured before the sweep, and after it."""

    keep: Annotated[Path | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="(default: nowhere)")] = None
    """Folder, not there yet, that the sweep's experiment is kept in."""

    def __post_init__(self) -> None:
        """Check every flag, before half an hour is spent."""
        super().__post_init__()
        if self.keep and (self.keep.exists() or not self.keep.absolute().parent.is_dir()):
            raise ConfigError(f"--keep {self.keep}: accepted is a new folder in one that is there")


@dataclass(frozen=True)
class Simulate(Benchmark):
    """A model of PongPG's update, checked here with 1 and 2 workers, then asked about a cluster and ten times that."""

    nodes: Annotated[int, Bounds(1)] = 11
    """Machines; the learner runs on one of them."""

    cores: Annotated[int, Bounds(1)] = 18
    """Cores of each, a worker on each core."""

    games_per_update: Annotated[int, Bounds(1)] = 300
    """Games per update."""

    network_gbit: Annotated[float, Bounds(0, low_included=False)] = 10.0
    """Gigabits per second of the learner's network link, each way."""

    latency_ms: Annotated[float, Bounds(0)] = 0.5
    """One way, between two machines."""

    updates: Annotated[int, Bounds(3)] = 10
    """Real updates of 10 games that the model is checked with, on 1 and on 2 workers each."""


MEASURED_IN: dict[type[Benchmark], str] = {
    Emulator: "one_core",
    Rollout: "one_core",
    Update: "updates",
    Reinforce: "updates",
    TRPO: "updates",
    Tune: "programs",
    Sweep: "programs",
    Simulate: "simulate",
}
"""The module of this room whose function ``benchmark_NAME`` takes the flags and yields tables."""

BENCHMARKS = {each.__name__.lower(): each for each in MEASURED_IN}
"""Benchmarks by the name that is typed."""
