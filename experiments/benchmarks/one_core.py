"""One core: the emulator's limit, how near a worker comes to it, and where the rest of a step goes.

Beside the workers stands the arithmetic of Ray's Pong notebook, dense and in float64, written afresh.
"""

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from experiments.benchmarks import measure
from experiments.benchmarks.measure import FRAME_SKIP, REINFORCE, Quartiles, Table
from experiments.benchmarks.questions import Emulator, Rollout
from experiments.disk import saved_policies
from experiments.plan.learners import LEARNERS
from experiments.plan.resources import local_cpus
from experiments.run.ray_session import start_ray
from trainables import TRAINED
from trainables.algorithms import make_algorithm
from trainables.algorithms.reinforce import score_gradient
from trainables.config import Config, PGConfig, TRPOConfig
from trainables.learning.policies import BernoulliPolicy, FilteredWeights
from trainables.learning.returns import discounted_returns, standardise
from trainables.sampling.console import DOWN, UP, PongConsole
from trainables.sampling.environments import PongPixels
from trainables.sampling.frames import NUM_PIXELS, preprocess
from trainables.sampling.pool import RolloutPool
from trainables.sampling.process import set_malloc_thresholds
from trainables.sampling.rollout import GameNumber, rollout
from trainables.sampling.segments import Segment, Slot
from trainables.sampling.worker import Worker

Array = np.ndarray

CONFIG = PGConfig.from_dict(REINFORCE)
"""The configuration of all sides that play as REINFORCE does."""


def benchmark_emulator(flags: Emulator) -> Iterator[Table]:
    """The table of ``Emulator``."""
    cores = local_cpus()
    with measure.bare_emulators(1) as one, measure.bare_emulators(cores) as many:
        rates = measure.alternate({"1 process": one, f"{cores} processes": many}, flags.rounds)
    yield Table("Bare emulator", measure.shares(rates, "frames/s"))


def benchmark_rollout(flags: Rollout) -> Iterator[Table]:
    """The tables of ``Rollout``."""
    start_ray(None, verbose=False)
    set_malloc_thresholds()  # as the rollout actors do
    worker, theta = _worker(CONFIG)
    policy, console = BernoulliPolicy(NUM_PIXELS, CONFIG.hidden_size), PongConsole(CONFIG.env_id)
    sides = {
        "emulator": measure.emulate,
        "REINFORCE": _timed(lambda game: worker.play_block(theta, [GameNumber(0, 0, game)]).steps),
        "emulator, a trained policy's moves": _timed(_replay(*_trained("pg"))),
        "PPO": _timed(_segment_player("pg")),
        "TRPO": _timed(_segment_player("trpo")),
        "PPO, Ray's actor": _timed(_actor_player("pg")),
        "TRPO, Ray's actor": _timed(_actor_player("trpo")),
        "dense oracle": _timed(lambda game: _dense_game(console, policy, theta, game)),
        "notebook": _timed(_notebook_player(policy, theta)),
    }
    rates = measure.alternate(sides, flags.rounds)
    rows = measure.shares(rates, "frames/s")
    for row in rows:
        row["of notebook"] = Quartiles.of(np.divide(rates[row["side"]], rates["notebook"]))
    note = "PPO and TRPO play segments with trained policies, others whole games with untrained ones."
    yield Table("One worker, with all that it computes of its steps", rows, note)
    games = [_parts_of_a_game(worker, theta, GameNumber(1, 0, game)) for game in range(1 + flags.rounds)]
    played = games[1:]  # without the first one, as alternate() leaves out the first round
    rows = []
    for part in played[0]:
        seconds = np.array([parts[part] for parts in played])
        share = Quartiles.of(seconds / [sum(parts.values()) for parts in played])
        rows.append({"part": part, "us/step": Quartiles.of(1e6 * seconds), "share": share})
    note = "By difference: the same games again, with one part more."
    yield Table("Where a step of REINFORCE goes", rows, note)


def _timed(play: Callable[[int], int]) -> Callable[[], float]:
    """A function that measures the frames/s of ``play``, which plays a game by its number and returns its steps."""
    games = count()

    def rate() -> float:
        start = time.perf_counter()
        return FRAME_SKIP * play(next(games)) / (time.perf_counter() - start)

    return rate


def _worker(config: Config) -> tuple[Worker, Any]:
    """A worker of the algorithm, and the weights that it begins with."""
    algorithm = make_algorithm(config)
    return algorithm.worker_factory()(), algorithm.playing_weights(algorithm.init(np.random.default_rng(0)))


def _trained(learner: str) -> tuple[Worker, Any]:
    """A worker and the trained policy of this package, whose games are those of most of a trial's life.

    The policy was exported without TRPO's baseline, which a worker computes, too: an untrained one takes the same time.
    """
    trained = saved_policies.find(Path(), f"{TRAINED.name}/{learner}").all[0]
    runner = saved_policies.policy_runner(trained)
    weights = runner.weights
    if isinstance(weights, FilteredWeights):
        weights = weights._replace(value=_worker(TRPOConfig())[1].value)
    return runner.worker, weights


def _segment_player(learner: str) -> Callable[[int], int]:
    """A function that plays some segments of one slot, a thousand steps in all."""
    worker, weights = _trained(learner)
    length = LEARNERS[learner].config_class().segment_length
    segments = max(1, 1024 // length)
    slot: Slot | None = None

    def play(call: int) -> int:
        nonlocal slot
        for update in range(call * segments, (call + 1) * segments):
            slot = worker.play_block(weights, (Segment(0, update, 0, length, slot),)).slot
        return segments * length

    return play


SLOTS = 8
"""Segments of an update that a worker plays in a process of Ray's."""


def _actor_player(learner: str) -> Callable[[int], int]:
    """A function that has a segment of each slot played by a worker in a process of Ray's.

    What its pool does, and all that travels between the two, is measured, too.
    """
    _, weights = _trained(learner)
    config = LEARNERS[learner].config_class()
    pool = RolloutPool(make_algorithm(config).worker_factory(), 1)
    left: list[Slot | None] = [None] * SLOTS

    def play(update: int) -> int:
        segments = [Segment(0, update, number, config.segment_length, slot) for number, slot in enumerate(left)]
        left[:] = [block.slot for block in pool.play(weights, segments)]
        return SLOTS * config.segment_length

    return play


def _replay(worker: Worker, weights: Any) -> Callable[[int], int]:
    """A function that plays the first 2,048 steps of one of the policy's games again, and computes nothing of them."""
    worker.play_block(weights, (Segment(0, 0, 0, 2048, None),))
    played, console = bytes(worker.env.console.played), PongConsole()

    def play(call: int) -> int:
        console.reset(np.random.default_rng(0))
        act = console.ale.act
        for move in played:
            act(move)
        return len(played) // FRAME_SKIP

    return play


def _dense_game(console: PongConsole, policy: BernoulliPolicy, theta: Array, game: int) -> int:
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


class NotebookModel:
    """The notebook's two dense layers, ``w1`` (h, 6400) and ``w2`` (h,). A test compares REINFORCE with it."""

    def __init__(self, w1: Array, w2: Array) -> None:
        self.w1, self.w2 = w1, w2

    def forward(self, x: Array) -> tuple[float, Array]:
        """Probability of moving up, and the hidden layer, of one dense difference frame (6400,)."""
        hidden = self.w1 @ x
        hidden[hidden < 0] = 0
        return 1.0 / (1.0 + np.exp(-(self.w2 @ hidden))), hidden

    def gradient(self, x_nd: Array, hidden_nh: Array, score_n: Array) -> tuple[Array, Array]:
        """Gradients of ``w1`` and ``w2`` of sum_n score[n] * logit[n]."""
        back_nh = np.outer(score_n, self.w2)
        back_nh[hidden_nh <= 0] = 0
        return back_nh.T @ x_nd, hidden_nh.T @ score_n


def _notebook_player(policy: BernoulliPolicy, theta: Array) -> Callable[[int], int]:
    """A function that plays a game on Gymnasium's own environment, and its gradients; it returns the game's length."""
    (w1, _), (w2, _) = policy.mlp.layers(theta.astype(np.float64))
    model, env = NotebookModel(w1.T.copy(), w2.ravel()), gymnasium.make(CONFIG.env_id)
    env.reset(seed=0)

    def play(game: int) -> int:
        rng = np.random.default_rng(game)
        picture, _ = env.reset()
        before, done = None, False
        frames, hiddens, scores, rewards = [], [], [], []
        while not done:
            now = preprocess(picture).astype(np.float64)
            frames.append(now - before if before is not None else np.zeros(NUM_PIXELS))
            before = now
            up_probability, hidden = model.forward(frames[-1])
            up = rng.random() < up_probability
            picture, reward, terminated, truncated, _ = env.step(2 if up else 3)  # Gymnasium's numbers
            done = terminated or truncated
            hiddens.append(hidden)
            scores.append(up - up_probability)
            rewards.append(reward)
        score_n = np.array(scores) * standardise(discounted_returns(np.array(rewards), CONFIG.gamma))
        model.gradient(np.vstack(frames), np.vstack(hiddens), score_n)
        return len(frames)

    return play


def _parts_of_a_game(worker: Worker, theta: Array, number: GameNumber) -> dict[str, float]:
    """Seconds a step that each part of a step of REINFORCE adds, in the order in which they are added."""
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
    ends = [FRAME_SKIP / measure.emulate()]
    for run in parts.values():
        start = time.perf_counter()
        run()
        ends.append((time.perf_counter() - start) / len(action_n))
    return dict(zip(("emulator", *parts), np.diff(ends, prepend=0).tolist(), strict=True))
