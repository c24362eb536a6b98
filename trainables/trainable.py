"""The algorithms as Ray Tune Trainables: resources, the pool of rollout actors, counters, evaluation, checkpoints."""

import contextlib
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import ray
from ray import tune
from threadpoolctl import threadpool_limits

from trainables import checkpoints, saved
from trainables.algorithms import make_algorithm
from trainables.algorithms.algorithm import Algorithm, Progress
from trainables.checks import ConfigError
from trainables.config import Config, PGConfig, TRPOConfig
from trainables.experience import Observer, Rollout
from trainables.metrics import EpisodeStats, Played, diverged_metrics, pause, perf_metrics
from trainables.sampling.evaluation import play_evaluation
from trainables.sampling.pool import RolloutPool
from trainables.sampling.process import halts, set_malloc_thresholds
from trainables.sampling.segments import Slot, slot_arrays, slots_of
from trainables.sampling.worker import Worker
from trainables.versions import installed_versions, require_same_sources

INIT_STREAM = UPDATE_STREAM = 2**32 - 1
"""Spawn key of the generator that draws the first theta, and, after the update's own key, of that for an update: no
iteration, game or slot has this number."""


def _require_same_form(arrays: Mapping[str, np.ndarray], before: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError unless an update left names, types and shapes as they were: else no checkpoint can be read."""
    now, then = checkpoints.forms(arrays), checkpoints.forms(before)
    if now != then:
        changed = sorted(name for name in {*now, *then} if now.get(name) != then.get(name))
        texts = [f"{name} was {then.get(name, 'not there')} and is {now.get(name, 'not there')}" for name in changed]
        raise ValueError(f"update() returned arrays of another form: {'; '.join(texts)}")


class PongTrainable(tune.Trainable):
    """A trial whose every ``step`` plays on rollout actors and updates its arrays, as an ``Algorithm`` says."""

    learner: ClassVar[str]
    config_class: ClassVar[type[Config]]
    make_algorithm: ClassVar[Callable[[Any], Algorithm]] = staticmethod(make_algorithm)
    observer: Observer | None = None  # is told of all training games: to play them again

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> tune.PlacementGroupFactory:
        """One bundle per worker and an empty one for the trial itself: rollouts and updates take turns.

        For impossible settings it is that of the defaults. The trial itself refuses them as it begins: an error here
        would end all trials of a Tuner, since Tune asks for this in its own process.
        """
        try:
            settings = cls.config_class.from_dict(config)
        except ConfigError:
            settings = cls.config_class()
        bundles: list[dict[str, float]] = [{}] + [{"CPU": settings.cpus_per_worker}] * settings.num_workers
        return tune.PlacementGroupFactory(bundles, strategy=settings.placement.upper())

    @classmethod
    def worker_factory(cls, settings: Config) -> Callable[[], Worker]:
        """A picklable function that makes a rollout worker."""
        return cls.make_algorithm(settings).worker_factory()

    def setup(self, config: dict[str, Any]) -> None:
        """Build the algorithm and its first state; then start rollout actors, or keep those of the trial before.

        Raises ConfigError for bad settings, and RuntimeError if the actors find no room or have other sources.
        """
        require_same_sources()
        self._reset_state(self.config_class.from_dict(config))
        settings, make_worker = self.settings, self.worker_factory(self.settings)
        self.algorithm.num_cores = self.num_workers
        threadpool_limits(settings.learner_threads)
        set_malloc_thresholds()
        if pool := getattr(self, "pool", None):
            with contextlib.suppress(RuntimeError):  # It has closed itself, as where one of its actors has died.
                pool.renew(make_worker, settings.game_timeout_s)
                return
        self.pool = RolloutPool(make_worker, self.num_workers, settings.cpus_per_worker, settings.game_timeout_s)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Become another trial in the same processes. If that fails, end this process, too.

        Raises ConfigError for bad settings, as ``setup`` does: they are as bad in any other process.
        """
        try:
            self.setup(new_config)
        except ConfigError:
            raise
        except Exception:
            ray.actor.exit_actor()
        return True

    @property
    def num_workers(self) -> int:
        """Rollout actors: as many as Tune has reserved CPUs for, which a scheduler may change; else as asked for."""
        if not self.trial_resources:
            return self.settings.num_workers
        cpus = self.trial_resources.required_resources.get("CPU", 0.0) - self.trial_resources.head_cpus
        return max(1, round(cpus / self.settings.cpus_per_worker))

    @classmethod
    def untrained(cls, settings: Config) -> Self:
        """The trial as ``setup`` builds it, but without actors, and so without Ray: to look at, and to save."""
        trial = cls.__new__(cls)
        trial._reset_state(settings)
        return trial

    def _reset_state(self, settings: Config) -> None:
        self.settings = settings
        self.algorithm = type(self).make_algorithm(settings)
        self.iterations, self.episodes, self._time_total = 0, EpisodeStats(), 0.0
        self.last_evaluation: dict[str, float] = {}
        self.film: bytes | None = None
        self._ahead: Rollout | None = None
        self.arrays = self.algorithm.init(self.rng(INIT_STREAM))
        self.slots: list[Slot | None] = [None] * settings.slots

    def cleanup(self) -> None:
        """End the rollout actors."""
        if hasattr(self, "pool"):
            self.pool.close()

    def step(self) -> dict[str, Any]:
        """One iteration. It ends the trial if anything is no longer finite: the games count, arrays stay as before."""
        before, counts, halted = (self.arrays, self.slots), dict(self.pool.counts), halts().seconds
        rollout, self._ahead = self._ahead or self._begin_rollout(), None
        began, waited = rollout.began, time.perf_counter() - rollout.began
        with np.errstate(all="ignore"):  # what overflows is seen below
            result, paused = self._learn(rollout, waited)
        diverged = not (np.isfinite([*result.values()]).all() and checkpoints.all_finite(self.arrays))
        if diverged:
            self.arrays, self.slots = before
            result = diverged_metrics(result)
        self.iterations += 1
        result |= self.evaluate()
        result |= {f"perf/{name}": float(count - counts[name]) for name, count in self.pool.counts.items()}
        paused += halts().seconds - halted
        result |= {"diverged": float(diverged), "time_this_iter_s": time.perf_counter() - began - paused}
        if diverged:
            result["done"] = True
        elif self.plays_ahead:
            self._ahead = self._begin_rollout()
        return result

    def _learn(self, rollout: Rollout, waited: float) -> tuple[dict[str, float], float]:
        """The iteration's updates; return its metrics, and the seconds of a pause before it.

        ``waited`` is the time since the first rollout was begun ahead. Metrics of updates are their means.
        """
        played, updates, paused, rollout_s, update_s = Played(), [], 0.0, 0.0, 0.0
        for number in range(self.settings.updates):
            rollout = rollout if number == 0 else self._begin_rollout(number)
            batch, now = rollout.collect()
            collected = time.perf_counter()
            if number == 0:
                paused = pause(waited, now.seconds, self.num_workers)
            rng = self.rng(rollout.update, UPDATE_STREAM)
            progress = Progress(self.settings.decay(self.episodes.steps), self.episodes.points_lost)
            arrays, metrics = self.algorithm.update(self.arrays, batch, progress, rng)
            _require_same_form(arrays, self.arrays)
            self.arrays = arrays
            rollout_s, update_s = rollout_s + collected - rollout.began, update_s + time.perf_counter() - collected
            self.slots = rollout.slots
            self.episodes.add(now)
            played.add(now)
            updates.append(metrics)
        means = {name: float(np.mean([metrics[name] for metrics in updates])) for name in updates[0]}
        perf = perf_metrics(rollout_s - paused, update_s, played, self.num_workers)
        return self.episodes.metrics(played) | means | perf, paused

    @property
    def plays_ahead(self) -> bool:
        """Whether the workers begin the next games at a step's end, to play while Tune takes in its result."""
        return self.trial_id != "default"

    def _begin_rollout(self, number: int = 0) -> Rollout:
        """Have the workers begin to play for this iteration's update of this number."""
        update = self.iterations * self.settings.updates + number  # its number in the trial
        return Rollout(self.settings, self.algorithm, self.pool, self.arrays, self.slots, update, self.observer)

    def rng(self, *key: int) -> np.random.Generator:
        """The trial's generator of this spawn key: of what is drawn before the first game, or by an update."""
        return np.random.default_rng(np.random.SeedSequence(self.settings.seed, spawn_key=key))

    def evaluate(self) -> dict[str, Any]:
        """The metrics of the ``eval/`` family: of this iteration's evaluation if one is due, else of the last one.

        Training is the same with and without. A new evaluation asks Tune for a checkpoint, where its film goes.
        """
        settings = self.settings
        if not settings.eval_interval:
            return {}
        began, due = time.perf_counter(), not self.last_evaluation or self.iterations % settings.eval_interval == 0
        if due:
            play = partial(self.pool.play, self.algorithm.playing_weights(self.arrays))
            self.last_evaluation, self.film = play_evaluation(play, settings.seed, self.iterations, settings.eval_games)
        return self.last_evaluation | {"perf/evaluation_s": time.perf_counter() - began, "should_checkpoint": due}

    @property
    def checkpoint_arrays(self) -> dict[str, np.ndarray]:
        """All arrays of the trial: what was learned, and the games in its slots."""
        return self.arrays | slot_arrays(self.slots)

    @property
    def state(self) -> checkpoints.State:
        """The rest of a checkpoint."""
        return checkpoints.State(
            learner=self.learner,
            config=self.settings.to_dict(),
            iteration=self.iterations,
            episodes=self.episodes,
            evaluation=self.last_evaluation,
            versions=installed_versions(),
            seconds=self._time_total,
        )

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Write the whole state: what ``load_checkpoint`` needs to go on bit for bit."""
        if self.film:
            (Path(checkpoint_dir) / checkpoints.FILM).write_bytes(self.film)
        checkpoints.save(checkpoint_dir, self.checkpoint_arrays, self.state)

    def _read(self, checkpoint: str | Path) -> tuple[dict[str, np.ndarray], list[Slot | None], checkpoints.State]:
        """A checkpoint's arrays, slots and state. Raises CheckpointError if they are not of this learner and shape."""
        arrays, state = checkpoints.load(checkpoint, self.learner, self.checkpoint_arrays)
        try:
            return arrays, slots_of(arrays), state
        except ValueError as error:
            raise checkpoints.CheckpointError(f"{checkpoint}: {error}") from None

    def restore(self, checkpoint_path: Any) -> None:
        """Continue from a checkpoint; if it is gone, damaged or foreign, from the newest usable one beside it.

        Tune's books are up to ten seconds late: after a kill they may name a checkpoint that was replaced meanwhile, or
        copied in part. Which one a trial goes on from changes no result. Raises CheckpointError if there is none. The
        folder is looked at here since Tune, left alone, would open a pickle.
        """
        checkpoint = getattr(checkpoint_path, "checkpoint", checkpoint_path)  # Tune comes with a result that holds it
        if isinstance(checkpoint, str):
            checkpoint = tune.Checkpoint.from_directory(checkpoint)
        with checkpoint.as_directory() as folder:
            super().restore(str(saved.usable(folder, self._read)))

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Continue from a checkpoint directory. Raises CheckpointError as ``_read`` does."""
        arrays, self.slots, state = self._read(checkpoint)
        self.iterations, self.episodes, self.last_evaluation = state.iteration, state.episodes, state.evaluation
        self.arrays = {name: arrays[name] for name in self.arrays}
        self._ahead = None
        film = Path(checkpoint) / checkpoints.FILM
        self.film = film.read_bytes() if film.is_file() else None
        # Tune takes these from the metrics beside the checkpoint, which may be missing.
        self._iteration, self._time_total = self.iterations, state.seconds
        self._timesteps_total = self.episodes.steps  # type: ignore[assignment]
        self._episodes_total = self.episodes.games  # type: ignore[assignment]


class PongPG(PongTrainable):
    """Policy gradients on Pong's pixels: REINFORCE or PPO (``PGConfig.method``)."""

    learner = "pg"
    config_class = PGConfig


def _make_trpo(settings: TRPOConfig) -> Algorithm:
    """TRPO. Raises ConfigError if its environment does not exist or has another form."""
    try:
        return make_algorithm(settings)
    except ValueError as error:
        raise ConfigError(str(error)) from None


class PongTRPO(PongTrainable):
    """TRPO on Pong's memory, or on a small Gymnasium environment."""

    learner = "trpo"
    config_class = TRPOConfig
    make_algorithm: ClassVar[Callable[[Any], Algorithm]] = staticmethod(_make_trpo)
