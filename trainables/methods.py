"""What the pixel learner makes of its games: one step of REINFORCE, or the many small ones of PPO."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from trainables.config import PGConfig
from trainables.learning.baselines import explained_variance
from trainables.learning.distributions import Categorical
from trainables.learning.optimisers import Adam, Optimiser, RMSProp, State
from trainables.learning.policies import BernoulliPolicy, PixelCategoricalPolicy
from trainables.learning.ppo import PPO, ActorCritic, Experience
from trainables.learning.returns import generalised_advantages, standardise
from trainables.sampling.environments import DoublePixels
from trainables.sampling.frames import NUM_PIXELS, DoubleFrames
from trainables.sampling.pixel_workers import BlockGradient, FrameWorker, GradientWorker, PackedBlock, PackedGame
from trainables.sampling.worker import GameSummary, Worker

Array = np.ndarray
Arrays = dict[str, Array]
"""A method's state. ``theta`` is the policy's, and all that a worker needs to play."""


class Method(Protocol):
    """How the pixel learner learns."""

    def worker_factory(self) -> Callable[[], Worker]:
        """A picklable function that makes a worker."""
        ...

    def init(self, rng: np.random.Generator) -> Arrays:
        """The state before the first game."""
        ...

    def votes(self, theta_p: Array) -> tuple[Array, Array]:
        """What each hidden unit looks for in the difference of two frames (6400, h), and how much it speaks for up."""
        ...

    def gather(self, arrays: Arrays, blocks: Iterable[Any]) -> tuple[Any, list[GameSummary], list[float]]:
        """Take in blocks of games while others are still being played.

        Returns what ``learn`` needs, and of each game a summary and the policy's mean entropy in nats.
        """
        ...

    def learn(
        self, arrays: Arrays, gathered: Any, decay: float, rng: np.random.Generator
    ) -> tuple[Arrays, dict[str, float]]:
        """An update: the new state, and metrics, always the same ones in the same order.

        ``decay`` is what time has left of the step size, and of PPO's entropy bonus.
        """
        ...


class Reinforce:
    """Karpathy's policy gradient: the games' gradients, summed in their order, and one step uphill (document 002)."""

    def __init__(self, settings: PGConfig) -> None:
        self.settings = settings
        self.policy = BernoulliPolicy(NUM_PIXELS, settings.hidden_size)
        self.optimiser = _optimiser(settings)

    def worker_factory(self) -> Callable[[], Worker]:
        return partial(GradientWorker, self.settings.env_id, self.settings.hidden_size, self.settings.gamma)

    def init(self, rng: np.random.Generator) -> Arrays:
        theta_p = self.policy.mlp.init(rng)
        return {"theta": theta_p} | _stored(self.optimiser.init(len(theta_p)))

    def votes(self, theta_p: Array) -> tuple[Array, Array]:
        (w1, _), (w2_h1, _) = self.policy.mlp.layers(theta_p)
        return w1, w2_h1[:, 0]

    def gather(self, arrays: Arrays, blocks: Iterable[BlockGradient]) -> tuple[Array, list[GameSummary], list[float]]:
        gradient_p, games, entropies = np.zeros_like(arrays["theta"]), [], []
        for block in blocks:
            self.policy.add_row_gradient(gradient_p, block.gradient)
            games += block.summaries
            entropies += block.entropies
        return gradient_p, games, entropies

    def learn(
        self, arrays: Arrays, gathered: Array, decay: float, rng: np.random.Generator
    ) -> tuple[Arrays, dict[str, float]]:
        """theta <- theta + RMSProp(sum over games of sum_t A[t] grad log p(a[t] | x[t]))."""
        optimiser = _optimiser(self.settings, decay)
        theta_p, state = optimiser.ascend(arrays["theta"], gathered, _state(arrays))
        metrics = {
            "policy/gradient_norm": float(np.linalg.norm(gathered)),
            "policy/update_norm": float(np.linalg.norm(theta_p - arrays["theta"])),
        }
        return {"theta": theta_p} | _stored(state), metrics


class PPO_METHOD:
    """PPO with generalised advantages that end at each point, as the seeds' returns do."""

    def __init__(self, settings: PGConfig) -> None:
        self.settings = settings
        self.policy = PixelCategoricalPolicy(DoubleFrames.num_pixels, settings.hidden_size, len(DoublePixels.MOVES))
        self.network = ActorCritic(self.policy)
        self.optimiser = _optimiser(settings)
        self.ppo = PPO(
            self.network,
            self.optimiser,
            settings.epochs,
            settings.minibatch_size,
            settings.clip,
            settings.entropy_bonus,
            threads=settings.num_workers,
        )

    def worker_factory(self) -> Callable[[], Worker]:
        return partial(FrameWorker, self.settings.env_id, self.settings.hidden_size)

    def init(self, rng: np.random.Generator) -> Arrays:
        theta_p = self.network.mlp.init(rng)
        return self._arrays(theta_p, self.optimiser.init(len(theta_p)))

    def votes(self, theta_p: Array) -> tuple[Array, Array]:
        (w1, _), (w2_hk, _) = self.policy.mlp.layers(theta_p)
        up, down = (DoublePixels.MOVES.index(move) for move in ("up", "down"))
        return w1[:NUM_PIXELS], w2_hk[:, up] - w2_hk[:, down]

    def gather(
        self, arrays: Arrays, blocks: Iterable[PackedBlock]
    ) -> tuple[list[Experience], list[GameSummary], list[float]]:
        theta_p = self.network.join(arrays["theta"], arrays["value"])
        judged = (self._judge(theta_p, game) for block in blocks for game in block.games)
        experiences, games, entropies = map(list, zip(*judged, strict=True))
        return experiences, games, entropies

    def _judge(self, theta_p: Array, game: PackedGame) -> tuple[Experience, GameSummary, float]:
        settings, x_nd = self.settings, game.frames
        logit_nk, value_n = self.network.evaluate(theta_p, x_nd)
        last_value = float(value_n[-1]) if game.truncated else 0.0
        x_nd, logit_nk, value_n = x_nd[:-1], logit_nk[:-1], value_n[:-1]
        adv_n = generalised_advantages(
            game.reward_n, value_n, last_value, settings.gamma, settings.gae_lambda, game.reward_n != 0
        )
        log_prob_n = Categorical.log_prob(logit_nk, game.action_n)
        entropy = float(Categorical.entropy(logit_nk).mean())
        summary = GameSummary(float(game.reward_n.sum()), len(game.action_n), game.seconds)
        return Experience(x_nd, game.action_n, log_prob_n, adv_n, adv_n + value_n), summary, entropy

    def learn(
        self, arrays: Arrays, gathered: list[Experience], decay: float, rng: np.random.Generator
    ) -> tuple[Arrays, dict[str, float]]:
        """Standardise the advantages of all games together, then PPO's passes."""
        batch = Experience.join(gathered)
        explained = explained_variance(batch.return_n - batch.adv_n, batch.return_n)
        batch = batch._replace(adv_n=standardise(batch.adv_n))
        old_theta_p = self.network.join(arrays["theta"], arrays["value"])
        entropy_bonus = self.settings.entropy_bonus * decay
        ppo = replace(self.ppo, optimiser=_optimiser(self.settings, decay), entropy_bonus=entropy_bonus)
        theta_p, state, info = ppo.update(old_theta_p, _state(arrays), batch, rng)
        metrics = {f"policy/{name}": value for name, value in info.items()} | {
            "policy/update_norm": float(np.linalg.norm(theta_p - old_theta_p)),
            "baseline/explained_variance": explained,
        }
        return self._arrays(theta_p, state), metrics

    def _arrays(self, theta_p: Array, state: State) -> Arrays:
        actor_p, critic_h = self.network.split(theta_p)
        return {"theta": actor_p, "value": critic_h} | _stored(state)


METHODS: dict[str, Callable[[PGConfig], Method]] = {"reinforce": Reinforce, "ppo": PPO_METHOD}


def _optimiser(settings: PGConfig, decay: float = 1.0) -> Optimiser:
    learning_rate = settings.learning_rate * decay
    if settings.optimiser == "rmsprop":
        return RMSProp(learning_rate, settings.rmsprop_decay)
    return Adam(learning_rate)


def _stored(state: State) -> Arrays:
    return {f"optimiser.{name}": array for name, array in state.items()}


def _state(arrays: Arrays) -> State:
    return {name.removeprefix("optimiser."): array for name, array in arrays.items() if name.startswith("optimiser.")}
