"""Whole iterations of PongTRPO: their share of the emulator's speed, and the first ten of the original."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from experiments.benchmarks.measure import RoundsFlags, Spread, Table, alternate, bare_emulators, shares
from experiments.plan.resources import local_cpus
from experiments.run.ray_session import start_ray
from trainables.checks import Bounds
from trainables.trainable import PongTRPO

ORIGINAL_S = (106.0, 42.0)
"""What Ray's page on modular_rl reports for ten iterations: on one core, and on 16 virtual cores."""


MEMORY = {"coarse_coding": False, "slots": 0, "timesteps_per_batch": 10_000, "eval_interval": 0}
"""Settings of the figures: the memory alone, and batches of whole games, as in the original."""


@dataclass(frozen=True)
class TRPOFlags(RoundsFlags):
    """How long to measure."""

    runs: Annotated[int, Bounds(0)] = 1
    """Times that the first ten iterations are run on 1 and on all cores, half a minute each time; 0 leaves it out."""


def benchmark_trpo(flags: TRPOFlags) -> Iterator[Table]:
    """PongTRPO's iterations of 10,000 steps beside bare emulator loops, and the first ten, serial and parallel."""
    start_ray(None, verbose=False)
    workers = local_cpus()
    trial = PongTRPO(config=MEMORY | {"num_workers": workers})
    trial.train()  # has no filter yet, and probes
    parts: list[dict[str, float]] = []

    def iterate() -> float:
        start = time.perf_counter()
        result = trial.train()
        seconds = time.perf_counter() - start
        rollout_s, update_s = result["perf/rollout_s"], result["perf/update_s"]
        parts.append(
            {
                "rollout, s": rollout_s,
                "update, s": update_s,
                "all else, s": seconds - rollout_s - update_s,
                "idle share of the rollout": result["perf/idle_s"] / (rollout_s * workers),
            }
        )
        return 4 * result["timesteps_this_iter"] / seconds

    with bare_emulators(workers) as bare:
        rates = alternate({"emulator": bare, "PongTRPO": iterate}, flags.rounds)
    trial.stop()
    yield Table(f"PongTRPO, {workers} workers, whole iterations", shares(rates, "frames/s"))
    rows = [{"part": name, "each": Spread.of([part[name] for part in parts])} for name in parts[0]]
    yield Table("Parts of an iteration", rows)
    if flags.runs:
        yield _first_ten(flags.runs)


def _first_ten(runs: int) -> Table:
    def run(workers: int) -> float:
        trial = PongTRPO(config=MEMORY | {"num_workers": workers})
        start = time.perf_counter()
        for _ in range(10):
            trial.train()
        seconds = time.perf_counter() - start
        trial.stop()
        return seconds

    counts = (1, local_cpus())
    seconds = alternate({str(count): lambda count=count: run(count) for count in counts}, runs)  # type: ignore[misc]
    rows = [
        {"workers": count, "s": Spread.of(values), "speed-up": Spread.of(seconds["1"] / values), "original, s": theirs}
        for count, values, theirs in zip(counts, seconds.values(), ORIGINAL_S, strict=False)
    ]
    return Table("First 10 iterations of PongTRPO", rows, "The original: on one core, and on 16 virtual cores.")
