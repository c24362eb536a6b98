"""An update on a cluster that is not here: measured costs, a model checked against real runs, then larger machines."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from experiments.benchmarks.measure import REINFORCE, OutputFlags, Spread, Table, progress
from experiments.benchmarks.model import Cluster, Costs, bottleneck, simulate
from experiments.plan.resources import local_cpus
from experiments.run.ray_session import start_ray
from trainables.checks import Bounds
from trainables.sampling.pool import RolloutPool
from trainables.sampling.rollout import GameNumber
from trainables.sampling.worker import PlayedBlock, Worker
from trainables.trainable import PongPG

DRAWS = 200
"""Updates that the model plays for each answer."""

ECHOES = 100
"""Results that the learner takes from workers that do not play, to see what a result alone costs."""


@dataclass(frozen=True)
class SimulateFlags(OutputFlags):
    """The cluster in question."""

    nodes: Annotated[int, Bounds(1)] = 11
    """Machines; the learner runs on one of them."""

    cores: Annotated[int, Bounds(1)] = 18
    """Cores of each, a worker on each core."""

    batch_size: Annotated[int, Bounds(1)] = 300
    """Games per update."""

    network_gbit: Annotated[float, Bounds(0, low_included=False)] = 10.0
    """Gigabits per second of the learner's network link, each way."""

    latency_ms: Annotated[float, Bounds(0)] = 0.5
    """One way, between two machines."""

    updates: Annotated[int, Bounds(3)] = 10
    """Real updates of 10 games that the model is checked with, on 1 and on 2 workers each."""


class Echo(Worker):
    """A worker that plays one block, and then returns it as often as asked."""

    block: PlayedBlock | None = None

    def play_block(self, weights: Any, block: Any) -> PlayedBlock:
        """The first block, at once."""
        self.block = self.block or super().play_block(weights, block)
        return self.block


class Recorder:
    """A pool that notes how long its games took."""

    def __init__(self, pool: RolloutPool) -> None:
        self.pool, self.counts = pool, pool.counts
        self.game_s: list[float] = []

    def play(self, weights: Any, numbers: list[GameNumber], block_size: int) -> Iterator[PlayedBlock]:
        """What the pool plays."""
        for block in self.pool.play(weights, numbers, block_size):
            self.game_s.append(block.seconds)
            yield block

    def close(self) -> None:
        """End the pool's actors."""
        self.pool.close()


def benchmark_simulate(flags: SimulateFlags) -> Iterator[Table]:
    """A model of PongPG's update, checked here with 1 and 2 workers, then asked about a cluster and ten times that."""
    start_ray(None, verbose=False)
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for workers in range(1, min(2, local_cpus()) + 1):
        costs, real_s = _measure(workers, flags.updates)
        model_s = [simulate(Cluster(1, workers), costs, 10, rng).seconds for _ in range(DRAWS)]
        rows.append(
            {
                "workers": workers,
                "s/update, real": Spread.of(real_s),
                "s/update, model": Spread.of(model_s),
                "model/real": float(np.mean(model_s) / np.mean(real_s)),
            }
        )
    yield Table(f"The model against {flags.updates} real updates of 10 games", rows)
    yield Table("Measured costs", _cost_rows(costs))
    link, latency_s = flags.network_gbit * 1e9 / 8, flags.latency_ms / 1000
    questions = [
        (Cluster(1, local_cpus()), flags.batch_size),
        (Cluster(flags.nodes, flags.cores, link, latency_s), flags.batch_size),
        (Cluster(10 * flags.nodes, flags.cores, link, latency_s), flags.batch_size),
        (Cluster(10 * flags.nodes, flags.cores, link, latency_s), 10 * flags.batch_size),
    ]
    note = "Cores as fast as these, games as short as in the first updates. Of the network, the learner's link alone."
    yield Table("The model's answers", [_answer(*question, costs, rng) for question in questions], note)


def _measure(workers: int, updates: int) -> tuple[Costs, list[float]]:
    """Costs of games and results with so many workers, and the seconds of real updates."""
    trial = PongPG(config=REINFORCE | {"num_workers": workers, "eval_interval": 0})
    recorder = Recorder(trial.pool)
    trial.pool = recorder  # type: ignore[assignment]
    trial.train()
    recorder.game_s.clear()
    seconds, updating, received = [], [], []
    for _ in progress(updates, f"real updates, {workers} workers"):
        start = time.perf_counter()
        result = trial.train()
        seconds.append(time.perf_counter() - start)
        updating.append(seconds[-1] - result["perf/rollout_s"])
        received.append(result["perf/bytes_received"] / 10)
    theta_bytes = trial.arrays["theta"].nbytes
    trial.stop()
    start_s, result_s = _learner_costs(workers)
    game_s = np.array(recorder.game_s)
    costs = Costs(game_s, float(np.mean(received)), theta_bytes, start_s, result_s, float(np.median(updating)))
    return costs, seconds


def _learner_costs(workers: int) -> tuple[float, float]:
    """Seconds before the first result of an update can come, and the learner's own for each result.

    The workers' games take no time here. The second figure is of this process's CPU: workers that answer at once keep
    its cores busy, which on a cluster are others.
    """
    trial = PongPG(config=REINFORCE | {"num_workers": workers, "eval_interval": 0})
    trial.pool.close()
    make_worker = trial.algorithm.worker_factory()
    pool = RolloutPool(partial(Echo, *make_worker.args), workers)  # type: ignore[attr-defined]

    def take(count: int) -> tuple[float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        numbers = [GameNumber(0, 0, game) for game in range(count)]
        blocks = pool.play(trial.arrays["theta"], numbers)
        trial.algorithm.collect(trial.arrays, blocks, lambda first, count: blocks)
        return time.perf_counter() - wall, time.process_time() - cpu

    take(workers * 3)  # every worker plays its game
    one, many = (np.median([take(count) for _ in range(7)], axis=0) for count in (1, ECHOES))
    pool.close()
    result_s = (many[1] - one[1]) / (ECHOES - 1)
    return max(0.0, float(one[0] - result_s)), float(result_s)


def _cost_rows(costs: Costs) -> list[dict[str, Any]]:
    return [
        {"what": "a game, on its worker", "is": Spread.of(costs.game_s), "unit": "s"},
        {"what": "the longest of them", "is": float(costs.game_s.max()), "unit": "s"},
        {"what": "a game's gradient", "is": costs.game_bytes / 1e6, "unit": "MB"},
        {"what": "theta", "is": costs.theta_bytes / 1e6, "unit": "MB"},
        {"what": "sending out theta and the first game", "is": 1e3 * costs.start_s, "unit": "ms"},
        {"what": "the learner, for each result", "is": 1e3 * costs.result_s, "unit": "ms"},
        {"what": "the learner, once an update", "is": 1e3 * costs.update_s, "unit": "ms"},
    ]


def _answer(cluster: Cluster, batch_size: int, costs: Costs, rng: np.random.Generator) -> dict[str, Any]:
    updates = [simulate(cluster, costs, batch_size, rng) for _ in range(DRAWS)]
    middle = sorted(updates)[DRAWS // 2]
    return {
        "cluster": f"{cluster.nodes} x {cluster.cores} cores",
        "games": batch_size,
        "s/update": Spread.of([update.seconds for update in updates]),
        "cores busy": middle.workers,
        "learner busy": middle.learner,
        "link busy": middle.network,
        "bottleneck": bottleneck(middle),
    }
