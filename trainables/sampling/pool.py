"""A pool of rollout actors.

A pool plays numbered games on a fixed set of actors. Which actor plays a game, on which machine, how often it was
begun, and when it finishes, changes nothing: games depend on their number alone, and results come back in game order.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import ray
from ray.actor import ActorHandle
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from trainables.sampling.actor import Block, RolloutActor, Task
from trainables.sampling.process import ONE_THREAD, workers_that_fit
from trainables.sampling.rollout import GameNumber
from trainables.sampling.segments import Segment
from trainables.sampling.worker import Worker

START_TIMEOUT_S = 120.0
"""An actor starts in 1 to 2 s, but all of them at once, on a loaded machine, share its cores."""

MAX_BLOCKS = 4
"""In one task: more would hardly save time, and bring their results late and all at once."""

MAX_FAILURES = 3
"""Workers that one block of games may cost. More would not help: a game is the same game each time."""

Play = Callable[[Worker, Any, Any], Any]
"""What a worker does with weights and a block of games."""


def play_to_learn(worker: Worker, weights: Any, block: Sequence[GameNumber]) -> Any:
    """Play a block of training games, or a segment."""
    return worker.play_block(weights, block)


class RolloutPool:
    """``num_workers`` rollout actors.

    One that dies, be it with its node, or that takes longer than ``game_timeout_s`` seconds a game, is replaced. Its
    games are played again, from their numbers, by whichever worker is free first: where a node is gone and no other has
    room, the replacement waits and the others go on. ``counts`` holds the replacements (``worker_restarts``) and the
    bytes of all results, and of those that came from other nodes than this one.
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
        self._cpus = cpus_per_worker
        self.counts = {"worker_restarts": 0, "bytes_received": 0, "bytes_between_nodes": 0}
        _require_cpus(num_workers, cpus_per_worker)
        self._actors = [self._new_actor() for _ in range(num_workers)]
        # Each worker's tasks: the first is under way; a second one saves it the wait for the learner's next message.
        self._tasks: list[deque[Task]] = [deque() for _ in range(num_workers)]
        self.renew(make_worker, game_timeout_s)

    def renew(self, make_worker: Callable[[], Worker], game_timeout_s: float) -> None:
        """Have each actor build a worker, the next one once it has played what it was asked for, which is dropped.

        (An actor can wait 30 s for a task that was cancelled.) Raises RuntimeError if that fails or takes too long; the
        pool is closed.
        """
        self._make_worker, self._game_timeout_s = make_worker, game_timeout_s
        replies = [actor.build.remote(make_worker) for actor in self._actors]
        seconds = START_TIMEOUT_S + max(sum(task.seconds for task in tasks) for tasks in self._tasks)
        for tasks in self._tasks:
            tasks.clear()
        try:
            self._nodes: list[str] = ray.get(replies, timeout=seconds)
        except GetTimeoutError:
            self.close()
            raise RuntimeError(
                f"{len(replies)} rollout workers did not start within {seconds:.0f} s:"
                " the machine is overloaded, or something else holds its CPUs"
            ) from None
        except RayError as error:
            self.close()
            # Tune takes a RayActorError for the death of the trial's own actor and skips cleanup().
            raise RuntimeError(f"a rollout worker could not be built: {str(error).splitlines()[-1]}") from error

    def play(
        self,
        weights: Any,
        numbers: Sequence[GameNumber | Segment],
        block_size: int = 1,
        how: Play = play_to_learn,
    ) -> Iterator[Any]:
        """Play games in blocks of ``block_size``, or segments; yield what the workers make of them, in their order.

        A block is played by one actor, whichever is free, one game after the other. ``how`` says what a worker does
        with weights and a block: it plays to learn, or to be measured. The first games begin at once, before the first
        answer is asked for. Only one call is under way at a time: if its predecessor's answers were not all taken, the
        workers that are still at its games are replaced.

        The iterator raises RuntimeError, naming worker, game and cause, if a block by itself costs ``MAX_FAILURES``
        workers, or if a worker raises an error, which would only repeat itself.
        """
        for worker, tasks in enumerate(self._tasks):
            if any(task.blocks for task in tasks):
                self._replace(worker)
        # The weights travel to each node once, however many workers and blocks there are.
        self._how, self._weights, self._has_weights = how, ray.put(weights), set[ActorHandle]()
        blocks = [tuple(numbers[first : first + block_size]) for first in range(0, len(numbers), block_size)]
        waiting: deque[Block] = deque(blocks)
        self._hand_out(waiting)
        return self._answers(blocks, waiting)

    def _answers(self, blocks: Sequence[Block], waiting: deque[Block]) -> Iterator[Any]:
        finished: dict[Block, Any] = {}
        failures: Counter[tuple[Block, ...] | int] = Counter()
        for block in blocks:
            while block not in finished:
                worker, answer, failure = self._next_end()
                if failure:
                    task, *unstarted = self._tasks[worker]
                    key = task.blocks or worker
                    failures[key] += 1
                    if failures[key] >= MAX_FAILURES and (task.blocks or not self._any_up_but(worker)):
                        raise RuntimeError(
                            f"{task.name(worker)} failed {MAX_FAILURES} times, at last because it {failure}"
                        )
                    unplayed = [other for some in (task, *unstarted) for other in some.blocks]
                    waiting.extendleft(reversed(unplayed))
                    self._replace(worker)
                elif played := self._end_task(worker).blocks:
                    finished |= zip(played, answer, strict=False)
                    self._count(worker, array_bytes(answer))
                    waiting.extendleft(reversed(played[len(answer) :]))
                else:
                    self._nodes[worker] = answer
                self._hand_out(waiting, one_by_one=bool(failures))  # before the caller takes its time
            yield finished.pop(block)

    def close(self) -> None:
        """End the actors and give their CPUs back."""
        for actor in self._actors:
            ray.kill(actor)
        self._actors = []

    def _new_actor(self) -> ActorHandle:
        options = {"num_cpus": self._cpus, "runtime_env": {"env_vars": ONE_THREAD}}
        return RolloutActor.options(**options).remote()  # type: ignore[attr-defined]

    def _hand_out(self, waiting: deque[Block], one_by_one: bool = False) -> None:
        """A task for each worker that has none; then, while there are plenty, a second one for each that plays.

        Between two tasks a worker waits some milliseconds. So a task is half of what would be the worker's fair share
        of what is left, which leaves enough single games to make all workers end together (guided self-scheduling:
        Polychronopoulos and Kuck 1987). ``one_by_one`` is for finding out which block it is that costs workers.
        """
        for ahead in (0, 1):
            for worker, tasks in enumerate(self._tasks):
                plays = bool(tasks) and bool(tasks[0].blocks)
                if len(tasks) == ahead and len(waiting) > ahead * len(self._actors) and plays == bool(ahead):
                    half = (len(waiting) + len(self._actors)) // (2 * len(self._actors))
                    count = 1 if one_by_one else min(max(half, 1), MAX_BLOCKS)
                    blocks = tuple(waiting.popleft() for _ in range(count))
                    seconds = self._game_timeout_s * sum(map(len, blocks))
                    tasks.append(Task.of(self._submit(worker, blocks), blocks, seconds))

    def _submit(self, worker: int, blocks: tuple[Block, ...]) -> ray.ObjectRef:
        actor = self._actors[worker]
        weights = () if actor in self._has_weights else (self._weights,)  # an object costs every task a millisecond
        self._has_weights.add(actor)
        return actor.play.remote(blocks, self._how, *weights)

    def _end_task(self, worker: int) -> Task:
        """Take out the first task; the next one is under way from now on."""
        tasks = self._tasks[worker]
        ended = tasks.popleft()
        if tasks:
            tasks[0] = tasks[0]._replace(deadline=time.monotonic() + tasks[0].seconds)
        return ended

    def _replace(self, worker: int) -> None:
        """Kill a worker, dead or hung, and start another in its place, without its tasks."""
        ray.kill(self._actors[worker])
        self.counts["worker_restarts"] += 1
        self._actors[worker] = self._new_actor()
        reply: ray.ObjectRef = self._actors[worker].build.remote(self._make_worker)
        self._tasks[worker] = deque([Task.of(reply, (), START_TIMEOUT_S)])

    def _any_up_but(self, worker: int) -> bool:
        """Whether the pool has another worker than this one, not only replacements that have not started."""
        others = (tasks for other, tasks in enumerate(self._tasks) if other != worker)
        return any(not tasks or tasks[0].blocks for tasks in others)

    def _count(self, worker: int, nbytes: int) -> None:
        self.counts["bytes_received"] += nbytes
        if self._nodes[worker] != ray.get_runtime_context().get_node_id():
            self.counts["bytes_between_nodes"] += nbytes

    def _next_end(self) -> tuple[int, Any, str | None]:
        """Wait for a worker's first task to end: (worker, answer, what went wrong)."""
        busy = {tasks[0].reply: worker for worker, tasks in enumerate(self._tasks) if tasks}
        first = min(busy.values(), key=lambda worker: self._tasks[worker][0].deadline)
        left = self._tasks[first][0].deadline - time.monotonic()
        done, _ = ray.wait([*busy], num_returns=1, timeout=max(0.0, left))
        if not done:
            task = self._tasks[first][0]
            return first, None, f"did not {'finish' if task.blocks else 'start'} within {task.seconds:g} s"
        worker = busy[done[0]]
        try:
            return worker, ray.get(done[0]), None
        except RayTaskError as error:
            cause = error.cause or error
            name = self._tasks[worker][0].name(worker)
            raise RuntimeError(f"{name} raised {type(cause).__name__}: {cause}") from error
        except RayError as error:  # the process died, or its answer was lost with its machine
            return worker, None, "died: " + " ".join(str(error).split())


def array_bytes(message: Any) -> int:
    """Bytes of all arrays and byte strings in a message, which is made of tuples and lists."""
    if isinstance(message, tuple | list):
        return sum(map(array_bytes, message))
    return message.nbytes if isinstance(message, np.ndarray) else len(message) if isinstance(message, bytes) else 0


def _require_cpus(num_workers: int, cpus_per_worker: float) -> None:
    """Raise RuntimeError if the trial's bundles, or without them the cluster's machines, can never hold the workers.

    Ray itself would wait for ever, with a warning now and then.
    """
    if group := ray.util.get_current_placement_group():
        rooms = [bundle.get("CPU", 0.0) for bundle in group.bundle_specs]
        rooms[0] -= ray.get_runtime_context().get_assigned_resources().get("CPU", 0.0)  # the trial's own
    else:
        rooms = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
    room = sum(workers_that_fit(cpus, cpus_per_worker) for cpus in rooms)
    if room < num_workers:
        where = "what the trial reserved" if group else "the cluster"
        wanted = ""
        if group:
            wanted = (
                f"; wanted are bundles of {cpus_per_worker:g} CPUs, one a worker, beside the trial's own, as"
                " default_resource_request asks for them: leave out tune.with_resources"
            )
        raise RuntimeError(
            f"num_workers={num_workers} with cpus_per_worker={cpus_per_worker:g} does not fit: {where} holds"
            f" {room}{wanted}"
        )
