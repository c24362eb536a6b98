"""REINFORCE on Pong's pixels (Williams 1992), with the settings of Karpathy 2016, "Deep Reinforcement Learning: Pong
from Pixels", and its parallel form in Ray's Pong example.

    for each iteration
        play ``games_per_update`` games with the policy pi of theta                  on the workers
        for each game                                                                on the workers
            R[t] = r[t] + gamma R[t+1], from 0 after each point
            A    = R standardised over the game
            g   += sum_t A[t] grad log pi(a[t] | x[t])
        theta <- RMSProp's (or Adam's) step along g                                  in the trial

Differences from Ray's example: gradients are summed in game order, not in order of completion, and the number of games
is independent of that of actors, so results repeat bit for bit.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

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
from trainables.learning.distributions import Bernoulli
from trainables.learning.inputs import Inputs, distinct_columns
from trainables.learning.kernels import add_rows
from trainables.learning.policies import BernoulliPolicy
from trainables.learning.returns import discounted_returns, standardise
from trainables.sampling.environments import PongPixels
from trainables.sampling.frames import NUM_PIXELS
from trainables.sampling.rollout import Trajectory
from trainables.sampling.worker import PlayedBlock, Worker

Array = np.ndarray


class Batch(NamedTuple):
    """What an update learns from."""

    gradient_p: Array  # sum over the games
    entropy_g: list[float]  # of the policy, each game's mean, nats


class Reinforce(Algorithm):
    """One step of an optimiser along the gradient of the games. Arrays: ``theta``, ``optimiser.*``."""

    def __init__(self, settings: PGConfig) -> None:
        self.settings, self.block_size = settings, settings.block_size
        self.policy = BernoulliPolicy(NUM_PIXELS, settings.hidden_size)

    def init(self, rng: np.random.Generator) -> Arrays:
        theta_p = self.policy.mlp.init(rng)
        return {"theta": theta_p} | with_prefix("optimiser", pixel_optimiser(self.settings).init(len(theta_p)))

    @property
    def num_params(self) -> int:
        return self.policy.mlp.num_params

    def worker_factory(self) -> Callable[[], Worker]:
        pack = partial(policy_gradient, self.policy, self.settings.gamma)
        return partial(Worker, partial(PongPixels, self.settings.env_id), self.policy, pack)

    def output_weights(self, theta_p: Array) -> tuple[Array, Array]:
        """The weights of the difference frame (6400, h), and each hidden unit's weight for up against down (h,)."""
        (w1, _), (w2_h1, _) = self.policy.mlp.layers(theta_p)
        return w1, w2_h1[:, 0]

    def first_games(self, arrays: Arrays) -> int:
        return self.settings.games_per_update

    def collect(self, arrays: Arrays, blocks: Iterator[PlayedBlock], play: Play) -> Batch:
        batch = Batch(np.zeros_like(arrays["theta"]), [])
        for block in blocks:
            add_gradient(self.policy, batch.gradient_p, block.experience)
            batch.entropy_g.extend(block.experience.entropy_g)
        return batch

    def update(
        self, arrays: Arrays, batch: Batch, progress: Progress, rng: np.random.Generator
    ) -> tuple[Arrays, Metrics]:
        state, optimiser = without_prefix("optimiser", arrays), pixel_optimiser(self.settings, progress.decay)
        theta_p, state = optimiser.ascend(arrays["theta"], batch.gradient_p, state)
        metrics = {
            "policy/gradient_norm": float(np.linalg.norm(batch.gradient_p)),
            "policy/update_norm": float(np.linalg.norm(theta_p - arrays["theta"])),
            "policy/entropy": float(np.mean(batch.entropy_g)),
            "policy/learning_rate": self.settings.learning_rate * progress.decay,
        }
        return {"theta": theta_p} | with_prefix("optimiser", state), metrics


class BlockGradient(NamedTuple):
    """The gradient of a block of games, without the rows of the first weight matrix that are zero or repeat others.

    Row j of that matrix multiplies pixel j. A game that never lights a pixel has no gradient for its row, and pixels
    that light together have the same gradient, or the opposite one.
    """

    columns: Array  # (m,) int32, the pixels that were ever lit, ascending
    group: Array  # (m,) int32, the row of the gradient that is theirs
    sign: Array  # (m,) float32, and 1, or -1 for its opposite
    grad: Array  # (u*h + h,) gradient of the network that sees one pixel of each group
    entropy_g: list[float]  # of the policy, each game's mean, nats


def policy_gradient(
    policy: BernoulliPolicy, gamma: float, theta_p: Array, games: Sequence[Trajectory]
) -> BlockGradient:
    """The gradient of sum_t A[t] log pi(a[t] | x[t]) over some games; runs where the games were played.

    A is each game's discounted returns, standardised. Gradients are summed where they arise: games light much the same
    pixels, so a sum is far smaller than its parts.
    """
    x_nd = games[0].obs_nd if len(games) == 1 else sparse.vstack([game.obs_nd for game in games], format="csr")
    action_n = np.concatenate([game.action_n for game in games])
    adv_n = np.concatenate([standardise(discounted_returns(game.reward_n, gamma)) for game in games])
    # The same maths in a network that sees each distinct pixel once.
    columns, group, sign, distinct_nu = distinct = distinct_columns(x_nd)
    (w1, _), (w2, _) = policy.mlp.layers(theta_p)
    small_p = np.concatenate([distinct.merged(w1).ravel(), w2.ravel()])
    small = BernoulliPolicy(distinct_nu.shape[1], policy.num_hidden)
    grad_p, entropy_n = score_gradient(small, small_p, distinct_nu, action_n, adv_n)
    ends = np.cumsum([len(game.action_n) for game in games])
    entropy_g = [float(entropy_t.mean()) for entropy_t in np.split(entropy_n, ends[:-1])]
    return BlockGradient(columns, group, sign, grad_p, entropy_g)


def score_gradient(
    policy: BernoulliPolicy, theta_p: Array, x_nd: Inputs, action_n: Array, adv_n: Array
) -> tuple[Array, Array]:
    """The REINFORCE gradient of n steps (p,), and the policy's entropy at each (n,), in nats.

    g = sum_t  A[t] * grad_theta log pi(a[t] | x[t])        (Williams 1992)
    """
    logit_nk, tape = policy.mlp.forward(theta_p, x_nd)
    logit_n = logit_nk[:, 0]
    score_n = Bernoulli.score(logit_n, action_n) * adv_n.astype(logit_n.dtype)
    return policy.mlp.vjp(theta_p, tape, score_n[:, None]), Bernoulli.entropy(logit_n)


def add_gradient(policy: BernoulliPolicy, total_p: Array, block: BlockGradient) -> None:
    """Add a block's gradient to the batch's (p,), in place."""
    (w1_total, _), (w2_total, _) = policy.mlp.layers(total_p)
    w1_uh, w2_h = np.split(block.grad, [-policy.num_hidden])
    add_rows(w1_total, block.columns, w1_uh.reshape(-1, policy.num_hidden), block.group, block.sign)
    w2_total += w2_h[:, None]
