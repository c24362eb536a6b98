"""A trained policy that plays in a loop of one's own, read from a checkpoint that nobody vouches for."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from trainables import checkpoints
from trainables.algorithms import make_algorithm
from trainables.algorithms.algorithm import Algorithm, Arrays
from trainables.checkpoints import ARRAYS, STATE, CheckpointError, State, numbered
from trainables.checks import ConfigError
from trainables.config import Config, PGConfig, TRPOConfig
from trainables.sampling.console import PACKED_BYTES, registered
from trainables.sampling.segments import slot_arrays
from trainables.sampling.worker import Worker
from trainables.saved import Checkpoint, Checkpoints

if TYPE_CHECKING:
    from ray import tune

Array = np.ndarray

CONFIGS: dict[str, type[Config]] = {"pg": PGConfig, "trpo": TRPOConfig}
"""Configurations of the learners of this package, by name."""

ARRAYS_TO_THETA = 32
"""Bytes of a checkpoint's file to one parameter, at most. Adam's PPO has 12, TRPO in double precision 16; a small
network's filter and header (``HEADER``) come on top. A learner of one's own may have more arrays."""
HEADER = 100_000


@dataclass(frozen=True)
class PolicyRunner:
    """A worker, which is made when it is first asked for, and the weights that it plays with.

    A copy, by pickle too, makes a worker of its own: no emulator can be copied.
    """

    make_worker: Callable[[], Worker]
    weights: Any

    @cached_property
    def worker(self) -> Worker:
        """The worker."""
        return self.make_worker()

    def __reduce__(self) -> tuple[type, tuple]:
        return PolicyRunner, (self.make_worker, self.weights)


class TrainedPolicy:
    """A policy from a checkpoint, for Gymnasium's usual loop.

        policy = load_policy(checkpoint)
        env = policy.make_env()
        observation, _ = env.reset(seed=0)
        policy.reset()
        over = False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(policy.act(observation))
            over = terminated or truncated

    ``config`` is the trial's configuration, and ``iteration`` the one after which the checkpoint was saved. A policy of
    pixels remembers the picture before, so each game that is played needs a policy of its own. ``copy.deepcopy`` and
    pickle make one, which begins with a new game, and with its actions from the seed.
    """

    def __init__(self, runner: PolicyRunner, config: Config, iteration: int, seed: int) -> None:
        self.config, self.iteration = config, iteration
        self._runner, self._seed = runner, seed
        self._worker, self._weights = runner.make_worker(), runner.weights  # The worker remembers a game.
        self._probabilities = self._worker.probabilities(self._weights)
        self.reset(seed)

    def __reduce__(self) -> tuple[type, tuple]:
        return TrainedPolicy, (self._runner, self.config, self.iteration, self._seed)

    def make_env(self, **options: Any) -> gymnasium.Env:
        """A new environment of the kind that the policy was trained on, showing what ``act`` takes.

        ``options``, such as ``render_mode``, go to ``gymnasium.make``.
        """
        return gymnasium.make(registered(self.config.env_id), **self._worker.env.gymnasium_options | options)

    def reset(self, seed: int | None = None) -> None:
        """Begin a game: the next observation is its first. With a ``seed``, actions are drawn anew from it."""
        self._first = True
        if seed is not None:
            self._sample = self._worker.policy.sampler(self._weights, np.random.default_rng(seed))

    def act(self, observation: Array, greedy: bool = False) -> int:
        """The action, as Gymnasium numbers it, at a game's next observation: drawn, or the most probable one.

        ``observation`` is Pong's picture, uint8 (210, 160, 3), for a policy of pixels, which remembers the one before;
        the console's memory, uint8 (128,), for TRPO's; of another environment (d,). Raises ValueError for others.
        """
        env, seen = self._worker.env, np.asarray(observation)
        if seen.shape != env.gymnasium_shape:
            raise ValueError(
                f"an observation of the shape {seen.shape}: accepted is {env.gymnasium_shape}, as make_env() shows it"
            )
        if hasattr(env, "console") and seen.dtype != np.uint8:
            raise ValueError(f"an observation of {seen.dtype}: accepted is uint8, as make_env() shows it")
        seen, self._first = env.see(seen, self._first), False
        action = int(self._probabilities(seen).argmax()) if greedy else self._sample(seen)
        return env.gymnasium_actions[action]


def load_policy(checkpoint: "str | Path | tune.Checkpoint", seed: int = 0) -> TrainedPolicy:
    """The policy of a checkpoint of ``PongPG`` or ``PongTRPO``, to play with; no pickle is opened.

    ``checkpoint`` is its folder, Tune's object (``result.checkpoint``), or the folder of a trial, or of an experiment
    with one trial. Of a trial the best checkpoint is taken: the one with the best score in training. Which of several
    trials is best, their checkpoints do not say. Actions are drawn from ``seed``.

    Raises CheckpointError, in one line, if there is none, or those of several trials, or if it is damaged or of another
    learner.
    """
    with _folder(checkpoint) as given:
        found = _of_trial(given)
        folder, state = found.folder, found.state
        if state.learner not in CONFIGS:
            raise CheckpointError(f"{folder}: of the learner {state.learner!r}; accepted are {', '.join(CONFIGS)}")
        try:
            settings = CONFIGS[state.learner].from_dict(state.config)
        except ConfigError as error:
            raise CheckpointError(f"{folder}: {error}") from None
        return TrainedPolicy(load_runner(folder, state, settings, make_algorithm), settings, state.iteration, seed)


@contextlib.contextmanager
def _folder(checkpoint: "str | Path | tune.Checkpoint") -> Iterator[Path]:
    """A checkpoint's folder on this machine, for a while."""
    if isinstance(checkpoint, str | Path):
        yield Path(checkpoint)
    else:
        with checkpoint.as_directory() as folder:
            yield Path(folder)


def _of_trial(folder: Path) -> Checkpoint:
    """The checkpoint of this folder; of a trial's folder, or of one that holds a single trial, the trial's best.

    Raises CheckpointError if there is none, and if several trials have checkpoints there.
    """
    if (folder / STATE).is_file():
        return Checkpoint(folder)
    trials = [path for path in (folder, *sorted(folder.glob("*"))) if path.is_dir() and numbered(path)]
    if len(trials) > 1:
        raise CheckpointError(
            f"{folder}: {len(trials)} trials have checkpoints there, and which trial is best they do not say: name one"
        )
    for trial in trials:
        best = Checkpoints(numbered(trial).values()).best
        if best:
            return best
    raise CheckpointError(f"{folder}: no checkpoint, and no folder of a trial or an experiment with one")


def load(folder: Path, learner: str, num_params: int, slots: int) -> tuple[Arrays, State]:
    """A checkpoint's arrays and state, as ``checkpoints.load`` reads them.

    Raises CheckpointError, before memory is taken, also if ``theta`` has not ``num_params`` entries, or the file more
    bytes than go with it and so many slots: a text decides neither what is built nor read.
    """
    try:
        have = checkpoints.shapes(folder).get("theta")
    except CheckpointError:
        return checkpoints.load(folder, learner)  # which says why
    if have != (num_params,):
        raise CheckpointError(f"{folder}: theta has the shape {have}, its configuration needs {(num_params,)}")
    state = checkpoints.load_state(folder)
    most = ARRAYS_TO_THETA * num_params + PACKED_BYTES * slots + HEADER
    if state.arrays_bytes > most and state.learner in CONFIGS:
        raise CheckpointError(
            f"{folder}: {ARRAYS} has {state.arrays_bytes:,} bytes, its configuration needs {most:,} at most"
        )
    return checkpoints.load(folder, learner)


def load_runner(folder: Path, state: State, settings: Config, make: Callable[[Any], Algorithm]) -> PolicyRunner:
    """The policy of a checkpoint, whole or of a policy alone, ready to play; ``make`` makes the algorithm.

    Raises CheckpointError if its arrays are damaged or of other shapes, or if there is no such environment.
    """
    try:
        algorithm = make(settings)
    except ValueError as error:
        raise CheckpointError(f"{folder}: {error}") from None
    arrays, _ = load(folder, state.learner, algorithm.num_params, settings.slots)
    expected = algorithm.init(np.random.default_rng(0))
    if state.policy_alone:
        expected = policy_alone(algorithm, expected)
    else:
        expected |= slot_arrays([None] * settings.slots)
    checkpoints.require_same_form(folder, arrays, expected)
    arrays["theta"] = arrays["theta"].astype(np.float32)
    return PolicyRunner(algorithm.worker_factory(), algorithm.playing_weights(arrays))


def policy_alone(algorithm: Algorithm, arrays: Mapping[str, Array]) -> Arrays:
    """What of these arrays plays: theta in half precision, and what it sees through."""
    return {name: arrays[name] for name in algorithm.playing_arrays} | {"theta": arrays["theta"].astype(np.float16)}
