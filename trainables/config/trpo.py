"""The configuration of the memory learner."""

from dataclasses import dataclass
from typing import Annotated

from trainables.checks import Bounds, ConfigError
from trainables.config.base import GAMES_ONLY, Config, Count, Discount, Positive


@dataclass(frozen=True)
class TRPOConfig(Config):
    """TRPO on Pong's memory, or on a small Gymnasium environment (Schulman et al. 2015; modular_rl).

    The defaults learn best here, with sticky actions, of what was tried.
    """

    ARCHITECTURE_FIELDS = ("env_id", "slots", "hidden_sizes", "coarse_coding")

    env_id: str = "ALE/Pong-v5"
    """A Pong of ALE, seen as its 128 bytes of memory, or an environment with flat observations and discrete actions."""

    coarse_coding: bool = True
    """Beside Pong's memory, see the positions of ball and paddle, and how far apart they are, each spread over 32 bins.
    A byte is one number, of which a small network learns slowly to tell near positions apart. Other environments want
    False."""

    hidden_sizes: Annotated[tuple[int, ...], Bounds(1)] = (64, 64)
    """Tanh units of each hidden layer, in the policy and in the baseline."""

    gamma: Discount = 0.98
    """Discount factor per agent step (in Pong 4 frames)."""

    gae_lambda: Annotated[float, Bounds(0, 1)] = 0.97
    """GAE's lambda: 1 trusts returns alone (no bias), 0 the baseline alone (little variance)."""

    reset_on_reward: bool = True
    """Returns and advantages end at each reward, as Pong's points do. Other environments want False."""

    timesteps_per_batch: Annotated[int, Bounds(0)] = 0
    """Agent steps per update, about, where slots is 0: whole games are played, as many as their last mean length
    suggests."""

    min_games: Annotated[int, Bounds(1), GAMES_ONLY] = 2
    """Games per update at least, however long they are (good players' have 10,000 steps), where slots is 0. Fewer leave
    workers idle."""

    max_kl: Positive = 0.05
    """Trust region: largest mean KL divergence (nats) between the policies before and after an update, at first."""

    half_life: Annotated[int, Bounds(0)] = 1_500_000
    """Agent steps in which the step size halves, again and again, and max_kl, which goes with its square, falls to a
    quarter (0: they stay as they are). Even games are long, and a batch of steps holds few points of them: steps of
    the first size then lose as much as they win."""

    cg_iterations: Count = 10
    """Conjugate-gradient iterations towards the natural gradient."""

    cg_damping: Annotated[float, Bounds(0)] = 0.1
    """Multiple of the identity added to the Fisher information. modular_rl takes 1e-3; 0.1 was steadier on CartPole
    and no worse on Pong, in the few runs made."""

    fisher_every: Count = 5
    """Steps of a batch to one that the Fisher information looks at, as in OpenAI Baselines; modular_rl takes 1."""

    baseline_every: Count = 5
    """Steps of a batch to one that the baseline is fitted to: what is still to come differs little from one step to
    the next. modular_rl takes 1."""

    baseline_iterations: Count = 10
    """L-BFGS iterations of each fit of the baseline. modular_rl's 25 learn a batch's points by heart."""

    baseline_l2: Annotated[float, Bounds(0)] = 1e-3
    """Weight of the baseline's squared parameters against its mean squared error, in units of the returns' variance."""

    baseline_mix: Annotated[float, Bounds(0, 1, low_included=False)] = 0.3
    """The baseline's step: how far a fit moves from old predictions (0) to new returns (1). modular_rl takes 0.1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        pong_only = [f"{name}=True" for name in ("reset_on_reward", "coarse_coding") if getattr(self, name)]
        if pong_only and "pong" not in self.env_id.lower():
            raise ConfigError(f"{' and '.join(pong_only)}: for Pong only; for {self.env_id} set each to False")
        if self.slots and "pong" not in self.env_id.lower():
            raise ConfigError(
                f"slots={self.slots}: for Pong only; for {self.env_id} set slots=0 and timesteps_per_batch"
            )
        self.require_one_way_to_collect("timesteps_per_batch")
