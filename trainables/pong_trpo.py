"""TRPO on Pong's memory as a Ray Tune Trainable."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import cached_property, partial, reduce
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from trainables.config import TRPOConfig
from trainables.learning.baselines import Value, ValueBaseline
from trainables.learning.policies import CategoricalPolicy
from trainables.learning.returns import (
    bootstrapped_returns,
    generalised_advantages,
    standardise,
    steps_since_reset,
)
from trainables.learning.running_stats import Filter, Moments
from trainables.learning.trust_region import TrustRegion
from trainables.metrics import Stopwatch, perf_metrics
from trainables.sampling.environments import flat_environment
from trainables.sampling.memory_worker import FilteredBlock, FilteredGame, FilteredWeights, TrajectoryWorker
from trainables.sampling.rollout import Trajectory
from trainables.sampling.worker import Worker
from trainables.trainable import PongTrainable, Rollout

Array = np.ndarray

PROBE_GAMES = 4
"""Games that begin a trial's first iteration: their mean length tells how many more it needs."""


class Batch(NamedTuple):
    """An iteration's games, one after the other, n steps in all."""

    obs_nd: Array  # filtered, float32
    state_nd: Array  # what the baseline sees: the same, and the time
    action_n: Array
    adv_n: Array  # standardised, float32
    return_n: Array


class PongTRPO(PongTrainable):
    """TRPO with a fitted value baseline and a running observation filter.

    Semantics are those of modular_rl (seed document 004), with these differences. The filter stands still within an
    iteration. Targets of the baseline are standardised, and its time input counts from the last point. The line search
    checks the KL bound too. A game that was cut off is worth the value of the state in which it was. And where Pong
    asks for other numbers than modular_rl's defaults, ``TRPOConfig`` says why.
    """

    learner = "trpo"
    config_class = TRPOConfig
    playing_arrays = ("theta", *(f"filter.{name}" for name in Moments._fields))

    def build(self) -> None:
        settings: TRPOConfig = self.settings
        env, rng = flat_environment(settings.env_id, settings.places), self.init_rng()
        self.policy = CategoricalPolicy(env.num_inputs, settings.hidden_sizes, env.num_actions)
        self.trust_region = TrustRegion(
            self.policy, settings.max_kl, settings.cg_damping, settings.cg_iterations, settings.fisher_every
        )
        self.baseline = ValueBaseline(
            env.num_inputs + 1,
            settings.hidden_sizes,
            settings.baseline_l2,
            settings.baseline_mix,
            settings.baseline_iterations,
            settings.baseline_every,
        )
        self.theta = self.policy.init(rng)
        self.value = self.baseline.init(rng)
        self.moments = Moments.empty(env.num_inputs)
        self.mean_length = 0.0  # agent steps per game of the previous iteration

    @staticmethod
    def worker_factory(settings: TRPOConfig) -> Callable[[], Worker]:
        return partial(TrajectoryWorker, settings.env_id, settings.hidden_sizes, settings.places)

    def update(self, rollout: Rollout) -> dict[str, float]:
        """One update: theta <- theta + s, the step within the trust region that TRPO finds for GAE's advantages."""
        clock, games = Stopwatch(), []

        def trajectories() -> Iterator[Trajectory]:
            for game in self.play_batch(rollout.blocks):
                games.append(game)
                yield game.trajectory

        with clock.measure("rollout", rollout.began):
            batch = self.batch(trajectories(), self.moments.filter())  # judges games while others are being played
        with clock.measure("update"):
            max_kl = self.settings.max_kl * self.decay() ** 2
            trust_region = replace(self.trust_region, max_kl=max_kl)
            (self.theta, policy_info), (self.value, baseline_info) = self.at_once(
                lambda: trust_region.update(self.theta, batch.obs_nd, batch.action_n, batch.adv_n),
                lambda: self.baseline.fit(self.value, batch.state_nd, batch.return_n),
            )
            self.moments = reduce(Moments.merge, [game.moments for game in games], self.moments)
        summaries = [game.summary for game in games]
        infos = _family("policy", policy_info | {"max_kl": max_kl}) | _family("baseline", baseline_info)
        return self.episodes.add(summaries) | infos | perf_metrics(clock, summaries, self.settings.num_workers)

    def at_once(self, *jobs: Callable[[], Any]) -> list[Any]:
        """Results of jobs that do not need each other's, computed in parallel where the trial has two cores.

        NumPy's error state is part of a thread's context, and each job gets a copy of the caller's.
        """
        return [job.result() for job in [self.cores.submit(copy_context().run, job) for job in jobs]]

    @cached_property
    def cores(self) -> ThreadPoolExecutor:
        """Threads that stay from update to update, since new ones have their memory mapped anew, page by page."""
        return ThreadPoolExecutor(min(2, self.settings.num_workers))

    def begin(self) -> Iterator[FilteredBlock]:
        """The first iteration learns from ``PROBE_GAMES`` how long a game is; the others know it of the last one's."""
        return self.play(0, self.games_for([], self.mean_length) if self.mean_length else PROBE_GAMES)

    def play(self, first: int, count: int) -> Iterator[FilteredBlock]:
        """Hand out ``count`` games of the present iteration, from game ``first`` on."""
        weights = FilteredWeights(self.theta, self.moments.filter())
        return self.pool.play(weights, self.game_numbers(first, count))

    def games_for(self, lengths: list[int], mean_length: float) -> int:
        """How many games of a mean length make about ``timesteps_per_batch`` steps with those that there are, in pairs.

        Two workers then end together more often: of three games, the last would leave one idle for a third of the time.
        The rule looks at results only, so it gives the same games for any number of workers.
        """
        settings: TRPOConfig = self.settings
        missing = settings.timesteps_per_batch - sum(lengths)
        return max(2 * round(missing / mean_length / 2), settings.min_games - len(lengths), 0)

    def play_batch(self, blocks: Iterator[FilteredBlock]) -> Iterator[FilteredGame]:
        """The games that ``begin`` handed out, and after the first iteration's few as many as then seem right."""
        lengths: list[int] = []

        def counted(blocks: Iterator[FilteredBlock]) -> Iterator[FilteredGame]:
            for game in chain.from_iterable(block.games for block in blocks):
                lengths.append(game.summary.length)
                yield game

        yield from counted(blocks)
        if not self.mean_length:
            yield from counted(self.play(len(lengths), self.games_for(lengths, float(np.mean(lengths)))))
        self.mean_length = float(np.mean(lengths))

    def batch(self, games: Iterable[Trajectory], see: Filter) -> Batch:
        """Filter the games' observations and estimate returns and advantages, before the baseline sees them."""
        settings: TRPOConfig = self.settings
        parts: list[tuple[Array, Array, Array, Array]] = []
        for game in games:
            reset_n = (game.reward_n != 0) & settings.reset_on_reward
            # The state after the last step comes along: a game that was cut off is worth what it is worth.
            state_nd = self.states(see(np.vstack([game.obs_nd, game.last_obs])), np.append(reset_n, False))
            value_n = self.baseline.predict(self.value, state_nd)
            last_value = float(value_n[-1]) if game.truncated else 0.0
            return_n = bootstrapped_returns(game.reward_n, settings.gamma, last_value, reset_n)
            adv_n = generalised_advantages(
                game.reward_n, value_n[:-1], last_value, settings.gamma, settings.gae_lambda, reset_n
            )
            parts.append((state_nd[:-1], game.action_n, return_n, adv_n))
        state_nd, action_n, return_n, adv_n = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Batch(state_nd[:, :-1], state_nd, action_n, standardise(adv_n).astype(np.float32), return_n)

    def states(self, obs_nd: Array, reset_n: Array) -> Array:
        """The baseline's inputs (n, d + 1): observations, and the time since the last point, times 1 - gamma."""
        time_n = steps_since_reset(reset_n) * (1 - self.settings.gamma)
        return np.column_stack([obs_nd, time_n.astype(np.float32)])

    @staticmethod
    def playing_weights(arrays: dict[str, np.ndarray]) -> FilteredWeights:
        return FilteredWeights(arrays["theta"], _moments(arrays).filter())

    def get_arrays(self) -> dict[str, np.ndarray]:
        arrays = {"theta": self.theta, "mean_length": np.array(self.mean_length)}
        arrays |= {f"baseline.{name}": array for name, array in self.value._asdict().items()}
        return arrays | {f"filter.{name}": array for name, array in self.moments._asdict().items()}

    def set_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        self.theta = arrays["theta"]
        self.mean_length = float(arrays["mean_length"])
        self.value = Value(*(arrays[f"baseline.{name}"] for name in Value._fields))
        self.moments = _moments(arrays)


def _moments(arrays: dict[str, Array]) -> Moments:
    return Moments(*(arrays[f"filter.{name}"] for name in Moments._fields))


def _family(name: str, info: dict[str, float]) -> dict[str, float]:
    return {f"{name}/{key}": value for key, value in info.items()}
