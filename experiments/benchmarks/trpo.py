"""The ten iterations of TRPO that Ray's page on modular_rl times."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from experiments.benchmarks.measure import OutputFlags, Spread, Table, alternate
from experiments.plan.resources import local_cpus
from experiments.run.ray_session import start_ray
from trainables.checks import Bounds
from trainables.trainable import PongTRPO

ORIGINAL_S = (106.0, 42.0)
"""What Ray's page on modular_rl reports for ten iterations: on one core, and on 16 virtual cores."""


MEMORY = {"coarse_coding": False, "eval_interval": 0, "slots": 0, "timesteps_per_batch": 10_000}
"""Whole games and the memory alone, as in the original."""


@dataclass(frozen=True)
class TRPOFlags(OutputFlags):
    """How long to measure."""

    runs: Annotated[int, Bounds(1)] = 1
    """Times that the iterations are run on 1 and on all cores, half a minute each time."""


def benchmark_trpo(flags: TRPOFlags) -> Iterator[Table]:
    """The first ten iterations of the original's TRPO, serial and parallel, beside what Ray's page reports."""
    start_ray(None, verbose=False)
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
