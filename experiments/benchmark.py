"""How near the learners come to the emulator's limit, and how far the seeds' arithmetic stays behind.

Speed depends on the machine and on what else it does, so every figure is a ratio of sides that alternate in one run.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import gymnasium
import numpy as np
import tyro
from threadpoolctl import threadpool_limits

from experiments.common.flags import fail, parse, program
from experiments.common.launch import local_cpus, start_ray
from experiments.common.measure import alternate, bare_emulators, emulate, report
from experiments.common.notebook import NotebookModel, play_game
from trainables.base import PongTrainable
from trainables.config import Bounds, ConfigError, PGConfig, check_fields, unknown
from trainables.learning.compiled import COMPILED
from trainables.pong_pg import PongPG
from trainables.pong_trpo import PongTRPO
from trainables.sampling.rollout import GameNumber
from trainables.sampling.worker import GradientWorker

USAGE = """usage: python experiments/benchmark.py {benchmark} [--rounds N] [--json FILE]

Benchmarks:
{benchmarks}

Examples:
  python experiments/benchmark.py rollout
  python experiments/benchmark.py update --rounds 20 --json benchmark-update.json
"""


@dataclass(frozen=True)
class BenchmarkFlags:
    """How long to measure."""

    rounds: Annotated[int, Bounds(1)] = 10
    """Times that every side is measured, in turn."""

    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: print only)")] = None
    """Write the table as JSON, too."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)


def benchmark_emulator(flags: BenchmarkFlags) -> None:
    """Bare emulator loops, one process and one per core: the physical limit here."""
    cores = local_cpus()
    with bare_emulators(1) as one, bare_emulators(cores) as many:
        rates = alternate({"1 process": one, f"{cores} processes": many}, flags.rounds)
    report("Bare emulator", "frames/s", rates, flags.json)


def benchmark_rollout(flags: BenchmarkFlags) -> None:
    """One worker, rollout and gradient of whole games: emulator share, and the notebook's arithmetic beside it."""
    config = PGConfig()
    worker = GradientWorker(config.env_id, config.hidden_size, config.gamma)
    theta = worker.policy.mlp.init(np.random.default_rng(0))
    (w1, _), (w2, _) = worker.policy.mlp.layers(theta.astype(np.float64))
    notebook = NotebookModel(w1.T.copy(), w2.ravel())
    env = gymnasium.make(config.env_id)
    env.reset(seed=0)
    games = iter(range(sys.maxsize))

    def ours() -> float:
        start = time.perf_counter()
        played = worker.play(theta, GameNumber(0, 0, next(games)))
        return 4 * played.summary.length / (time.perf_counter() - start)

    def dense() -> float:
        start = time.perf_counter()
        *_, reward_n = play_game(notebook, env, np.random.default_rng(next(games)), config.gamma)
        return 4 * len(reward_n) / (time.perf_counter() - start)

    sides = {"emulator": lambda: emulate(worker.env.console), "sparse (ours)": ours, "notebook (dense)": dense}
    rates = alternate(sides, flags.rounds)
    loops = "compiled loops" if COMPILED else "NumPy loops; pip install -e '.[fast]' compiles them"
    report(f"One worker, rollout and gradient of whole games ({loops})", "frames/s", rates, flags.json)
    low, middle, high = np.percentile(rates["sparse (ours)"] / rates["notebook (dense)"], [25, 50, 75])
    print(f"Ours is {middle:.2f} times as fast as the notebook's arithmetic ({low:.2f} to {high:.2f}).")


def benchmark_update(flags: BenchmarkFlags) -> None:
    """Whole iterations of both learners with a worker per core, beside as many bare emulator loops."""
    workers = local_cpus()
    start_ray(None, verbose=False)
    for trainable in (PongPG, PongTRPO):
        trial = trainable(config={"num_workers": workers, "eval_interval": 0})
        with bare_emulators(workers) as bare:
            rates = alternate({"emulator": bare, trainable.__name__: partial(_iterate, trial)}, flags.rounds)
        trial.stop()
        title = f"{trainable.__name__}, {workers} workers, whole iterations"
        report(title, "frames/s", rates, flags.json and flags.json.with_stem(f"{flags.json.stem}-{trainable.learner}"))


def benchmark_trpo(flags: BenchmarkFlags) -> None:
    """The first 10 iterations of PongTRPO (10,000 steps each, 64-64, filter), serial and parallel: the seeds' table."""
    start_ray(None, verbose=False)

    def first_ten(workers: int) -> float:
        trial = PongTRPO(config={"num_workers": workers, "eval_interval": 0})
        start = time.perf_counter()
        for _ in range(10):
            trial.train()
        seconds = time.perf_counter() - start
        trial.stop()
        return 3600 / seconds

    sides = {f"{n} worker{'s' * (n > 1)}": partial(first_ten, n) for n in (1, local_cpus())}
    rates = alternate(sides, flags.rounds)
    report("First 10 iterations of PongTRPO", "runs/h", rates, flags.json)
    for name, values in rates.items():
        print(f"{name}: {3600 / np.median(values):.1f} s")
    print("The seeds report 106 s on one core and 42 s with parallel rollouts, on 16 virtual cores (document 004).")


def _iterate(trial: PongTrainable) -> float:
    """Frames per second of one iteration, everything included."""
    start = time.perf_counter()
    result = trial.train()
    return 4 * result["timesteps_this_iter"] / (time.perf_counter() - start)


BENCHMARKS: dict[str, Callable[[BenchmarkFlags], None]] = {
    "emulator": benchmark_emulator,
    "rollout": benchmark_rollout,
    "update": benchmark_update,
    "trpo": benchmark_trpo,
}


def main() -> None:
    """Measure what the command line names."""
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("-h", "--help"):
        lines = [f"  {key:9} {(function.__doc__ or '').strip()}" for key, function in BENCHMARKS.items()]
        print(USAGE.format(benchmark="{" + ",".join(BENCHMARKS) + "}", benchmarks="\n".join(lines)))
        return
    try:
        if name not in BENCHMARKS:
            raise ConfigError(unknown("benchmark", name, BENCHMARKS))
        benchmark = BENCHMARKS[name]
        flags = parse(BenchmarkFlags, benchmark.__doc__ or "", prog=f"{program()} {name}", args=sys.argv[2:])
    except ConfigError as error:
        fail(str(error))
    with threadpool_limits(1):  # as in the rollout actors
        benchmark(flags)


if __name__ == "__main__":
    main()
