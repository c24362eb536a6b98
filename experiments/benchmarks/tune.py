"""What Tune costs: a trial under Tune against the bare learner, and the wait before the first game."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from ray import tune

import experiments
from experiments.benchmarks.measure import REINFORCE, RoundsFlags, Spread, Table, progress
from experiments.plan.learners import PG
from experiments.plan.resources import local_cpus
from experiments.read.rows import read_rows
from experiments.record.spec import ExperimentSpec, create
from experiments.run.ray_session import start_ray
from experiments.run.tuner import make_tuner
from trainables.checks import Bounds
from trainables.config import PGConfig
from trainables.trainable import PongPG

SETTINGS = REINFORCE | {"num_workers": local_cpus(), "eval_interval": 0}

PROGRAM = Path(experiments.__file__).with_name("sweep_pong.py")


@dataclass(frozen=True)
class TuneFlags(RoundsFlags):
    """How long to measure."""

    rounds: Annotated[int, Bounds(1)] = 3
    """Times that a trial under Tune and the bare learner are run, in turn, and that the program is started."""

    iterations: Annotated[int, Bounds(6)] = 15
    """Updates of each run; the first does not count."""


class _Clock(tune.Callback):
    """Notes when each result arrives."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_trial_result(self, iteration: int, trials: list, trial: Any, result: dict[str, Any], **info: Any) -> None:
        self.times.append(time.perf_counter())


def benchmark_tune(flags: TuneFlags) -> Iterator[Table]:
    """A trial of 10 games per update under Tune, logged and checkpointed, against the bare learner; time to start."""
    starts = [_seconds_to_first_game() for _ in progress(flags.rounds, "starting the program")]
    start_ray(None, verbose=False)
    sides: dict[str, list[float]] = {"bare learner": [], "under Tune": []}
    for _ in progress(flags.rounds, "bare and under Tune"):
        sides["bare learner"].append(_bare(flags.iterations))
        sides["under Tune"].append(_under_tune(flags.iterations))
    rows = [
        {"side": name, "s/update": Spread.of(values), "of bare": Spread.of(np.divide(values, sides["bare learner"]))}
        for name, values in sides.items()
    ]
    note = "Both play the same games. Under Tune come logs and a checkpoint every 5 updates, while workers play on."
    yield Table(
        f"PongPG, 10 games per update, {local_cpus()} workers, {flags.iterations - 1} updates a run", rows, note
    )
    yield Table(
        "From the command to the first game",
        [{"command": f"python experiments/{PROGRAM.name} --smoke-test", "s": Spread.of(starts)}],
    )


def _bare(iterations: int) -> float:
    """Seconds per update of a learner that nobody supervises."""
    trial = PongPG(config=SETTINGS)
    trial.train()
    start = time.perf_counter()
    for _ in range(iterations - 1):
        trial.train()
    seconds = time.perf_counter() - start
    trial.stop()
    return seconds / (iterations - 1)


def _under_tune(iterations: int) -> float:
    """Seconds per update, from result to result."""
    config = PGConfig.from_dict(SETTINGS).to_dict()
    record = ExperimentSpec(
        learner="pg",
        command=[],
        iterations=iterations,
        swept=[],
        configs=[config],
        checkpoint_frequency=5,
        interval=1,
    )
    clock = _Clock()
    with tempfile.TemporaryDirectory() as storage:
        folder = create(Path(storage), "benchmark", record)
        make_tuner(PG, folder, record, {}, [clock]).fit()
    return (clock.times[-1] - clock.times[0]) / (iterations - 1)


def _seconds_to_first_game() -> float:
    """Start the sweep's smoke test as a user does; its first game began an update's time before the first result."""
    with tempfile.TemporaryDirectory() as storage:
        command = [sys.executable, str(PROGRAM), "--smoke-test", "--storage-path", storage, "--name", "smoke"]
        start = time.time()
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
