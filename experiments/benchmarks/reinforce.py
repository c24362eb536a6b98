"""Whole updates of PongPG by REINFORCE: what batches of games cost, alone and on workers; Ray's table."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated, Any

from experiments.benchmarks.measure import REINFORCE, RoundsFlags, Spread, Table, bare_emulators, progress
from experiments.plan.resources import local_cpus
from experiments.run.ray_session import start_ray
from trainables.checks import Bounds
from trainables.sampling.pool import array_bytes
from trainables.sampling.rollout import GameNumber
from trainables.trainable import PongPG

RAYS_EXAMPLE = {
    1: (1.0, "64 cores"),
    10: (2.5, "64 cores"),
    60: (3.0, "64 cores"),
    300: (10.0, "11 nodes of 18 cores"),
}
"""Seconds per update that the page of Ray's Pong example reports, and on what."""

GAMES = 100
"""Games that every side plays for a batch size, about: large batches need few rounds to be as sure."""


@dataclass(frozen=True)
class ReinforceFlags(RoundsFlags):
    """Which batches to measure, and how often."""

    batch_sizes: Annotated[tuple[int, ...], Bounds(1)] = (1, 10, 60)
    """Games per update. Ray's example played 300 on a cluster; here that takes a minute an update on one core."""


class Serial:
    """A pool of one worker in this process: no Ray, no copies."""

    def __init__(self, trial: PongPG) -> None:
        self.worker = trial.worker_factory(trial.settings)()
        self.counts = dict.fromkeys(trial.pool.counts, 0)

    def play(self, weights: Any, numbers: Sequence[GameNumber], block_size: int) -> Iterator[Any]:
        """Play the games one after the other."""
        for number in numbers:
            block = self.worker.play_block(weights, [number])
            self.counts["bytes_received"] += array_bytes(block)
            yield block

    def close(self) -> None:
        """Nothing to give back."""


def benchmark_reinforce(flags: ReinforceFlags) -> Iterator[Table]:
    """Iterations of PongPG: serial against 1 to N workers, for several batch sizes, and Ray's figures beside."""
    start_ray(None, verbose=False)
    medians = {}
    for batch in flags.batch_sizes:
        table = _batch(batch, min(flags.rounds, max(2, GAMES // batch)))
        medians[batch] = table.rows[-1]["s/update"].middle
        yield table
    known = [batch for batch in flags.batch_sizes if batch in RAYS_EXAMPLE]
    rows = [
        {
            "games per update": batch,
            "s/update here": medians[batch],
            "on": f"{local_cpus()} cores",
            "s/update, Ray's example": RAYS_EXAMPLE[batch][0],
            "theirs on": RAYS_EXAMPLE[batch][1],
        }
        for batch in known
    ]
    if rows:
        yield Table("The table of Ray's example", rows, "Games of the first updates, which are the shortest.")


def _batch(batch: int, rounds: int) -> Table:
    """Every side plays the very same games, since a number decides a game and all start with the same theta."""
    counts = [0, *range(1, local_cpus() + 1)]
    with ExitStack() as stack:
        trials = {count: _trial(batch, count, stack) for count in counts}
        bare = {count: stack.enter_context(bare_emulators(count)) for count in counts if count}
        measured: dict[int, list[dict[str, float]]] = {count: [] for count in counts}
        for _ in progress(rounds + 1, f"{batch} games per update"):
            for count, trial in trials.items():
                measured[count].append(_measure(trial, bare[count or 1]()))
    rows = []
    for count, runs in measured.items():
        runs = runs[1:]  # the first round warms up
        serial_s = [run["seconds"] for run in measured[0][1:]]
        speed_up = [alone / run["seconds"] for alone, run in zip(serial_s, runs, strict=True)]
        rows.append(
            {
                "side": f"{count} worker{'s' * (count > 1)}" if count else "serial, no Ray",
                "s/update": Spread.of([run["seconds"] for run in runs]),
                "speed-up": Spread.of(speed_up),
                "efficiency": Spread.of([value / (count or 1) for value in speed_up]),
                "emulator share": Spread.of([run["share"] for run in runs]),
                "idle": Spread.of([run["idle"] for run in runs]),
                "MB/game": Spread.of([run["bytes"] / 1e6 for run in runs]).middle,
            }
        )
    note = "Idle: share of the workers' time in a rollout without a game. Emulator share: of as many bare loops."
    return Table(f"PongPG, {batch} games per update, {rounds} updates a side", rows, note)


def _trial(batch: int, workers: int, stack: ExitStack) -> PongPG:
    settings = {"batch_size": batch, "num_workers": workers or 1, "cpus_per_worker": 0.01, "eval_interval": 0}
    trial = PongPG(config=REINFORCE | settings)
    stack.callback(trial.stop)
    if not workers:
        trial.pool.close()
        trial.pool = Serial(trial)  # type: ignore[assignment]
    return trial


def _measure(trial: PongPG, bare: float) -> dict[str, float]:
    """Figures of the trial's next iteration, everything included, beside bare loops of ``bare`` frames/s."""
    start = time.perf_counter()
    result = trial.train()
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "share": 4 * result["timesteps_this_iter"] / seconds / bare,
        "idle": result["perf/idle_s"] / (result["perf/rollout_s"] * trial.settings.num_workers),
        "bytes": result["perf/bytes_received"] / result["episodes_this_iter"],
    }
