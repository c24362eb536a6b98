"""One core: the emulator's limit, how near a worker comes to it, and where the rest of a step goes."""

import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import gymnasium
import numpy as np

from experiments.benchmarks.measure import (
    FRAME_SKIP,
    REINFORCE,
    Spread,
    Table,
    alternate,
    bare_emulators,
    emulate,
    shares,
)
from experiments.benchmarks.notebook import NotebookModel, play_game
from experiments.benchmarks.questions import Emulator, Rollout
from experiments.plan.resources import local_cpus
from trainables.algorithms import make_algorithm
from trainables.algorithms.reinforce import score_gradient
from trainables.config import Config, PGConfig, TRPOConfig
from trainables.learning.policies import BernoulliPolicy, FilteredWeights
from trainables.learning.returns import discounted_returns, standardise
from trainables.learning.running_stats import Moments
from trainables.sampling.console import DOWN, UP, PongConsole
from trainables.sampling.environments import PongPixels
from trainables.sampling.frames import NUM_PIXELS, preprocess
from trainables.sampling.process import set_malloc_thresholds
from trainables.sampling.rollout import GameNumber, rollout
from trainables.sampling.segments import Segment, Slot
from trainables.sampling.worker import Worker

CONFIG = PGConfig.from_dict(REINFORCE)


def benchmark_emulator(flags: Emulator) -> Iterator[Table]:
    """The tables of ``Emulator``."""
    cores = local_cpus()
    with bare_emulators(1) as one, bare_emulators(cores) as many:
        rates = alternate({"1 process": one, f"{cores} processes": many}, flags.rounds)
    yield Table("Bare emulator", shares(rates, "frames/s"))


def benchmark_rollout(flags: Rollout) -> Iterator[Table]:
    """The tables of ``Rollout``."""
    set_malloc_thresholds()  # as the rollout actors do
    (worker, theta), policy = _worker(CONFIG), BernoulliPolicy(NUM_PIXELS, CONFIG.hidden_size)
    console = PongConsole(CONFIG.env_id)
    sides = {
        "emulator": emulate,
        "REINFORCE": _timed(lambda game: worker.play_block(theta, [GameNumber(0, 0, game)]).steps),
        "PPO": _timed(_segment_player(PGConfig())),
        "TRPO": _timed(_segment_player(TRPOConfig(coarse_coding=False))),
        "TRPO, coarse coding": _timed(_segment_player(TRPOConfig())),
        "dense oracle": _timed(lambda game: _dense_game(console, policy, theta, game)),
        "notebook": _timed(_notebook_player(policy, theta)),
    }
    rates = alternate(sides, flags.rounds)
    rows = shares(rates, "frames/s")
    for row in rows:
        row["of notebook"] = Spread.of(np.divide(rates[row["side"]], rates["notebook"]))
    note = "PPO and TRPO play segments, others whole games."
    yield Table("One worker, with all that it computes of its steps", rows, note)
    yield _split(worker, theta, flags.rounds)


def _timed(play: Callable[[int], int]) -> Callable[[], float]:
    """Frames per second of a function that plays the next game and returns its length in steps."""
    games = count()

    def rate() -> float:
        start = time.perf_counter()
        return FRAME_SKIP * play(next(games)) / (time.perf_counter() - start)

    return rate


def _worker(config: Config) -> tuple[Worker, Any]:
    """A worker of the algorithm, and the weights that it begins with."""
    algorithm = make_algorithm(config)
    return algorithm.worker_factory()(), algorithm.playing_weights(algorithm.init(np.random.default_rng(0)))


def _segment_player(config: PGConfig | TRPOConfig) -> Callable[[int], int]:
    """A function that plays some segments of one slot, a thousand steps in all; TRPO through a first game's filter."""
    worker, weights = _worker(config)
    if isinstance(weights, FilteredWeights):
        weights = weights._replace(filter=Moments.of(worker.play(weights, GameNumber(0, 0, 0)).obs_nd).filter())
    segments = max(1, 1024 // config.segment_length)
    slot: Slot | None = None

    def play(call: int) -> int:
        nonlocal slot
        for update in range(call * segments, (call + 1) * segments):
            slot = worker.play_block(weights, (Segment(0, update, 0, config.segment_length, slot),)).slot
        return segments * config.segment_length

    return play


def _notebook_player(policy: BernoulliPolicy, theta: np.ndarray) -> Callable[[int], int]:
    (w1, _), (w2, _) = policy.mlp.layers(theta.astype(np.float64))
    notebook, env = NotebookModel(w1.T.copy(), w2.ravel()), gymnasium.make(CONFIG.env_id)
    env.reset(seed=0)
    return lambda game: len(play_game(notebook, env, np.random.default_rng(game), CONFIG.gamma)[-1])


def _dense_game(console: PongConsole, policy: BernoulliPolicy, theta: np.ndarray, game: int) -> int:
    """A game and its gradient on our console and network, but on whole frames; returns the game's length."""
    env_rng, action_rng = GameNumber(0, 0, game).generators()
    console.reset(env_rng)
    picture = console.ale.getScreenRGB()
    before, row = preprocess(picture), np.zeros(NUM_PIXELS, np.float32)
    rows, actions, rewards = [], [], []
    while not (console.terminated or console.truncated):
        logit = policy.mlp.forward(theta, row[None])[0].item()
        rows.append(row)
        actions.append(action_rng.logistic() < logit)
        rewards.append(console.step(UP if actions[-1] else DOWN))
        console.ale.getScreenRGB(picture)
        now = preprocess(picture)
        row, before = now - before, now
    advantage_n = standardise(discounted_returns(np.array(rewards), CONFIG.gamma))
    score_gradient(policy, theta, np.stack(rows), np.array(actions), advantage_n)
    return len(rows)


def _split(worker: Worker, theta: np.ndarray, rounds: int) -> Table:
    """What each part of a step of REINFORCE adds: the same games, played with one part more each time."""
    games = count()
    played = alternate({"": lambda: _parts_of_a_game(worker, theta, GameNumber(1, 0, next(games)))}, rounds)[""]
    total = np.array([sum(parts.values()) for parts in played])
    rows: list[dict[str, Any]] = []
    for part in played[0]:
        seconds = np.array([parts[part] for parts in played])
        rows.append({"part": part, "us/step": Spread.of(1e6 * seconds), "share": Spread.of(seconds / total)})
    return Table("Where a step of REINFORCE goes", rows, "By difference: the same games again, with one part more.")


def _parts_of_a_game(worker: Worker, theta: np.ndarray, number: GameNumber) -> dict[str, float]:
    """Seconds a step that each part adds, in the order in which they are added."""
    env = worker.env
    assert isinstance(env, PongPixels)
    action_n = worker.play(theta, number).action_n

    def step() -> None:
        env.console.reset(number.generators()[0])
        for action in action_n.tolist():
            env.console.step(UP if action else DOWN)

    def observe() -> None:
        actions = iter(action_n.tolist())
        rollout(env, lambda _: next(actions), number.generators()[0])

    parts: dict[str, Callable[[], Any]] = {
        "sticky actions, end of game": step,
        "observing": observe,
        "sampling": lambda: worker.play(theta, number),
        "gradient": lambda: worker.play_block(theta, [number]),
    }
    ends = [FRAME_SKIP / emulate()]
    for run in parts.values():
        start = time.perf_counter()
        run()
        ends.append((time.perf_counter() - start) / len(action_n))
    return dict(zip(("emulator", *parts), np.diff(ends, prepend=0).tolist(), strict=True))
