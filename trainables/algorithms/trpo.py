"""TRPO on Pong's memory, or on a small Gymnasium environment (Schulman et al. 2015, "Trust Region Policy Optimization";
modular_rl's ``TrpoUpdater``).

    for each update
        play ``segment_length`` steps in each of ``slots`` games with pi_old         on the workers
        A = GAE(gamma, lambda) with the fitted value baseline                        there
        A = A standardised over the batch
        g    = gradient of L(theta) = -mean_n r A,   r = pi(a | x) / pi_old(a | x)   equation 14
        s    = (F + damping I)^-1 (-g)                                               conjugate gradient, appendix C
        step = s sqrt(2 delta / s^T (F + damping I) s)                               delta: KL_TARGET_FRACTION * max_kl
        theta <- theta + step, halved until L falls and mean KL(pi_old || pi) <= max_kl
        fit the baseline to the returns; take the observations' moments into the filter

F is the Fisher information of the policy: the Hessian of the mean KL at pi_old.

With ``slots=0`` the batch is about ``timesteps_per_batch`` steps of whole games, as modular_rl's.

Differences from modular_rl: the filter stands still within an update; the baseline's targets are standardised, and
its time input counts from the last point; the line search checks the KL bound too; a game that was cut off is worth the
value of the state in which it was. Where Pong asks for other numbers than its defaults, ``TRPOConfig`` says why.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from trainables.algorithms.algorithm import Algorithm, Arrays, Metrics, Play, Progress, with_prefix, without_prefix
from trainables.config import TRPOConfig
from trainables.learning.baseline import Value, ValueBaseline
from trainables.learning.inputs import active_inputs
from trainables.learning.policies import FilteredPolicy, FilteredWeights
from trainables.learning.returns import (
    bootstrapped_returns,
    generalised_advantages,
    standardise,
    steps_since_reset,
)
from trainables.learning.running_stats import Moments
from trainables.learning.trust_region import (
    LineSearchResult,
    Surrogate,
    backtracking_line_search,
    conjugate_gradient,
)
from trainables.sampling.memory import PongRAM, flat_environment
from trainables.sampling.rollout import Trajectory
from trainables.sampling.worker import PlayedBlock, Worker

Array = np.ndarray

PROBE_GAMES = 4
"""Games that begin a trial's first iteration: their mean length tells how many more it needs."""

KL_TARGET_FRACTION = 0.9
"""Share of ``max_kl`` that a full step aims at. The quadratic model of the KL misses by some percent; a step that aims
at the bound itself oversteps it every other time, and the line search then halves it to a quarter of the KL."""


class Experience(NamedTuple):
    """n steps as they travel: played, and judged by the baseline that was there when they were played."""

    obs_nd: Array  # as the environment shows them
    time_n: Array  # float32, since the last point, in units of the horizon 1 / (1 - gamma)
    action_n: Array  # int8
    return_n: Array  # float64
    adv_n: Array  # float64, not yet standardised
    moments: list[Moments]  # of the observations of each game, or part of one


class Batch(NamedTuple):
    """What an update learns from: n steps in all."""

    obs_nd: Array  # filtered, float32
    state_nd: Array  # what the baseline sees: the same, and the time
    action_n: Array  # int8
    adv_n: Array  # standardised, float32
    return_n: Array  # float64
    moments: list[Moments]
    mean_length: float  # agent steps of a game that ended; 0 if none did


class TRPO(Algorithm):
    """A natural gradient step within a trust region.

    Arrays: ``theta``; ``baseline.*``, a ``Value``; ``filter.*``, ``Moments`` of all observations so far;
    ``mean_length`` (), agent steps per game of the last iteration, 0 before the first.
    """

    playing_arrays = ("theta", *(f"filter.{name}" for name in Moments._fields))

    def __init__(self, settings: TRPOConfig) -> None:
        """Raises ValueError, in one line, if there is no such environment, or if it has other settings than Pong's."""
        self.settings = settings
        self.make_env = partial(flat_environment, settings.env_id, settings.coarse_coding)
        env = self.make_env()
        if settings.slots and not isinstance(env, PongRAM):
            raise ValueError(f"slots={settings.slots}: for Pong only; for {settings.env_id} set it to 0")
        self.policy = FilteredPolicy(env.num_inputs, settings.hidden_sizes, env.num_actions)
        self.baseline = ValueBaseline(
            env.num_inputs + 1,
            settings.hidden_sizes,
            settings.baseline_l2,
            settings.baseline_mix,
            settings.baseline_iterations,
            settings.baseline_every,
        )

    def init(self, rng: np.random.Generator) -> Arrays:
        arrays = {"theta": self.policy.init(rng), "mean_length": np.array(0.0)}
        arrays |= with_prefix("baseline", self.baseline.init(rng)._asdict())
        return arrays | with_prefix("filter", Moments.empty(self.policy.num_inputs)._asdict())

    @property
    def num_params(self) -> int:
        return self.policy.mlp.num_params

    def worker_factory(self) -> Callable[[], Worker]:
        return partial(Worker, self.make_env, self.policy, partial(judge, self.settings, self.baseline))

    def playing_weights(self, arrays: Mapping[str, Array]) -> FilteredWeights:
        value = _value(arrays) if "baseline.theta_p" in arrays else None
        return FilteredWeights(arrays["theta"], _moments(arrays).filter(), value)

    def first_games(self, arrays: Arrays) -> int:
        """The first iteration learns from ``PROBE_GAMES`` how long a game is; the others know it of the last one's."""
        return self.games_for([], float(arrays["mean_length"])) if arrays["mean_length"] else PROBE_GAMES

    def games_for(self, lengths: Sequence[int], mean_length: float) -> int:
        """How many games of a mean length make about ``timesteps_per_batch`` steps with those that there are, in pairs.

        Two workers then end together more often: of three games, the last would leave one idle for a third of the time.
        The rule looks at results only, so it gives the same games for any number of workers.
        """
        missing = self.settings.timesteps_per_batch - sum(lengths)
        return max(2 * round(missing / mean_length / 2), self.settings.min_games - len(lengths), 0)

    def collect(self, arrays: Arrays, blocks: Iterator[PlayedBlock], play: Play) -> Batch:
        played = [*blocks]
        lengths = [game.length for block in played for game in block.games]
        if not (arrays["mean_length"] or self.settings.slots):
            more = [*play(len(lengths), self.games_for(lengths, float(np.mean(lengths))))]
            lengths += [game.length for block in more for game in block.games]
            played += more
        obs, time, action, returns, adv, moments = zip(*(block.experience for block in played), strict=True)
        obs_nd = _moments(arrays).filter()(np.concatenate(obs))
        state_nd = np.column_stack([obs_nd, np.concatenate(time)])
        adv_n = standardise(np.concatenate(adv)).astype(np.float32)
        mean_length = float(np.mean(lengths)) if lengths else 0.0
        parts = [each for block_moments in moments for each in block_moments]
        return Batch(
            state_nd[:, :-1], state_nd, np.concatenate(action), adv_n, np.concatenate(returns), parts, mean_length
        )

    def update(
        self, arrays: Arrays, batch: Batch, progress: Progress, rng: np.random.Generator
    ) -> tuple[Arrays, Metrics]:
        max_kl = self.settings.max_kl * progress.decay**2
        (theta_p, policy_info), (value, baseline_info) = self.cores.run_two(
            lambda: self.improve_policy(arrays["theta"], batch.obs_nd, batch.action_n, batch.adv_n, max_kl),
            lambda: self.baseline.fit(_value(arrays), batch.state_nd, batch.return_n),
        )
        moments = reduce(Moments.merge, batch.moments, _moments(arrays))
        arrays = {"theta": theta_p, "mean_length": np.array(batch.mean_length or arrays["mean_length"])}
        arrays |= with_prefix("baseline", value._asdict()) | with_prefix("filter", moments._asdict())
        metrics = {f"policy/{name}": figure for name, figure in (policy_info | {"max_kl": max_kl}).items()}
        return arrays, metrics | {f"value/{name}": figure for name, figure in baseline_info.items()}

    def improve_policy(
        self, theta_p: Array, obs_nd: Array, action_n: Array, adv_n: Array, max_kl: float
    ) -> tuple[Array, Metrics]:
        """TRPO's step. A gradient that is zero or not finite, or a refused line search, leaves theta as it was."""
        columns, obs_nc = active_inputs(obs_nd)
        old_p = self.policy.mlp.restrict_params(theta_p, columns)
        surrogate = Surrogate(self.policy.mlp.restrict(columns), old_p, obs_nc, action_n, adv_n)
        every = self.settings.fisher_every
        sample = Surrogate(surrogate.mlp, old_p, obs_nc[::every], action_n[::every], adv_n[::every])

        def apply_fisher(v_p: Array) -> Array:
            return sample.fisher_product(v_p) + self.settings.cg_damping * v_p

        gradient_p = surrogate.gradient()
        search, residual_p = LineSearchResult(old_p, surrogate.start, 0, False), np.zeros_like(gradient_p)
        if np.isfinite(gradient_p).all():
            direction_p, residual_p = conjugate_gradient(apply_fisher, -gradient_p, self.settings.cg_iterations)
            curvature = float(direction_p @ (-gradient_p - residual_p))  # s^T (F + damping I) s, since r = b - A s
            if curvature > 0:
                step_p = direction_p * np.sqrt(2 * KL_TARGET_FRACTION * max_kl / curvature)
                step_p = step_p.astype(theta_p.dtype)
                slope = float(gradient_p @ step_p)
                search = backtracking_line_search(surrogate.loss_and_kl, old_p, surrogate.start, step_p, slope, max_kl)
        info = {
            "loss_before": surrogate.start.loss,
            "loss_after": search.at_x.loss,
            "kl": search.at_x.kl,
            "entropy": surrogate.entropy(old_p),
            "entropy_after": surrogate.entropy(search.x),
            "gradient_norm": float(np.linalg.norm(gradient_p)),
            "cg_residual": float(residual_p @ residual_p),
            "halvings": float(search.halvings),
            "update_accepted": float(search.accepted),
        }
        return self.policy.mlp.expand_params(search.x, columns, theta_p), info


def judge(
    settings: TRPOConfig, baseline: ValueBaseline, weights: FilteredWeights, parts: Sequence[Trajectory]
) -> Experience:
    """What is learned from games, or parts of them; runs where they were played."""
    judged = [advantages(settings, baseline, weights, part) for part in parts]
    obs_nd, time_n, action_n, return_n, adv_n = map(np.concatenate, zip(*judged, strict=True))
    return Experience(obs_nd, time_n, action_n, return_n, adv_n, [Moments.of(part.obs_nd) for part in parts])


def advantages(
    settings: TRPOConfig, baseline: ValueBaseline, weights: FilteredWeights, part: Trajectory
) -> tuple[Array, ...]:
    """Observations (n, d), times, actions, returns and advantages (n,) of a game, or part of one."""
    assert weights.value is not None, "these weights are of a policy alone"
    reset_n = (part.reward_n != 0) & settings.reset_on_reward
    before = part.steps_since_reward if settings.reset_on_reward else part.steps_before
    time_n = steps_since_reset(np.append(reset_n, False), before)
    time_n = (time_n * (1 - settings.gamma)).astype(np.float32)
    # The state after the last step comes along: a game that was cut off is worth what it is worth.
    obs_nd = weights.filter(np.vstack([part.obs_nd, part.last_obs]))
    value_n = baseline.predict(weights.value, np.column_stack([obs_nd, time_n]))
    last_value = float(value_n[-1]) if part.truncated else 0.0
    return_n = bootstrapped_returns(part.reward_n, settings.gamma, last_value, reset_n)
    adv_n = generalised_advantages(
        part.reward_n, value_n[:-1], last_value, settings.gamma, settings.gae_lambda, reset_n
    )
    return part.obs_nd, time_n[:-1], part.action_n, return_n, adv_n


def _value(arrays: Mapping[str, Array]) -> Value:
    return Value(**without_prefix("baseline", arrays))


def _moments(arrays: Mapping[str, Array]) -> Moments:
    return Moments(**without_prefix("filter", arrays))
