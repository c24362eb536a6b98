"""Rollout actors: the one module that knows Ray.

A pool plays numbered games on a fixed set of actors. Which actor plays a game, how often it was begun, and when it
finishes, changes nothing: games depend on their number alone, and results come back in game order.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from trainables.sampling.rollout import GameNumber
from trainables.sampling.worker import Worker

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
"""Set before the actor's process starts, since the libraries read them when NumPy is first imported. Set any later,
as in the seeds' actor, they do nothing, and the actors' threads fight for the cores (seed document 000,
Troubleshooting)."""

START_TIMEOUT_S = 120.0
"""An actor starts in 1 to 2 s, but all of them at once, on a loaded machine, share its cores."""

MAX_FAILURES = 3
"""Workers that one game may cost. More would not help: a game is the same game each time."""


@ray.remote
class _RolloutActor:
    def __init__(self, make_worker: Callable[[], Worker]) -> None:
        self._worker = make_worker()

    def ready(self) -> None:
        """Answer once the worker is built."""

    def play(self, weights: Any, number: GameNumber, how: Callable) -> Any:
        # A policy that diverged overflows. The learner sees it in the results; a warning a layer helps nobody.
        with np.errstate(all="ignore"):
            return how(self._worker, weights, number)

    def call(self, function: Callable[[Worker], Any]) -> Any:
        """Run a function on the worker: for tests and diagnosis."""
        return function(self._worker)


class _Task(NamedTuple):
    """What a worker is busy with: a game, or its own start, after which it plays that game."""

    worker: int
    number: GameNumber
    starting: bool
    deadline: float  # of time.monotonic(), which stands still while a laptop sleeps


def play_to_learn(worker: Worker, weights: Any, number: GameNumber) -> Any:
    """Play a training game."""
    return worker.play(weights, number)


class RolloutPool:
    """``num_workers`` rollout actors.

    One that dies, or takes longer than ``game_timeout_s`` seconds for a game, is replaced, and the game is played again
    from its number. ``restarts`` counts the replacements.
    """

    def __init__(
        self,
        make_worker: Callable[[], Worker],
        num_workers: int,
        cpus_per_worker: float = 1.0,
        game_timeout_s: float = 600.0,
    ) -> None:
        """Start all actors at once and wait for them.

        Raises RuntimeError at once if there can never be room for them, and later if they are not up in time or a
        worker cannot be built.
        """
        self._make_worker, self._cpus, self._game_timeout_s = make_worker, cpus_per_worker, game_timeout_s
        self.restarts = 0
        _check_room(num_workers, cpus_per_worker)
        self._actors = [self._new_actor() for _ in range(num_workers)]
        try:
            ray.get([actor.ready.remote() for actor in self._actors], timeout=START_TIMEOUT_S)
        except GetTimeoutError:
            self.close()
            raise RuntimeError(
                f"{num_workers} rollout workers did not start within {START_TIMEOUT_S:.0f} s:"
                " the machine is overloaded, or something else holds its CPUs"
            ) from None
        except RayError as error:
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

        ``how`` says what a worker does with weights and a number: it plays to learn, or to be measured. Raises
        RuntimeError, naming worker, game and cause, if a game costs ``MAX_FAILURES`` workers, or if a worker raises an
        error, which would only repeat itself.
        """
        shared = ray.put(weights)
        waiting = iter(numbers)
        running: dict[ray.ObjectRef, _Task] = {}
        finished: dict[GameNumber, Any] = {}
        failures: Counter[GameNumber] = Counter()

        def begin(worker: int, number: GameNumber) -> None:
            reply = self._actors[worker].play.remote(shared, number, how)
            running[reply] = _Task(worker, number, False, time.monotonic() + self._game_timeout_s)

        for worker, number in zip(range(len(self._actors)), waiting, strict=False):
            begin(worker, number)
        for number in numbers:
            while number not in finished:
                task, answer, failure = self._next_end(running)
                if failure:
                    failures[task.number] += 1
                    if failures[task.number] == MAX_FAILURES:
                        raise RuntimeError(f"{_name(task)} failed {MAX_FAILURES} times, at last because it {failure}")
                    deadline = time.monotonic() + START_TIMEOUT_S
                    running[self._replace(task.worker)] = task._replace(starting=True, deadline=deadline)
                elif task.starting:
                    begin(task.worker, task.number)
                else:
                    finished[task.number] = answer
                    if following := next(waiting, None):
                        begin(task.worker, following)
            yield finished.pop(number)

    def call(self, function: Callable[[Worker], Any]) -> list[Any]:
        """Run a function on every actor's worker; return the answers in actor order."""
        return ray.get([actor.call.remote(function) for actor in self._actors])

    def close(self) -> None:
        """End the actors and give their CPUs back."""
        for actor in self._actors:
            ray.kill(actor)
        self._actors = []

    def _new_actor(self) -> Any:
        options = {"num_cpus": self._cpus, "runtime_env": {"env_vars": ONE_THREAD}}
        return _RolloutActor.options(**options).remote(self._make_worker)  # type: ignore[attr-defined]

    def _replace(self, worker: int) -> ray.ObjectRef:
        """Kill a worker, dead or hung, and start another in its place; return what answers once that one is up."""
        ray.kill(self._actors[worker])
        self.restarts += 1
        self._actors[worker] = self._new_actor()
        return self._actors[worker].ready.remote()

    def _next_end(self, running: dict[ray.ObjectRef, _Task]) -> tuple[_Task, Any, str | None]:
        """Wait for the next task to end, and take it out of ``running``: (task, answer, what went wrong)."""
        left = min(task.deadline for task in running.values()) - time.monotonic()
        done, _ = ray.wait([*running], num_returns=1, timeout=max(0.0, left))
        if not done:
            task = running.pop(min(running, key=lambda reply: running[reply].deadline))
            limit = START_TIMEOUT_S if task.starting else self._game_timeout_s
            return task, None, f"did not {'start' if task.starting else 'finish'} within {limit:g} s"
        task = running.pop(done[0])
        try:
            return task, ray.get(done[0]), None
        except RayTaskError as error:
            cause = error.cause or error
            raise RuntimeError(f"{_name(task)} raised {type(cause).__name__}: {cause}") from error
        except RayError as error:  # the process died, or its answer was lost with its machine
            return task, None, "died: " + " ".join(str(error).split())


def _name(task: _Task) -> str:
    seed, iteration, game = task.number
    return f"rollout worker {task.worker} in game {game} of iteration {iteration} (seed {seed})"


def _check_room(num_workers: int, cpus_per_worker: float) -> None:
    """Raise RuntimeError if the trial's bundles, or without them the cluster's machines, can never hold the workers.

    Ray itself would wait for ever, with a warning now and then.
    """
    if group := ray.util.get_current_placement_group():
        rooms = [bundle.get("CPU", 0.0) for bundle in group.bundle_specs]
        rooms[0] -= ray.get_runtime_context().get_assigned_resources().get("CPU", 0.0)  # the trial's own
    else:
        rooms = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
    room = sum(int(cpus / cpus_per_worker + 1e-6) for cpus in rooms)
    if room < num_workers:
        where = "what the trial reserved" if group else "the cluster"
        raise RuntimeError(
            f"{num_workers} rollout workers of {cpus_per_worker:g} CPUs each do not fit: {where} holds {room}"
        )
