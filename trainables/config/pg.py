"""The configuration of the pixel learner."""

from dataclasses import dataclass
from typing import Annotated, Literal

from trainables.checks import Bounds, ConfigError, Only
from trainables.config.base import GAMES_ONLY, Config, Count, Positive
from trainables.sampling.console import pong_settings

PPO_ONLY = Only("method", "ppo")


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

    batch_size: Annotated[int, Bounds(0)] = 0
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
    (ppo)."""

    gae_lambda: Annotated[float, Bounds(0, 1), PPO_ONLY] = 0.98
    """GAE's lambda: 1 trusts returns alone (no bias), 0 the value alone (little variance) (ppo). A point comes 40 to 60
    steps after the stroke that earned it: of its reward 0.98 leaves the stroke a fifth, and 0.95 a twentieth."""

    entropy_bonus: Annotated[float, Bounds(0), PPO_ONLY] = 0.03
    """What a nat of entropy is worth in the objective while all points are lost. It falls with the share of points that
    are: who does not score yet has to explore, and who wins to be exact (ppo)."""

    def __post_init__(self) -> None:
        """Check every field, and that the environment is a Pong."""
        super().__post_init__()
        if self.method == "reinforce" and self.slots:
            raise ConfigError("method=reinforce plays whole games: set slots=0 and batch_size, or --preset karpathy")
        self.require_one_way_to_collect("batch_size")
        try:
            pong_settings(self.env_id)
        except ValueError as error:
            raise ConfigError(str(error)) from None
