"""An update on a cluster that is not here: measured costs, a model checked against real runs, then larger machines.

The model is of discrete events: workers play, a network carries, one learner adds up. What it knows of Ray: theta
reaches each node once, one node after the other; a worker gets its next game only from the learner; the learner does
one thing at a time, and so does its network link. What it leaves out: that a worker gets several games at once where
there are plenty, jitter of the network, nodes of unequal speed, failures.
"""

import heapq
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from experiments.benchmarks.measure import REINFORCE, Quartiles, Table, alternate
from experiments.benchmarks.questions import Simulate
from experiments.plan.resources import local_cpus
from experiments.run.ray_session import start_ray
from trainables.sampling.pool import array_bytes
from trainables.sampling.rollout import GameNumber
from trainables.sampling.worker import PlayedBlock, Worker
from trainables.texts import counted
from trainables.trainable import PongPG

DRAWS = 200
"""Updates that the model plays for each answer."""

ECHOES = 100
"""Results that the learner takes from workers that do not play, to see what a result alone costs."""


class Costs(NamedTuple):
    """What was measured on this machine."""

    game_s: np.ndarray  # (m,) seconds that a worker spent on each of m games
    game_bytes: float  # what a game sends back
    theta_bytes: float
    start_s: float  # from the start of an update until the first worker has its game
    result_s: float  # of the learner, for each game: take the result, send the next number, add the gradient
    update_s: float  # of the learner, once an update: the optimiser, statistics


class Cluster(NamedTuple):
    """Where the model runs."""

    nodes: int
    cores: int  # of each node, a worker on each
    bytes_per_s: float = np.inf  # of the learner's link, each way
    latency_s: float = 0.0  # one way


class Update(NamedTuple):
    """What an update takes."""

    seconds: float
    busy: dict[str, float]  # shares of the seconds
    tail: float  # share of the update after the first worker found no game left

    @property
    def bottleneck(self) -> str:
        """What a faster update needs."""
        name, share = max(self.busy.items(), key=lambda item: item[1])
        if name == "the cores" and share < 0.8 and self.tail > 1 - share:
            return f"the longest games: {self.tail:.0%} of the update begins after the last game was dealt"
        return f"{name}, busy {share:.0%} of the time"


def simulate(cluster: Cluster, costs: Costs, games_per_update: int, rng: np.random.Generator) -> Update:
    """Play one update of ``games_per_update`` games, whose durations are drawn from those measured."""
    seconds_g = rng.choice(costs.game_s, games_per_update)
    workers = cluster.nodes * cluster.cores
    theta_s, game_s = costs.theta_bytes / cluster.bytes_per_s, costs.game_bytes / cluster.bytes_per_s
    begun = min(workers, games_per_update)
    has_theta_w = costs.start_s + (1 + np.arange(begun) % cluster.nodes) * theta_s  # workers by node, in turn
    leaves = [*(has_theta_w + cluster.latency_s + seconds_g[:begun])]  # when results of games leave their workers
    heapq.heapify(leaves)
    link_free, learner_free = theta_s * cluster.nodes, costs.start_s  # from when on each can take the next result
    dry = np.inf  # when the first worker found no game left
    while leaves:
        finished = heapq.heappop(leaves)
        link_free = max(finished, link_free) + game_s
        learner_free = max(link_free + cluster.latency_s, learner_free) + costs.result_s
        if begun < games_per_update:
            heapq.heappush(leaves, learner_free + cluster.latency_s + seconds_g[begun])
            begun += 1
        else:
            dry = min(dry, finished)
    seconds = learner_free + costs.update_s
    busy_s = {
        "the cores": float(seconds_g.sum()) / workers,
        "the learner": games_per_update * costs.result_s + costs.update_s,
        "the learner's network link": games_per_update * game_s + cluster.nodes * theta_s,
    }
    shares = {name: spent_s / seconds for name, spent_s in busy_s.items()}
    return Update(seconds, shares, tail=(seconds - dry) / seconds)


def benchmark_simulate(flags: Simulate) -> Iterator[Table]:
    """The tables of ``Simulate``."""
    start_ray(None, verbose=False)
    rng, rows = np.random.default_rng(0), []
    for workers in range(1, min(2, local_cpus()) + 1):
        costs, real_s = _measure(workers, flags.updates)
        model_s = [simulate(Cluster(1, workers), costs, 10, rng).seconds for _ in range(DRAWS)]
        figures = {"s/update, real": Quartiles.of(real_s), "s/update, model": Quartiles.of(model_s)}
        rows.append({"workers": workers, **figures, "model/real": float(np.mean(model_s) / np.mean(real_s))})
    yield Table(f"The model against {flags.updates} real updates of 10 games", rows)
    measured = [
        ("a game, on its worker", Quartiles.of(costs.game_s), "s"),
        ("the longest of them", float(costs.game_s.max()), "s"),
        ("a game's gradient", costs.game_bytes / 1e6, "MB"),
        ("theta", costs.theta_bytes / 1e6, "MB"),
        ("sending out theta and the first game", 1e3 * costs.start_s, "ms"),
        ("the learner, for each result", 1e3 * costs.result_s, "ms"),
        ("the learner, once an update", 1e3 * costs.update_s, "ms"),
    ]
    yield Table("Measured costs", [dict(zip(("what", "is", "unit"), row, strict=True)) for row in measured])
    network = flags.network_gbit * 1e9 / 8, flags.latency_ms / 1000
    here = Cluster(1, local_cpus())
    one = Cluster(flags.nodes, flags.cores)  # within a node nothing crosses the network
    if flags.nodes > 1:
        one = Cluster(flags.nodes, flags.cores, *network)
    ten = Cluster(10 * flags.nodes, flags.cores, *network)
    rows = []
    for cluster, times in ((here, 1), (one, 1), (ten, 1), (ten, 10)):
        games = times * flags.games_per_update
        updates = [simulate(cluster, costs, games, rng) for _ in range(DRAWS)]
        middle = sorted(updates, key=lambda update: update.seconds)[DRAWS // 2]  # the one of median seconds
        row = {"cluster": f"{cluster.nodes} x {counted(cluster.cores, 'core')}", "games": games}
        row["s/update"] = Quartiles.of([update.seconds for update in updates])
        row |= zip(("cores busy", "learner busy", "link busy"), middle.busy.values(), strict=True)
        rows.append(row | {"bottleneck": middle.bottleneck})
    note = "Cores as fast as these, games as short as in the first updates. Of the network, the learner's link alone."
    yield Table("The model's answers", rows, note)


def _measure(workers: int, updates: int) -> tuple[Costs, list[float]]:
    """Costs of games and results with so many workers, and the seconds of real updates.

    After each update its ten games are played again, which says how long each of them takes.
    """
    trial = PongPG(config=REINFORCE | {"num_workers": workers, "eval_interval": 0})

    def play(count: int, **how: Any) -> Iterator[PlayedBlock]:
        games = [GameNumber(0, trial.iterations - 1, game) for game in range(count)]
        return trial.pool.play(trial.arrays["theta"], games, **how)

    def update() -> tuple[float, float, list[PlayedBlock]]:
        result = trial.train()
        return result["time_this_iter_s"], result["time_this_iter_s"] - result["perf/rollout_s"], [*play(10)]

    def take(count: int) -> tuple[float, float]:
        """Seconds by the clock that so many results take, and seconds of this process alone.

        Workers that answer at once take cores from this process, so the clock does not say what it takes itself.
        """
        wall, cpu = time.perf_counter(), time.process_time()
        trial.algorithm.collect(trial.arrays, play(count, how=_echo), lambda *_: iter(()))
        return time.perf_counter() - wall, time.process_time() - cpu

    seconds, update_s, played = zip(*alternate({"": update}, updates)[""], strict=True)
    blocks = [block for each in played for block in each]
    taken = alternate({"many": lambda: take(ECHOES), "one": lambda: take(1)}, 7)
    (_, many_cpu_s), (one_s, one_cpu_s) = (np.median(figures, axis=0) for figures in taken.values())
    result_s = float(many_cpu_s - one_cpu_s) / (ECHOES - 1)
    trial.stop()
    costs = Costs(
        game_s=np.array([block.seconds for block in blocks]),
        game_bytes=float(np.mean([*map(array_bytes, blocks)])),
        theta_bytes=trial.arrays["theta"].nbytes,
        start_s=max(0.0, float(one_s) - result_s),
        result_s=result_s,
        update_s=float(np.median(update_s)),
    )
    return costs, [*seconds]


_FIRST: dict[Worker, PlayedBlock] = {}
"""In a worker's process: the first block that its worker played, for ``_echo``."""


def _echo(worker: Worker, weights: Any, block: Any) -> PlayedBlock:
    """The first block that a worker was asked for. It is played once; from then on each request gets it at once."""
    if worker not in _FIRST:
        _FIRST[worker] = worker.play_block(weights, block)
    return _FIRST[worker]
