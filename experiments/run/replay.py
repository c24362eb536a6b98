"""A training game of an experiment, found by iteration and number, played again and filmed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from experiments.plan.learners import learner_named
from experiments.read.recomputed import compare_rows
from experiments.read.stretches import Kept, Point
from experiments.run.recomputing import player, require_workers
from experiments.show.text import line
from trainables.checks import ConfigError
from trainables.sampling.evaluation import MeasuredGame
from trainables.sampling.game_film import Part, film_game
from trainables.sampling.pool import RolloutPool, play_to_learn
from trainables.sampling.rollout import GameNumber, GameSummary
from trainables.sampling.segments import Segment
from trainables.sampling.worker import PlayedBlock
from trainables.trainable import PongTrainable


@dataclass(frozen=True)
class Wanted:
    """The game that is to be filmed."""

    iteration: int
    game: int | None  # of those that ended in the iteration
    slot: int | None  # whose game was in play at the iteration's end
    since: int  # play again from here at the latest
    first_step: int
    max_shots: int

    def __str__(self) -> str:
        which = f"game {self.game}" if self.slot is None else f"the game in slot {self.slot} at the end"
        return f"{which} of iteration {self.iteration}"


class Replayed(NamedTuple):
    """A game that was played again."""

    game: MeasuredGame
    before: int  # its first steps, whose policies were not made again
    over: bool


class Answer(NamedTuple):
    """What the pool was asked for, and what became of it."""

    weights: Any
    numbers: tuple[GameNumber | Segment, ...]  # of one block
    block: PlayedBlock

    @property
    def segment(self) -> Segment | None:
        """What was played if it was a segment."""
        return self.numbers[0] if isinstance(self.numbers[0], Segment) else None


class Recorder:
    """A pool that notes what it is asked for in training, and what came back."""

    def __init__(self, pool: RolloutPool) -> None:
        self._pool = pool
        self.answers: list[Answer] = []

    def __getattr__(self, name: str) -> Any:
        """All but ``play`` is the pool's."""
        return getattr(self._pool, name)

    def play(self, weights: Any, numbers: Sequence[Any], block_size: int = 1, how: Any = play_to_learn) -> Any:
        """As the pool's ``play``."""
        answers = self._pool.play(weights, numbers, block_size, how)
        return self._noting(weights, numbers, block_size, answers) if how is play_to_learn else answers

    def _noting(self, weights: Any, numbers: Sequence[Any], size: int, blocks: Iterator[PlayedBlock]) -> Iterator[Any]:
        for index, block in enumerate(blocks):
            some = tuple(numbers[index * size : (index + 1) * size])
            self.answers.append(Answer(weights, some, block._replace(experience=None)))
            yield block

    def forget(self) -> None:
        """Drop what lies before the beginnings of all games that are in play."""
        segments = [answer.segment for answer in self.answers if answer.segment]
        latest = max((segment.update for segment in segments), default=0)
        lengths = [answer.block.slot.length for answer in self.answers if answer.block.slot]
        first = latest - max(lengths, default=0) // segments[0].length - 1 if segments else latest + 1
        self.answers = [answer for answer in self.answers if answer.segment and answer.segment.update >= first]


def replay(kept: Kept, wanted: Wanted, num_workers: int) -> Replayed:
    """Play a trial on from the newest point before, to the iteration, and its game again with a camera.

    Raises ConfigError if there is no such game, if it cannot be filmed, or if the iterations are not what was recorded.
    """
    require_workers(num_workers)
    _require_game(kept, wanted)
    points = [point for point in kept.points if point.iteration < min(wanted.iteration, wanted.since)]
    if not points:
        raise ConfigError(f"iteration {wanted.iteration} cannot be played again: {'; '.join(kept.notes)}")
    start = points[-1]
    count = wanted.iteration - start.iteration
    line(f"Playing {count} iteration{'s' * (count > 1)} again, from {start}, with {num_workers} workers")
    with player(learner_named(kept.trial.learner), num_workers) as again:
        trial = again.begin(start)
        recorder = Recorder(trial.pool)
        trial.pool = recorder  # type: ignore[assignment]
        answers = _play(trial, recorder, kept, start, wanted.iteration)
        worker = trial.algorithm.worker_factory()()
        if not hasattr(worker.env, "console"):
            raise ConfigError(f"{trial.settings.env_id} has no console: nothing to film")
        parts, expected = _in_slot(answers, wanted.slot) if wanted.slot is not None else _ended(answers, wanted)
        with threadpool_limits(1):  # as in the actors
            game, before = film_game(worker, parts, wanted.first_step, wanted.max_shots)
    if (game.episode_return, game.length) != tuple(expected):
        raise ConfigError(
            f"{wanted}: filmed {game.episode_return:+.0f} in {game.length} steps, and played again"
            f" {expected.episode_return:+.0f} in {expected.length}: please report this"
        )
    return Replayed(game, before, wanted.slot is None)


def _require_game(kept: Kept, wanted: Wanted) -> None:
    """Raise ConfigError, with what there is, unless the recorded row has such a game."""
    rows = {row["training_iteration"]: row for row in kept.trial.rows}
    if wanted.iteration not in rows:
        there = f"{min(rows)} to {max(rows)}" if rows else "none"
        raise ConfigError(f"iteration={wanted.iteration}: {kept.trial.name} has rows of iterations {there}")
    slots, ended = kept.trial.config.get("slots", 0), rows[wanted.iteration].get("episodes_this_iter", 0)
    in_play = f"--slot 0 to {slots - 1} are those in play at its end" if slots else "it has no slots"
    if wanted.slot is not None and not 0 <= wanted.slot < slots:
        raise ConfigError(f"slot={wanted.slot}: iteration {wanted.iteration}: {in_play}")
    if wanted.game is not None and not 0 <= wanted.game < ended:
        games = f"its games that ended are 0 to {ended - 1}" if ended else "no game ended in it"
        raise ConfigError(f"game={wanted.game}: iteration {wanted.iteration}: {games}; {in_play}")


def _play(trial: PongTrainable, recorder: Recorder, kept: Kept, start: Point, last: int) -> list[list[Answer]]:
    """Play up to an iteration: the answers that matter before it, and in it."""
    rows = {row["training_iteration"]: row for row in kept.trial.rows}
    earlier: list[Answer] = []
    for iteration in range(start.iteration + 1, last + 1):
        recorder.forget()
        earlier = [*recorder.answers]
        row = trial.train()
        difference = compare_rows(trial.learner, rows[iteration], row) if iteration in rows else None
        if difference:
            raise ConfigError(
                f"iteration {iteration} is not what was recorded, and so no game after it: {difference};"
                " results.py verify says more"
            )
    return [earlier, recorder.answers[len(earlier) :]]


def _ended(answers: list[list[Answer]], wanted: Wanted) -> tuple[list[Part], GameSummary]:
    """The parts of a game that ended in the iteration, and what it came to."""
    ended = [(answer, index) for answer in answers[1] for index in range(len(answer.block.games))]
    answer, index = ended[wanted.game or 0]
    if answer.segment:
        parts = _back([*answers[0], *answers[1]], answer, index)
    else:
        parts = [Part(answer.weights, answer.numbers[index])]
    return parts, answer.block.games[index]


def _in_slot(answers: list[list[Answer]], slot: int) -> tuple[list[Part], GameSummary]:
    """The parts so far of the game that is in play in a slot. Raises ConfigError if one ended with the iteration."""
    latest = [answer for answer in answers[1] if answer.segment and answer.segment.number == slot][-1]
    if not latest.block.slot:
        raise ConfigError(f"slot={slot}: its game ended with the iteration, and the next one had not begun")
    parts = _back([*answers[0], *answers[1]], latest, len(latest.block.games))
    return parts, GameSummary(latest.block.slot.episode_return, latest.block.slot.length)


def _back(answers: Sequence[Answer], last: Answer, index: int) -> list[Part]:
    """The parts of a segment's game, from its beginning, or as far back as was played again."""
    assert last.segment
    parts = [Part(last.weights, last.segment, index)]
    number, update = last.segment.number, last.segment.update
    earlier = [a for a in answers if a.segment and a.segment.number == number and a.segment.update < update]
    for answer in earlier[::-1]:
        first = parts[0]
        if first.game or not (isinstance(first.number, Segment) and first.number.slot):
            break
        assert answer.segment
        parts.insert(0, Part(answer.weights, answer.segment, len(answer.block.games)))
    return parts
