"""Whole iterations: of the default learners without Tune, and of those that the original programs' pages time."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from experiments.benchmarks import measure
from experiments.benchmarks.measure import FRAME_SKIP, REINFORCE, Quartiles, Table
from experiments.benchmarks.questions import TRPO, Reinforce, Update
from experiments.plan.resources import local_cpus
from experiments.run.ray_session import start_ray
from trainables.sampling.pool import array_bytes
from trainables.sampling.rollout import GameNumber
from trainables.sampling.worker import PlayedBlock, Worker
from trainables.texts import counted
from trainables.trainable import PongPG, PongTrainable, PongTRPO

RAYS_EXAMPLE = {
    1: (1.0, "64 cores"),
    10: (2.5, "64 cores"),
    60: (3.0, "64 cores"),
    300: (10.0, "11 nodes of 18 cores"),
}
"""Seconds per update that the page of Ray's Pong example reports, and on what, by games per update."""

MODULAR_RL_S = (106.0, 42.0)
"""Seconds that Ray's page on modular_rl reports for ten iterations: on one core, and on 16 virtual cores."""

MEMORY = {"coarse_coding": False, "eval_interval": 0, "slots": 0, "timesteps_per_batch": 10_000}
"""Settings of PongTRPO with whole games and the console's memory alone, as in modular_rl."""

GAMES = 100
"""Games that every side plays, about, for each number of games per update: with more games per update fewer rounds are
as sure."""


def benchmark_update(flags: Update) -> Iterator[Table]:
    """The tables of ``Update``."""
    start_ray(None, verbose=False)
    for trainable in (PongPG, PongTRPO):
        yield from _whole_iterations(trainable, flags.rounds)


def _whole_iterations(trainable: type[PongTrainable], rounds: int) -> Iterator[Table]:
    """The speed of a default learner on all cores, and the parts of its iterations.

    Each measured iteration has an evaluation, of which only the part counts that an iteration has on average.
    """
    workers, name = local_cpus(), trainable.__name__
    trial = trainable(config={"num_workers": workers, "eval_interval": 1})
    usual = trainable.config_class().eval_interval
    parts: list[dict[str, float]] = []

    def iterate() -> float:
        result = trial.train()
        evaluation_s = result["perf/evaluation_s"] / usual
        seconds = result["time_this_iter_s"] - result["perf/evaluation_s"] + evaluation_s
        spent = {"rollouts": result["perf/rollout_s"], "updates": result["perf/update_s"], "evaluation": evaluation_s}
        shared = {part: part_s / seconds for part, part_s in spent.items()}
        idle = result["perf/idle_s"] / (result["perf/rollout_s"] * workers)
        parts.append(shared | {"all else": 1 - sum(shared.values()), "idle, of the rollouts": idle})
        return FRAME_SKIP * result["timesteps_this_iter"] / seconds

    with measure.bare_emulators(workers) as bare:
        rates = measure.alternate({"emulator": bare, name: iterate}, rounds)
    trial.stop()
    iteration = f"{trial.settings.updates} updates of {trial.settings.segments_steps // trial.settings.updates:,} steps"
    note = f"An iteration is {iteration}, and an evaluation every {usual} iterations, which is counted as 1/{usual}."
    yield Table(f"{name}, {counted(workers, 'worker')}, whole iterations", measure.shares(rates, "frames/s"), note)
    rows = [{"part": part, "share": Quartiles.of([each[part] for each in parts[1:]])} for part in parts[0]]
    note = "Idle: of the workers' time in a rollout, what they had nothing to play."
    yield Table("Parts of an iteration", rows, note)


def benchmark_reinforce(flags: Reinforce) -> Iterator[Table]:
    """The tables of ``Reinforce``."""
    start_ray(None, verbose=False)
    rows = []
    for batch in flags.games_per_update:
        table = _batch(batch, min(flags.rounds, max(2, GAMES // batch)))
        yield table
        if batch in RAYS_EXAMPLE:
            theirs_s, theirs_on = RAYS_EXAMPLE[batch]
            here = {"s/update here": table.rows[-1]["s/update"].middle, "on": counted(local_cpus(), "core")}
            theirs = {"s/update, Ray's example": theirs_s, "theirs on": theirs_on}
            rows.append({"games per update": batch} | here | theirs)
    if rows:
        yield Table("The table of Ray's example", rows, "Games of the first updates, which are the shortest.")


def _batch(batch: int, rounds: int) -> Table:
    """The figures of all sides with so many games per update, of the serial one first.

    Every side plays the very same games, since a number decides a game and all start with the same theta.
    """
    counts = {"serial, no Ray": 0}
    for count in range(1, local_cpus() + 1):
        counts[counted(count, "worker")] = count
    with ExitStack() as stack:
        sides = {name: _updates(batch, count, stack) for name, count in counts.items()}
        measured = measure.alternate(sides, rounds)
    rows = []
    for name, count in counts.items():
        seconds, share, idle, sent = np.transpose(measured[name])
        speed_up = np.array(measured["serial, no Ray"])[:, 0] / seconds
        row = {"side": name, "s/update": seconds, "speed-up": speed_up, "efficiency": speed_up / max(1, count)}
        row |= {"emulator share": share, "idle": idle}
        quartiles = {title: Quartiles.of(values) for title, values in row.items() if title != "side"}
        rows.append({"side": name} | quartiles | {"MB/game": float(np.median(sent)) / 1e6})
    note = "Idle: share of the workers' time in a rollout without a game. Emulator share: of as many bare loops."
    return Table(f"PongPG, {batch} games per update, {rounds} updates a side", rows, note)


def _updates(batch: int, workers: int, stack: ExitStack) -> Callable[[], tuple[float, ...]]:
    """A function that measures a new trial's next iteration, everything included, beside bare loops.

    Without workers the games are played in this process.
    """
    settings = {"games_per_update": batch, "num_workers": max(1, workers), "cpus_per_worker": 0.01, "eval_interval": 0}
    trial = PongPG(config=REINFORCE | settings)
    stack.callback(trial.stop)
    bare = stack.enter_context(measure.bare_emulators(max(1, workers)))
    if not workers:
        trial.pool.close()
        worker = trial.worker_factory(trial.settings)()
        trial.pool.play = partial(_play_here, worker, trial.pool.counts)  # type: ignore[method-assign]

    def next_iteration() -> tuple[float, ...]:
        """Seconds, share of the bare emulators' frames, idle share of the workers' time, and bytes of a game."""
        bare_rate, result = bare(), trial.train()
        seconds = result["time_this_iter_s"]
        share = FRAME_SKIP * result["timesteps_this_iter"] / seconds / bare_rate
        idle = result["perf/idle_s"] / (result["perf/rollout_s"] * trial.settings.num_workers)
        return seconds, share, idle, result["perf/bytes_received"] / result["episodes_this_iter"]

    return next_iteration


def _play_here(
    worker: Worker, counts: dict[str, int], weights: Any, games: Sequence[GameNumber], block_size: int
) -> Iterator[PlayedBlock]:
    """Play the games one after the other in this process: no Ray, no copies."""
    for game in games:
        block = worker.play_block(weights, [game])
        counts["bytes_received"] += array_bytes(block)
        yield block


def benchmark_trpo(flags: TRPO) -> Iterator[Table]:
    """The table of ``TRPO``."""
    start_ray(None, verbose=False)

    def first_ten(workers: int) -> float:
        return sum(measure.timed(PongTRPO(config=MEMORY | {"num_workers": workers}), 10))

    sides = {str(count): partial(first_ten, count) for count in (1, local_cpus())}
    seconds = measure.alternate(sides, flags.runs)
    rows = []
    for (count, values), theirs in zip(seconds.items(), MODULAR_RL_S, strict=False):
        speed_up = Quartiles.of(np.divide(seconds["1"], values))
        rows.append({"workers": int(count), "s": Quartiles.of(values), "speed-up": speed_up, "original, s": theirs})
    yield Table("First 10 iterations of PongTRPO", rows, "The original: on one core, and on 16 virtual cores.")
