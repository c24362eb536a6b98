"""A discrete-event model of one update of PongPG: workers play, a network carries, one learner adds up.

What the model knows of Ray: theta reaches each node once, one node after the other; a worker gets its next game only
from the learner; the learner does one thing at a time, and so does its network link. What it leaves out: that a worker
gets several games at once where there are plenty, jitter of the network, nodes of unequal speed, failures.
"""

import heapq
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

Array = np.ndarray


class Costs(NamedTuple):
    """What was measured on this machine."""

    game_s: Array  # (m,) seconds that a worker spent on each of m games
    game_bytes: float  # what a game sends back
    theta_bytes: float
    start_s: float  # from the start of an update until the first worker has its game
    result_s: float  # of the learner, for each game: take the result, send the next number, add the gradient
    update_s: float  # of the learner, once: the optimiser, statistics


@dataclass(frozen=True)
class Cluster:
    """Where the model runs; with one node nothing crosses a network."""

    nodes: int
    cores: int  # of each node, a worker on each
    bytes_per_s: float = np.inf  # of the learner's link, each way
    latency_s: float = 0.0  # one way

    @property
    def workers(self) -> int:
        """Workers in all."""
        return self.nodes * self.cores


class Update(NamedTuple):
    """What an update cost: seconds, and the shares of them that each part was busy."""

    seconds: float
    workers: float
    learner: float
    network: float
    tail: float  # share of the update after the first worker found no game left


def simulate(cluster: Cluster, costs: Costs, batch_size: int, rng: np.random.Generator) -> Update:
    """Play one update of ``batch_size`` games, whose durations are drawn from those measured."""
    seconds_g = rng.choice(costs.game_s, batch_size)
    remote = cluster.nodes > 1
    theta_s = costs.theta_bytes / cluster.bytes_per_s if remote else 0.0
    game_net_s = costs.game_bytes / cluster.bytes_per_s if remote else 0.0
    latency_s = cluster.latency_s if remote else 0.0
    events: list[tuple[float, int]] = []  # (when a game's result leaves its worker, the worker)
    begun = min(cluster.workers, batch_size)
    for worker in range(begun):
        node = worker % cluster.nodes  # games are dealt to nodes in turn
        heapq.heappush(events, (costs.start_s + (node + 1) * theta_s + latency_s + seconds_g[worker], worker))
    link_free, learner_free, dry = theta_s * cluster.nodes, costs.start_s, None
    while events:
        finished, worker = heapq.heappop(events)
        link_free = max(finished, link_free) + game_net_s
        learner_free = max(link_free + latency_s, learner_free) + costs.result_s
        if begun < batch_size:
            heapq.heappush(events, (learner_free + latency_s + seconds_g[begun], worker))
            begun += 1
        elif dry is None:
            dry = finished
    seconds = learner_free + costs.update_s
    return Update(
        seconds,
        workers=float(seconds_g.sum()) / cluster.workers / seconds,
        learner=(batch_size * costs.result_s + costs.update_s) / seconds,
        network=(batch_size * game_net_s + cluster.nodes * theta_s) / seconds,
        tail=(seconds - (dry or seconds)) / seconds,
    )


def bottleneck(update: Update) -> str:
    """What a faster update needs."""
    busy = {"the cores": update.workers, "the learner": update.learner, "the learner's network link": update.network}
    name, share = max(busy.items(), key=lambda item: item[1])
    if name == "the cores" and share < 0.8 and update.tail > 1 - share:
        return f"the longest games: {update.tail:.0%} of the update begins after the last game was dealt"
    return f"{name}, busy {share:.0%} of the time"
