"""What the configurations of all learners share."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from trainables.checks import Bounds, ConfigError, Only, check_fields, unknown

Count = Annotated[int, Bounds(1)]
Positive = Annotated[float, Bounds(0, low_included=False)]
Discount = Annotated[float, Bounds(0, 1, low_included=False)]
SEGMENTS_ONLY, GAMES_ONLY = Only("slots", Bounds(1)), Only("slots", 0)


@dataclass(frozen=True)
class Config:
    """What both learners share."""

    ARCHITECTURE_FIELDS: ClassVar[tuple[str, ...]] = ("env_id", "slots")
    """Settings that decide which arrays a checkpoint holds, and their shapes."""

    env_id: str = "ALE/Pong-v5"
    """Gymnasium environment; frame skip and sticky actions are those of its specification."""

    gamma: Discount = 0.99
    """Discount factor per agent step (4 frames)."""

    half_life: Annotated[int, Bounds(0)] = 0
    """Agent steps in which the step size halves, again and again (0: it stays as it is)."""

    slots: Annotated[int, Bounds(0, 1024)] = 16
    """Games of Pong that go on from update to update, each by segment_length steps (0: an update is of whole games)."""

    segment_length: Annotated[int, Bounds(1), SEGMENTS_ONLY] = 512
    """Agent steps of each slot for an update, which so learns from slots x segment_length steps."""

    updates_per_iteration: Annotated[int, Bounds(1), SEGMENTS_ONLY] = 4
    """Updates between two rows of results. Rows, logs and checkpoints cost time, and an update takes a second or so."""

    num_workers: Count = 2
    """Rollout actors of a trial. A question of speed only: results are bit-identical for any number."""

    cpus_per_worker: Positive = 1.0
    """CPUs that Ray reserves for each worker; below 1, workers share a core."""

    placement: Literal["pack", "spread"] = "pack"
    """pack puts a trial's workers on as few machines of a cluster as hold them, spread on as many as there are. A
    question of speed only."""

    game_timeout_s: Positive = 600.0
    """Seconds after which a worker that is still at its game counts as hung and is replaced. The longest game, 27,000
    steps, takes some 10 s of a core, so a worker with a fiftieth of a core still makes it."""

    learner_threads: Count = 1
    """BLAS threads of the update. Apart from num_workers, because thread counts change sums in the last bit."""

    eval_interval: Annotated[int, Bounds(0)] = 20
    """Iterations between evaluations (0: never), which are apart from training and change nothing in it. By default
    a thirtieth of the steps. The first follows the first iteration."""

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

    def to_dict(self) -> dict[str, Any]:
        """All settings as numbers and texts. A tuple becomes ``"64-64"``: Tune would take a sequence apart."""
        return {
            name: "-".join(map(str, value)) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
        }

    def require_one_way_to_collect(self, *games_fields: str) -> None:
        """Raise ConfigError unless either segments or whole games are asked for; ``games_fields`` say how many games.

        With segments each of these has to be 0.
        """
        for name in games_fields:
            value = getattr(self, name)
            if self.slots and value:
                raise ConfigError(
                    f"{name}={value} is for whole games: set slots=0 too, or leave it out and set segment_length"
                    f" (an update is of slots x segment_length = {self.slots * self.segment_length:,} steps)"
                )
        if not self.slots and not getattr(self, games_fields[0]):
            raise ConfigError(f"slots=0: an update is of whole games, so set {games_fields[0]} to 1 or more")

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
