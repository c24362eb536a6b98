"""Rollout actors: the one module that knows Ray.

A pool plays numbered games on a fixed set of actors. Which actor plays a game, and when it finishes, changes nothing:
games depend on their number alone, and results come back in game order.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError

from trainables.sampling.rollout import GameNumber
from trainables.sampling.worker import Worker

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
"""Set before the actor's process starts, since the libraries read them when NumPy is first imported. Set any later,
as in the seeds' actor, they do nothing, and the actors' threads fight for the cores (seed document 000,
Troubleshooting)."""

START_TIMEOUT_S = 60.0
RESTARTS = 3


@ray.remote
class _RolloutActor:
    def __init__(self, make_worker: Callable[[], Worker]) -> None:
        self._worker = make_worker()

    def ready(self) -> None:
        """Answer once the worker is built."""

    def play(self, weights: Any, number: GameNumber, how: Callable) -> Any:
        return how(self._worker, weights, number)

    def call(self, function: Callable[[Worker], Any]) -> Any:
        """Run a function on the worker: for tests and diagnosis."""
        return function(self._worker)


def play_to_learn(worker: Worker, weights: Any, number: GameNumber) -> Any:
    """Play a training game."""
    return worker.play(weights, number)


class RolloutPool:
    """``num_workers`` rollout actors.

    An actor that dies is restarted by Ray and plays its game again from the number, so the result is the same.
    """

    def __init__(self, make_worker: Callable[[], Worker], num_workers: int, cpus_per_worker: float = 1.0) -> None:
        """Start all actors at once and wait for them.

        Raises RuntimeError if they are not up in time, which means that the cluster has no room for them, or if a
        worker cannot be built.
        """
        actor = _RolloutActor.options(  # type: ignore[attr-defined]
            num_cpus=cpus_per_worker,
            max_restarts=RESTARTS,
            max_task_retries=RESTARTS,
            runtime_env={"env_vars": ONE_THREAD},
        )
        self._actors = [actor.remote(make_worker) for _ in range(num_workers)]
        try:
            ray.get([actor.ready.remote() for actor in self._actors], timeout=START_TIMEOUT_S)
        except GetTimeoutError:
            self.close()
            raise RuntimeError(
                f"{num_workers} rollout workers did not start within {START_TIMEOUT_S:.0f} s. They need"
                f" {num_workers * cpus_per_worker:g} CPUs; the cluster has {ray.cluster_resources().get('CPU', 0):g},"
                " and a trial only what it reserved."
            ) from None
        except RayActorError as error:
            self.close()
            # Tune takes a RayActorError for the death of the trial's own actor and skips cleanup().
            raise RuntimeError(f"a rollout worker could not be built: {error}") from None

    def play(
        self,
        weights: Any,
        numbers: Sequence[GameNumber],
        how: Callable[[Worker, Any, GameNumber], Any] = play_to_learn,
    ) -> Iterator[Any]:
        """Play games, each on whichever actor is free; yield their results in the order of ``numbers``.

        ``how`` says what a worker does with weights and a number: it plays to learn, or to be measured.
        Raises RuntimeError, naming the game, if it fails even after restarts.
        """
        shared = ray.put(weights)
        waiting = iter(numbers)
        running: dict[ray.ObjectRef, tuple[GameNumber, Any]] = {}
        finished: dict[GameNumber, ray.ObjectRef] = {}

        def assign(actors: Iterable[Any]) -> None:
            for actor, number in zip(actors, waiting, strict=False):
                running[actor.play.remote(shared, number, how)] = (number, actor)

        assign(self._actors)
        for number in numbers:
            while number not in finished:
                done, _ = ray.wait(list(running), num_returns=1)
                done_number, actor = running.pop(done[0])
                finished[done_number] = done[0]
                assign([actor])
            try:
                yield ray.get(finished.pop(number))
            except RayActorError as error:
                raise RuntimeError(f"a rollout worker died {RESTARTS + 1} times, last in {number}: {error}") from None

    def call(self, function: Callable[[Worker], Any]) -> list[Any]:
        """Run a function on every actor's worker; return the answers in actor order."""
        return ray.get([actor.call.remote(function) for actor in self._actors])

    def close(self) -> None:
        """End the actors and give their CPUs back."""
        for actor in self._actors:
            ray.kill(actor)
        self._actors = []
