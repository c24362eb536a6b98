"""Whole programs: what Tune costs, the wait before the first game, and a sweep from its command to its end."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ray import tune

from experiments.benchmarks.measure import FRAME_SKIP, REINFORCE, Spread, Table, alternate, bare_emulators, timed
from experiments.benchmarks.questions import Sweep, Tune
from experiments.plan.learners import PG
from experiments.plan.resources import local_cpus
from experiments.read.experiments import Experiment, read_experiment
from experiments.read.rows import read_rows
from experiments.read.trial import Trial
from experiments.record.spec import ExperimentSpec, create
from experiments.run.ray_session import start_ray
from experiments.run.tuner import make_tuner
from trainables.checks import ConfigError
from trainables.config import PGConfig
from trainables.trainable import PongPG

SETTINGS = REINFORCE | {"num_workers": local_cpus(), "eval_interval": 0}
FOLDER = Path(__file__).parents[1]
PROGRAMS = {"pg": "sweep_pong.py", "trpo": "sweep_trpo.py"}


def benchmark_tune(flags: Tune) -> Iterator[Table]:
    """The tables of ``Tune``."""
    starts = alternate({"s": _seconds_to_first_game}, flags.rounds)
    start_ray(None, verbose=False)
    count = flags.iterations - 1

    def bare() -> float:
        return timed(PongPG(config=SETTINGS), count, before=1) / count

    def under_tune() -> float:
        return _under_tune(flags.iterations)

    sides = alternate({"bare learner": bare, "under Tune": under_tune}, flags.rounds)
    rows: list[dict[str, Any]] = [
        {"side": name, "s/update": Spread.of(values), "of bare": Spread.of(np.divide(values, sides["bare learner"]))}
        for name, values in sides.items()
    ]
    title = f"PongPG, 10 games per update, {local_cpus()} workers, {count} updates a run"
    note = "Both play the same games. Under Tune come logs and a checkpoint every 5 updates, while workers play on."
    yield Table(title, rows, note)
    command = f"python experiments/{PROGRAMS['pg']} --smoke-test"
    yield Table("From the command to the first game", [{"command": command, "s": Spread.of(starts["s"])}])


class _Clock(tune.Callback):
    """Notes when each result arrives."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_trial_result(self, iteration: int, trials: list, trial: Any, result: dict[str, Any], **info: Any) -> None:
        self.times.append(time.perf_counter())


def _under_tune(iterations: int) -> float:
    """Seconds per update, from result to result."""
    spec = ExperimentSpec(
        learner="pg",
        command=[],
        iterations=iterations,
        swept=[],
        configs=[PGConfig.from_dict(SETTINGS).to_dict()],
        checkpoint_frequency=5,
        interval=1,
    )
    clock = _Clock()
    with tempfile.TemporaryDirectory() as storage:
        make_tuner(PG, create(Path(storage), "benchmark", spec), spec, {}, [clock]).fit()
    return (clock.times[-1] - clock.times[0]) / (iterations - 1)


def _seconds_to_first_game() -> float:
    """Start the sweep's smoke test as a user does; its first game began an update's time before the first result."""
    with tempfile.TemporaryDirectory() as storage:
        words = ["--smoke-test", "--storage-path", storage, "--name", "smoke"]
        command, start = [sys.executable, str(FOLDER / PROGRAMS["pg"]), *words], time.time()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while process.poll() is None:
                for path in Path(storage).glob("smoke/*/result.json"):
                    if rows := read_rows(path):
                        return path.stat().st_mtime - start - rows[0]["time_this_iter_s"]
                time.sleep(0.02)
        finally:
            process.terminate()
            process.wait()
    raise RuntimeError("the smoke test ended without a result")


def benchmark_sweep(flags: Sweep) -> Iterator[Table]:
    """The tables of ``Sweep``."""
    cores = local_cpus()
    with bare_emulators(cores) as measure, tempfile.TemporaryDirectory() as storage:
        bare = [measure() for _ in range(flags.rounds)]
        seconds, found = _sweep(flags, flags.keep.absolute() if flags.keep else Path(storage, "sweep"))
        bare += [measure() for _ in range(flags.rounds)]
    trials = [trial for trial in found.trials if trial.rows]
    steps = sum(trial.steps for trial in trials)
    rate = steps * FRAME_SKIP / seconds
    row: dict[str, Any] = {
        "trials": len(trials),
        "M agent steps": steps / 1e6,
        "frames/s": round(rate),
        "bare frames/s": round(np.median(bare)),
        "share of bare": Spread.of(np.divide(rate, bare)),
        "best return": max(trial.last for trial in trials),
    }
    if found.played:
        row |= {f"winner, {kind}": found.played.metrics[f"eval/return_{kind}_mean"] for kind in ("sampled", "greedy")}
    command = f"{PROGRAMS[flags.learner]} --scheduler {flags.scheduler} --time-budget-s {flags.time_budget_s:g}"
    yield Table(f"{command}: {seconds:.0f} s on {cores} cores", [row])
    rows = [{"part": part, "share": share} for part, share in _parts(trials, seconds * cores).items()]
    note = "Updates and evaluations hold all of a trial's cores. All else is starting, saving, cores without a trial."
    yield Table("Where the cores' time goes", rows, note)


def _sweep(flags: Sweep, folder: Path) -> tuple[float, Experiment]:
    """Run the sweep as a user does; return its seconds, and what came out.

    Raises ConfigError if it does not come to its end. Trials that failed are part of one that does.
    """
    program = FOLDER / PROGRAMS[flags.learner]
    with tempfile.TemporaryDirectory() as storage:  # compiles what is not yet: that does not count
        warm = [sys.executable, str(program), "--smoke-test", "--storage-path", storage]
        subprocess.run(warm, check=False, stdout=subprocess.DEVNULL)
    words = ["--time-budget-s", flags.time_budget_s, "--scheduler", flags.scheduler, "--seed", flags.seed]
    words += ["--storage-path", folder.parent, "--name", folder.name]
    command, start = [sys.executable, str(program), *map(str, words)], time.perf_counter()
    status = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
    seconds = time.perf_counter() - start
    if status not in (0, 1):
        raise ConfigError(f"{program.name} ended with exit status {status} after {seconds:.0f} s")
    return seconds, read_experiment(folder)


def _parts(trials: Sequence[Trial], core_seconds: float) -> dict[str, float]:
    """Shares of the cores' time."""

    def total(metric: str, cores: bool = True) -> float:
        """Seconds of all iterations, times the cores that the trial held; idle time is that of its workers already."""
        return float(sum(np.nansum(t.curve(metric) * (t.curve("perf/workers") if cores else 1)) for t in trials))

    idle = total("perf/idle_s", cores=False)
    found = {
        "games to learn from": total("perf/rollout_s") - idle,
        "workers that wait for the last game": idle,
        "updates": total("perf/update_s"),
        "evaluations": total("perf/evaluation_s"),
    }
    shares = {part: seconds / core_seconds for part, seconds in found.items()}
    return shares | {"all else": 1 - sum(shares.values())}
