"""Settings of the learners: frozen dataclasses that refuse strangers and impossible values, and name what is accepted.

Each field carries its bounds in its type and its meaning in the line below it, which command lines show as help.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from trainables.checks import Bounds, ConfigError, Only, check_fields, unknown
from trainables.sampling.console import pong_settings

Count = Annotated[int, Bounds(1)]
Positive = Annotated[float, Bounds(0, low_included=False)]
Discount = Annotated[float, Bounds(0, 1, low_included=False)]
SEGMENTS_ONLY, GAMES_ONLY = Only("slots", Bounds(1)), Only("slots", 0)
PPO_ONLY = Only("method", "ppo")


@dataclass(frozen=True)
class Config:
    """What both learners share."""

    ARCHITECTURE_FIELDS: ClassVar[tuple[str, ...]] = ("env_id", "slots")
    """Settings that decide which arrays a checkpoint holds, and their shapes."""

    env_id: str = "ALE/Pong-v5"
    """Gymnasium environment. Its specification says how sticky actions are (here 0.25), and how many frames an agent
    step has (its frame skip, here 4)."""

    gamma: Discount = 0.99
    """Discount factor per agent step."""

    half_life: Annotated[int, Bounds(0)] = 0
    """Agent steps in which the step size halves, again and again (0: it stays as it is)."""

    slots: Annotated[int, Bounds(0, 1024)] = 16
    """Games of Pong that go on from update to update, each by segment_length steps (0: an update is of whole games).
    Elsewhere n_envs, num_envs."""

    segment_length: Annotated[int, Bounds(1), SEGMENTS_ONLY] = 512
    """Agent steps of each slot for an update, which so learns from slots x segment_length steps.
    Elsewhere n_steps, num_steps, rollout_fragment_length."""

    updates_per_iteration: Annotated[int, Bounds(1), SEGMENTS_ONLY] = 4
    """Updates between two rows of results. Rows, logs and checkpoints cost time, and an update takes a second or so."""

    num_workers: Count = 2
    """Rollout actors of a trial. A question of speed only: results are bit-identical for any number.
    RLlib's num_env_runners."""

    cpus_per_worker: Positive = 1.0
    """CPUs that Ray reserves for each worker; below 1, workers share a core."""

    placement: Literal["pack", "spread"] = "pack"
    """pack puts a trial's workers on as few machines of a cluster as hold them, spread on as many as there are. A
    question of speed only."""

    game_timeout_s: Positive = 600.0
    """Seconds after which a worker that is still at its game counts as hung and is replaced. The longest game takes
    some 10 s of a core, so a worker with a fiftieth of a core still makes it."""

    learner_threads: Count = 1
    """BLAS threads of the update. Apart from num_workers, because thread counts change sums in the last bit."""

    eval_interval: Annotated[int, Bounds(0)] = 20
    """Iterations between evaluations (0: never), which are apart from training and change nothing in it. By default
    they have 3% (pg) or 7% (trpo) of training's agent steps. The first follows the first iteration."""

    eval_games: Annotated[int, Bounds(2)] = 3
    """Games of an evaluation with sampled actions, and as many with the most probable ones. Two make an interval."""

    seed: Annotated[int, Bounds(0)] = 0
    """Decides, together with the other settings, every result bit."""

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """Build from a sampled or stored dict; missing keys take their defaults.

        Raises ConfigError for an unknown key ("did you mean"), a wrong type or a value out of bounds.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        for key in settings:
            if key not in known:
                raise ConfigError(unknown("setting", key, known))
        return cls(**settings)

    def __post_init__(self) -> None:
        """Check every field."""
        check_fields(self)

    @property
    def cpus(self) -> float:
        """CPUs of all its workers."""
        return self.num_workers * self.cpus_per_worker

    def to_dict(self) -> dict[str, Any]:
        """All settings as numbers and texts. A tuple becomes ``"64-64"``: Tune would take a sequence apart."""
        return {
            name: "-".join(map(str, value)) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
        }

    def require_one_way_to_collect(self, games: str) -> None:
        """Raise ConfigError unless either segments or whole games are asked for, which the field ``games`` counts."""
        value = getattr(self, games)
        if self.slots and value:
            raise ConfigError(
                f"{games}={value} is for whole games: set slots=0 too, or leave it out and set segment_length"
                f" (an update is of slots x segment_length = {self.slots * self.segment_length:,} steps)"
            )
        if not self.slots and not value:
            raise ConfigError(f"slots=0: an update is of whole games, so set {games} to 1 or more")

    def decay(self, steps: int) -> float:
        """The step size after so many agent steps, as a share of the first one: 0.5 ^ (steps / half_life)."""
        return 0.5 ** (steps / self.half_life) if self.half_life else 1.0

    @property
    def updates(self) -> int:
        """Updates of an iteration."""
        return self.updates_per_iteration if self.slots else 1

    @property
    def segments_steps(self) -> int:
        """Agent steps of an iteration that plays segments; 0 if it plays whole games."""
        return self.slots * self.segment_length * self.updates_per_iteration


@dataclass(frozen=True)
class PGConfig(Config):
    """Policy gradients on Pong's pixels: PPO (Schulman et al. 2017), or REINFORCE as in Karpathy 2016.

    The defaults learn best here, with sticky actions, of what was tried.
    """

    ARCHITECTURE_FIELDS = ("env_id", "slots", "hidden_size", "method", "optimiser")

    method: Literal["reinforce", "ppo"] = "ppo"
    """ppo takes many small steps up a clipped objective, with a value baseline (Schulman et al. 2017). Its paddle may
    rest as well as move, and beside the difference of two frames it sees the present one, in which a paddle that rests
    is visible. reinforce takes one step along the gradient of its games (Williams 1992; Karpathy 2016)."""

    hidden_size: Count = 200
    """Hidden ReLU units."""

    learning_rate: Positive = 2.5e-3
    """Step size of the optimiser."""

    half_life: Annotated[int, Bounds(0)] = 1_500_000
    """Agent steps in which the learning rate halves, again and again (0: it stays as it is)."""

    games_per_update: Annotated[int, Bounds(0)] = 0
    """Games per update, where slots is 0."""

    block_size: Annotated[int, Bounds(1), GAMES_ONLY] = 1
    """Games that a worker plays before it sends what is learned from them. With reinforce that is the sum of their
    gradients: more games mean fewer bytes to the learner and a longer wait for the last worker, and another order of
    sums, which changes results in their last bits."""

    optimiser: Literal["rmsprop", "adam"] = "adam"
    """Gradient ascent rule."""

    rmsprop_decay: Annotated[float, Bounds(0, 0.999999), Only("optimiser", "rmsprop")] = 0.99
    """How much of RMSProp's mean square survives an update."""

    epochs: Annotated[int, Bounds(1), PPO_ONLY] = 4
    """Passes over a batch (ppo)."""

    minibatch_size: Annotated[int, Bounds(1), PPO_ONLY] = 1024
    """Agent steps for each step of the optimiser, about: a batch is cut into equal parts (ppo)."""

    clip: Annotated[float, Bounds(0, low_included=False), PPO_ONLY] = 0.2
    """How far the probability of an action may move in an update, as a ratio, before more of it is worth nothing
    (ppo). Elsewhere clip_range, clip_coef, clip_param."""

    gae_lambda: Annotated[float, Bounds(0, 1), PPO_ONLY] = 0.98
    """GAE's lambda: 1 trusts returns alone (no bias), 0 the value alone (little variance) (ppo). The value learns
    returns. A point comes 40 to 60 steps after the stroke that earned it: of its reward 0.98 leaves the stroke a fifth,
    and 0.95 a twentieth."""

    entropy_bonus: Annotated[float, Bounds(0), PPO_ONLY] = 0.03
    """What a nat of entropy is worth in the objective while all points are lost. It falls with the share of points that
    are: who does not score yet has to explore, and who wins to be exact (ppo).
    Elsewhere ent_coef, a constant."""

    def __post_init__(self) -> None:
        """Check every field, and that the environment is a Pong."""
        super().__post_init__()
        if self.method == "reinforce" and self.slots:
            raise ConfigError(
                "method=reinforce plays whole games: set slots=0 and games_per_update, or --preset karpathy"
            )
        self.require_one_way_to_collect("games_per_update")
        try:
            pong_settings(self.env_id)
        except ValueError as error:
            raise ConfigError(str(error)) from None


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
    """Discount factor per agent step."""

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
    """Trust region: largest mean KL divergence (nats) between the policies before and after an update, at first.
    Stable-Baselines3's target_kl."""

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
