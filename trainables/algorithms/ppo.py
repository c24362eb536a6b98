"""PPO on Pong's pixels (Schulman et al. 2017, "Proximal Policy Optimization Algorithms", algorithm 1).

    for each update
        play ``segment_length`` steps in each of ``slots`` games with pi_old         on the workers
        A    = GAE(gamma, lambda), from the values of theta_old                      there, equations 11 and 12
        R    = the discounted return, or GAE(gamma, 1) + V: what the value learns    there
        A    = A standardised over the batch
        for ``epochs`` passes over the batch, for each minibatch
            theta <- Adam's step along the gradient of
                     mean_t [ L_clip + c_H entropy - c_V (V - R)^2 ]                 equation 9

    L_clip = min(r A, clip(r, 1 - c, 1 + c) A),   r = pi(a | x) / pi_old(a | x)      equation 7

Differences from the paper: GAE and returns end at each point, as in the original Pong programs; the step size halves
every ``half_life`` agent steps; the entropy bonus c_H is in proportion to the share of points that are lost, so that a
policy explores until it wins. What the value learns, the paper leaves open: A + V in OpenAI Baselines, R here. With
``slots=0`` the batch is ``games_per_update`` whole games.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from trainables.algorithms.algorithm import (
    Algorithm,
    Arrays,
    Metrics,
    Play,
    Progress,
    pixel_optimiser,
    with_prefix,
    without_prefix,
)
from trainables.config import PGConfig
from trainables.learning.baseline import explained_variance
from trainables.learning.cores import NetworkHalf, rejoined
from trainables.learning.distributions import Categorical
from trainables.learning.inputs import SparseRows, active_columns
from trainables.learning.optimisers import State
from trainables.learning.policies import ActorCritic
from trainables.learning.returns import bootstrapped_returns, generalised_advantages, standardise
from trainables.sampling.environments import DoublePixels
from trainables.sampling.frames import NUM_PIXELS, packed, stack_rows
from trainables.sampling.rollout import Trajectory
from trainables.sampling.worker import PlayedBlock, Worker

Array = np.ndarray

VALUE_WEIGHT = 0.25
"""c_V, of the value's squared error. (The paper's Atari experiments have 1.)"""


class Steps(NamedTuple):
    """n steps: played, and judged by the parameters that played them."""

    x_nd: SparseRows  # double frames; packed as they travel, float32 as an update learns from them
    action_n: Array  # int8
    log_prob_n: Array  # of the action
    adv_n: Array  # advantage, not yet standardised
    value_n: Array  # of the state before the step, as the policy that played judged it
    return_n: Array  # what the value should have been
    entropy_n: Array  # of the policy, nats

    @classmethod
    def join(cls, parts: Iterable[Self]) -> Self:
        """All steps of an update, in order."""
        frames, *rest = zip(*parts, strict=True)
        return cls(SparseRows.join(frames), *map(np.concatenate, rest))

    def take(self, rows: Array) -> Self:
        """Some of the steps."""
        return type(self)(self.x_nd.take(rows), *(part[rows] for part in self[1:]))


class Info(NamedTuple):
    """What a minibatch says of the policy before its step; means over the minibatch."""

    kl: float  # from the policy that played, as (r - 1) - log r estimates it, nats
    clip_fraction: float  # of the steps whose L_clip is flat
    clipped_objective: float  # L_clip


class PPO(Algorithm):
    """Many small steps up a clipped objective. Arrays: ``theta`` (the policy), ``value`` (h,), ``optimiser.*``."""

    def __init__(self, settings: PGConfig) -> None:
        self.settings, self.block_size = settings, settings.block_size
        self.policy = ActorCritic(DoublePixels.num_pixels, settings.hidden_size, len(DoublePixels.MOVES))

    def init(self, rng: np.random.Generator) -> Arrays:
        theta_p = self.policy.mlp.init(rng)
        return self._arrays(theta_p, pixel_optimiser(self.settings).init(len(theta_p)))

    @property
    def num_params(self) -> int:
        return self.policy.actor.num_params

    def worker_factory(self) -> Callable[[], Worker]:
        settings = self.settings
        judge_parts = partial(judge, self.policy, settings.gamma, settings.gae_lambda)
        return partial(Worker, partial(DoublePixels, settings.env_id), self.policy, judge_parts)

    def playing_weights(self, arrays: Mapping[str, Array]) -> Array:
        """The whole network's parameters; a policy that was exported has no value, and is worth 0."""
        return self.policy.join(arrays["theta"], arrays.get("value", np.zeros(self.policy.num_hidden, np.float32)))

    def output_weights(self, theta_p: Array) -> tuple[Array, Array]:
        """The weights of the difference frame (6400, h), and each hidden unit's weight for up against down (h,)."""
        (w1, _), (w2_hk, _) = self.policy.actor.layers(theta_p)
        up, down = (DoublePixels.MOVES.index(move) for move in ("up", "down"))
        return w1[:NUM_PIXELS], w2_hk[:, up] - w2_hk[:, down]

    def first_games(self, arrays: Arrays) -> int:
        return self.settings.games_per_update

    def collect(self, arrays: Arrays, blocks: Iterator[PlayedBlock], play: Play) -> Steps:
        return Steps.join(block.experience for block in blocks)

    def update(
        self, arrays: Arrays, batch: Steps, progress: Progress, rng: np.random.Generator
    ) -> tuple[Arrays, Metrics]:
        steps = batch._replace(adv_n=standardise(batch.adv_n))
        bonus = self.settings.entropy_bonus * progress.points_lost
        theta_p, state = self.playing_weights(arrays), without_prefix("optimiser", arrays)
        theta_p, state, info, norm = self.ascend(theta_p, state, steps, progress.decay, bonus, rng)
        metrics = {f"policy/{name}": value for name, value in info._asdict().items()} | {
            "policy/update_norm": norm,
            "value/explained_variance": explained_variance(batch.value_n, batch.return_n),
            "value/loss": float(np.mean((batch.return_n - batch.value_n) ** 2)),
            "policy/entropy": float(np.mean(batch.entropy_n)),
            "policy/entropy_bonus": bonus,
            "policy/learning_rate": self.settings.learning_rate * progress.decay,
        }
        return self._arrays(theta_p, state), metrics

    def ascend(
        self, theta_p: Array, state: State, steps: Steps, decay: float, bonus: float, rng: np.random.Generator
    ) -> tuple[Array, State, Info, float]:
        """Steps up the objective, one for each minibatch.

        Returns theta, the optimiser's state, means of the last epoch, and how far theta has moved. The weights of
        inputs that are zero in the whole batch, and the optimiser's memory of them, stay as they are.
        """
        run_two, optimiser, infos = self.cores.run_two, pixel_optimiser(self.settings, decay), []
        columns, x_nm = active_columns(steps.x_nd, self.policy.num_inputs)
        middle = self.settings.hidden_size // 2
        halves = slice(0, middle), slice(middle, self.settings.hidden_size)
        one, other = run_two(*(partial(NetworkHalf, self.policy.mlp, columns, half, theta_p, state) for half in halves))
        steps, num_steps = steps._replace(x_nd=x_nm), len(steps.action_n)
        minibatches = max(1, round(num_steps / self.settings.minibatch_size))
        for _ in range(self.settings.epochs):
            for rows in np.array_split(rng.permutation(num_steps), minibatches):
                some = steps.take(rows)
                out_nk, other_out_nk = run_two(partial(one.forward, some.x_nd), partial(other.forward, some.x_nd))
                slope_nk, info = objective_slope(out_nk + other_out_nk, some, self.settings.clip, bonus)
                run_two(partial(one.ascend, slope_nk, optimiser), partial(other.ascend, slope_nk, optimiser))
                infos.append(info)
        theta_p, state = run_two(
            lambda: rejoined("theta", theta_p, one, other),
            lambda: {name: rejoined(name, array, one, other) for name, array in state.items()},
        )
        means = np.mean(infos[-minibatches:], axis=0).tolist()
        return theta_p, state, Info(*means), math.hypot(one.distance, other.distance)

    def _arrays(self, theta_p: Array, state: State) -> Arrays:
        actor_p, critic_h = self.policy.split(theta_p)
        return {"theta": actor_p, "value": critic_h} | with_prefix("optimiser", state)


def judge(policy: ActorCritic, gamma: float, gae_lambda: float, theta_p: Array, parts: Sequence[Trajectory]) -> Steps:
    """What is learned from games, or parts of them; runs where they were played."""
    judged = []
    for part in parts:
        last_frame = [stack_rows([part.last_obs], policy.num_inputs)] * part.truncated
        logit_nk, value_n = policy.forward(theta_p, sparse.vstack([part.obs_nd, *last_frame], format="csr"))
        n, last_value = len(part.action_n), float(value_n[-1]) if part.truncated else 0.0
        logit_nk, value_n = logit_nk[:n], value_n[:n]
        point_n = part.reward_n != 0
        adv_n = generalised_advantages(part.reward_n, value_n, last_value, gamma, gae_lambda, point_n)
        return_n = bootstrapped_returns(part.reward_n, gamma, last_value, point_n)
        log_prob_n, entropy_n = Categorical.log_prob(logit_nk, part.action_n), Categorical.entropy(logit_nk)
        judged.append((part.action_n, log_prob_n, adv_n, value_n, return_n, entropy_n))
    x_nd = sparse.vstack([part.obs_nd for part in parts], format="csr")
    return Steps(packed(x_nd), *map(np.concatenate, zip(*judged, strict=True)))


def objective_slope(out_nk: Array, steps: Steps, clip: float, entropy_bonus: float) -> tuple[Array, Info]:
    """The slopes (n, k + 1) of the objective, equation 9, at the network's outputs, and what is worth knowing of it.

    L = mean_n [ L_clip + c_H entropy - c_V (R - V)^2 ]
    """
    logit_nk, value_n = out_nk[:, :-1], out_nk[:, -1]
    log_ratio_n = Categorical.log_prob(logit_nk, steps.action_n) - steps.log_prob_n
    ratio_n = np.exp(log_ratio_n)
    objective_n, slope_n = clipped_objective(ratio_n, steps.adv_n, clip)
    logit_slope_nk = slope_n[:, None] * Categorical.score(logit_nk, steps.action_n)
    logit_slope_nk += entropy_bonus * Categorical.entropy_slope(logit_nk)
    value_slope_n = 2 * VALUE_WEIGHT * (steps.return_n - value_n)
    slope_nk = np.column_stack([logit_slope_nk, value_slope_n]) / len(out_nk)
    info = np.mean(ratio_n - 1 - log_ratio_n), np.mean(slope_n != ratio_n * steps.adv_n), np.mean(objective_n)
    return slope_nk.astype(out_nk.dtype), Info(*map(float, info))


def clipped_objective(ratio_n: Array, adv_n: Array, clip: float) -> tuple[Array, Array]:
    """L_clip of n steps, equation 7, and its derivative with respect to log pi(a | x); both (n,).

    L_clip = min(r A, clip(r, 1 - c, 1 + c) A)
    d L_clip / d log pi = r A where that is the smaller one, else 0: the policy has moved far enough
    """
    free_n, clipped_n = ratio_n * adv_n, np.clip(ratio_n, 1 - clip, 1 + clip) * adv_n
    return np.minimum(free_n, clipped_n), np.where(free_n <= clipped_n, free_n, 0)
