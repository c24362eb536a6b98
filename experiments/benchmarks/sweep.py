"""A whole sweep, from the command to its end, against bare emulator loops on all cores before and after it."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from experiments.ask.flags import SchedulerName
from experiments.benchmarks.measure import FRAME_SKIP, OutputFlags, Spread, Table, bare_emulators
from experiments.plan.resources import local_cpus
from experiments.read.experiments import Experiment, read_experiment
from experiments.read.trial import Trial
from trainables.checks import Bounds, ConfigError

PROGRAMS = {"pg": "sweep_pong.py", "trpo": "sweep_trpo.py"}


@dataclass(frozen=True)
class SweepFlags(OutputFlags):
    """Which sweep, and how long."""

    learner: Literal["pg", "trpo"] = "pg"
    """pg runs sweep_pong.py, trpo sweep_trpo.py."""

    time_budget_s: Annotated[float, Bounds(0, low_included=False)] = 1800.0
    """Seconds that the sweep is given; the default is its own."""

    scheduler: SchedulerName = "halving"
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


def benchmark_sweep(flags: SweepFlags) -> Iterator[Table]:
    """A whole sweep from its command to its end: the share of what all cores could emulate."""
    cores = local_cpus()
    with bare_emulators(cores) as measure, tempfile.TemporaryDirectory() as storage:
        before = [measure() for _ in range(flags.rounds)]
        experiment = flags.keep.absolute() if flags.keep else Path(storage, "sweep")
        seconds, found = _sweep(flags, experiment)
        trials = [trial for trial in found.trials if trial.rows]
        steps = sum(trial.rows[-1]["timesteps_total"] for trial in trials)
        parts = _parts(trials, seconds * cores)
        best = max(trial.last for trial in trials)
        after = [measure() for _ in range(flags.rounds)]
    bare = Spread.of([*before, *after])
    rate = steps * FRAME_SKIP / seconds
    row: dict[str, Any] = {
        "trials": len(trials),
        "M agent steps": steps / 1e6,
        "frames/s": round(rate),
        "bare frames/s": round(bare.middle),
        "share of bare": Spread.of(rate / np.array([*before, *after])),
        "best return": best,
    }
    if found.played:
        row |= {f"winner, {kind}": found.played.metrics[f"eval/return_{kind}_mean"] for kind in ("sampled", "greedy")}
    command = f"{PROGRAMS[flags.learner]} --scheduler {flags.scheduler} --time-budget-s {flags.time_budget_s:g}"
    yield Table(f"{command}: {seconds:.0f} s on {cores} cores", [row])
    note = "Updates and evaluations hold all of a trial's cores. All else is starting, saving, cores without a trial."
    yield Table("Where the cores' time goes", [{"part": part, "share": share} for part, share in parts.items()], note)


def _sweep(flags: SweepFlags, experiment: Path) -> tuple[float, Experiment]:
    """Run the sweep as a user does; return its seconds, and what came out.

    Raises ConfigError if it does not come to its end. Trials that failed are part of one that does.
    """
    program = Path(__file__).parents[1] / PROGRAMS[flags.learner]
    words = ["--time-budget-s", flags.time_budget_s, "--scheduler", flags.scheduler, "--seed", flags.seed]
    where = ["--storage-path", experiment.parent, "--name", experiment.name]
    start = time.perf_counter()
    command = [sys.executable, str(program), *map(str, [*words, *where])]
    status = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
    seconds = time.perf_counter() - start
    if status not in (0, 1):
        raise ConfigError(f"{program.name} ended with exit status {status} after {seconds:.0f} s")
    return seconds, read_experiment(experiment)


def _parts(trials: Sequence[Trial], core_seconds: float) -> dict[str, float]:
    """Shares of the cores' time."""

    def total(metric: str, workers: bool = True) -> float:
        rows = (row for trial in trials for row in trial.rows)
        return sum(_value(row, metric) * (_value(row, "perf/workers") if workers else 1) for row in rows)

    idle = total("perf/idle_s", workers=False)
    found = {
        "games to learn from": total("perf/rollout_s") - idle,
        "workers that wait for the last game": idle,
        "updates": total("perf/update_s"),
        "evaluations": total("perf/evaluation_s"),
    }
    shares = {part: seconds / core_seconds for part, seconds in found.items()}
    return shares | {"all else": 1 - sum(shares.values())}


def _value(row: dict[str, Any], metric: str) -> float:
    return float(row.get(metric, 0.0))
