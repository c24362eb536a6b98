"""Iterations of an experiment played again, without Tune and with any number of workers; its files stay as they are.

``verify`` compares what comes out with what was recorded, and ``replay`` films a game on the way.
"""

import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import ray
from threadpoolctl import threadpool_limits

from experiments.analysis.contradictions import contradictions
from experiments.analysis.recorded import Recorded, Stretch, compare_arrays, compare_rows, compare_states, recorded
from experiments.ask.budget import duration
from experiments.ask.command_line import neighbour
from experiments.disk.experiments import Experiment
from experiments.disk.folders import display
from experiments.disk.provenance import changes_since
from experiments.disk.trial import Trial
from experiments.disk.trial_checkpoints import load, parameters
from experiments.plan.learners import learner_named
from experiments.plan.resources import local_cpus
from experiments.run.ray_session import ship, start_local
from experiments.run.stopping import RayWatch, StopSignals
from experiments.show.text import say
from trainables.checkpoints import CheckpointError
from trainables.checks import ConfigError
from trainables.sampling.film import Film
from trainables.sampling.training_games import TrainingGame, TrainingGames
from trainables.texts import counted
from trainables.trainable import PongTrainable

REPLAY_SHOTS = 1200
"""Pictures that a replay's film has at most: 160 s of play, and some MB."""


def verify(experiment: Experiment, iterations: int, seed: int, num_workers: int) -> bool:
    """Play ``iterations`` random ones again (0: all that can be), and print what was found; True if all is the same.

    Of a trial whose files contradict each other nothing is played. Raises ConfigError if there is nothing to play, and
    no contradiction either.
    """
    found = [recorded(experiment, trial) for trial in experiment.trials]
    _say_notes(found)
    changes = _changes(experiment)
    if changes:
        say(f"Made by something else than runs here: {', '.join(changes)}")
    wrong = _say_contradictions(experiment, found)
    playable = _playable(found)
    chosen = draw(playable, iterations, seed)
    if not chosen and not wrong:
        raise ConfigError(f"{experiment.name} has no iteration that can be played again")
    if not chosen:
        return False
    _say_what_has_no_arrays(chosen)
    _say_plan(chosen, playable, seed, num_workers)
    if not _all_the_same(experiment.learner, chosen, num_workers):
        say(f"Possible reason: {', '.join(changes)}" if changes else "Code and libraries are the same ones.")
        return False
    ends = [stretch.end for stretch in chosen if stretch.end]
    arrays = f", and the arrays of {counted(len(ends), 'checkpoint')} at which they end" if ends else ""
    say(f"The same, bit for bit: {_rows(chosen)}{arrays}")
    return not wrong


def _say_notes(found: Sequence[Recorded]) -> None:
    """Print what cannot be played again."""
    for each in found:
        for note in each.notes:
            say(f"Not verified: {each.trial.name}: {note}")


def _say_what_has_no_arrays(chosen: Sequence[Stretch]) -> None:
    """Print after which stretches no arrays can be compared."""
    for stretch in chosen:
        if not stretch.end:
            say(f"Not verified: {stretch.trial.name}: arrays after {stretch}: it ends at no checkpoint, or is cut off")


def _playable(found: Sequence[Recorded]) -> list[Stretch]:
    """The stretches of all trials whose files do not contradict each other."""
    stretches = []
    for each in found:
        if not each.wrong:
            stretches += each.stretches
    return stretches


def _changes(experiment: Experiment) -> list[str]:
    """What is different here from where the experiment ran."""
    changes = changes_since(experiment.spec.origin)
    digests = experiment.spec.with_source(learner_named(experiment.learner).source).learner_sha256
    if len({*digests}) > 1:
        changes.append("the learner's own file")
    return changes


def _say_contradictions(experiment: Experiment, found: Sequence[Recorded]) -> bool:
    """Print where the experiment's files contradict each other; return whether they do."""
    wrong = contradictions(experiment)
    for each in found:
        wrong += [f"{each.trial.name}: {text}" for text in each.wrong]
    for text in wrong:
        say(f"Different: {text}")
    return bool(wrong)


def _say_plan(chosen: Sequence[Stretch], playable: Sequence[Stretch], seed: int, num_workers: int) -> None:
    """Print how many iterations are played again, and about how long that takes by how long it took."""
    seconds = 0.0
    for stretch in chosen:
        for row in stretch.rows:
            seconds += row.get("time_this_iter_s", 0.0) * row.get("perf/workers", 1.0)
    played = sum(len(stretch.rows) for stretch in chosen)
    of_all = counted(sum(len(stretch.rows) for stretch in playable), "iteration")
    say(
        f"Playing {played} of {of_all} again with {counted(num_workers, 'worker')}: about"
        f" {duration(seconds / num_workers)}, by what they took (--seed {seed} draws the same ones)"
    )


def _rows(chosen: Sequence[Stretch]) -> str:
    """How many rows stretches have, in words."""
    return counted(sum(len(stretch.rows) for stretch in chosen), "row")


def _all_the_same(learner: str, chosen: Sequence[Stretch], num_workers: int) -> bool:
    """Play stretches again, and print what was found. Once a trial differs, no more of it is played."""
    different = set()
    with player(learner, num_workers) as begin:
        for number, stretch in enumerate(chosen, 1):
            name = stretch.trial.name
            if name in different:
                continue
            began = time.monotonic()
            difference = _difference(begin, stretch)
            if difference:
                different.add(name)
                say(f"Different: {name}, {difference}  (from {stretch.origin})")
                continue
            same = f"rows, and the arrays of {stretch.end.folder.name}" if stretch.end else "rows"
            taken = duration(time.monotonic() - began)
            say(f"[{number}/{len(chosen)}] {name}, {stretch}: the same {same} ({taken})")
    return not different


def draw(stretches: Sequence[Stretch], iterations: int, seed: int) -> list[Stretch]:
    """Stretches of so many ``iterations`` in all (0: all), drawn at random, in the order of trials and iterations.

    The last one that is drawn may be cut off: then the arrays of the checkpoint at its end are not compared.
    """
    left = iterations or sum(len(stretch.rows) for stretch in stretches)
    order = list(range(len(stretches)))
    random.Random(seed).shuffle(order)
    chosen = {}
    for index in order:
        if left > 0:
            chosen[index] = stretches[index].cut(left)
            left -= len(chosen[index].rows)
    return [chosen[index] for index in sorted(chosen)]


def _difference(begin: Callable[[Stretch], PongTrainable], stretch: Stretch) -> str | None:
    """The first difference between a stretch and what its trial plays again; None if there is none."""
    try:
        trial = begin(stretch)
        for iteration, difference in _played(trial, stretch.trial, stretch.last):
            if difference:
                return f"iteration {iteration}, {difference}"
        if not stretch.end:
            return None
        arrays, state = load(stretch.end.folder, trial.settings, trial.learner)
    except CheckpointError as error:
        return str(error)
    difference = compare_arrays(arrays, trial.checkpoint_arrays) or compare_states(state, trial.state)
    if not difference:
        return None
    return f"iteration {stretch.last}, {stretch.end.folder.name}, {difference}"


def _played(trial: PongTrainable, recorded: Trial, last: int) -> Iterator[tuple[int, str | None]]:
    """Play a trial on to the iteration ``last``. Of each iteration its number, and the first difference to its row."""
    rows = {row["training_iteration"]: row for row in recorded.rows}
    for iteration in range(trial.iterations + 1, last + 1):
        row = trial.train()
        yield iteration, compare_rows(rows[iteration], row) if iteration in rows else None


class WantedGame(NamedTuple):
    """The game that is to be filmed."""

    iteration: int
    game: int | None  # its number among those that ended in the iteration; None for the game in the slot
    slot: int | None  # whose game was in play at the iteration's end; None for a game that ended
    since: int  # the iteration from which on the trial is played again, or from an earlier one
    first_step: int = 0  # the agent step of the game at which the film begins

    def __str__(self) -> str:
        which = f"game {self.game}" if self.slot is None else f"the game in slot {self.slot} at the end"
        return f"{which} of iteration {self.iteration}"


def replay(recorded: Recorded, wanted: WantedGame, num_workers: int) -> tuple[TrainingGame, Film]:
    """Play a trial again, from the newest point that comes before what is ``wanted``; the game, and its film.

    Raises ConfigError if there is no such game, if it cannot be filmed, or if the iterations are not what was recorded.
    """
    _require_game(recorded.trial, wanted)
    stretches = [stretch for stretch in recorded.stretches if stretch.first <= min(wanted.iteration, wanted.since)]
    if not stretches:
        raise ConfigError(f"iteration {wanted.iteration} cannot be played again: {'; '.join(recorded.notes)}")
    start = stretches[-1]
    count = wanted.iteration - start.first + 1
    what, workers = counted(count, "iteration"), counted(num_workers, "worker")
    say(f"Playing {what} again, from {start.origin}, with {workers}")
    with player(recorded.trial.learner, num_workers) as begin:
        trial = begin(start)
        game = _play_to(trial, recorded.trial, wanted)
        worker = trial.algorithm.worker_factory()()
        if not hasattr(worker.env, "console"):
            raise ConfigError(f"{trial.settings.env_id} has no console: nothing to film")
        with threadpool_limits(1):  # as in the actors
            summary, film = game.film(worker, wanted.first_step, REPLAY_SHOTS)
    if summary != game.summary:
        raise ConfigError(f"{wanted}: filmed {summary}, and played again {game.summary}: please report this")
    return game, film


def _require_game(trial: Trial, wanted: WantedGame) -> None:
    """Raise ConfigError, which says what games there are, unless the wanted one is among those of its iteration."""
    rows = {row["training_iteration"]: row for row in trial.rows}
    if wanted.iteration not in rows:
        there = f"{min(rows)} to {max(rows)}" if rows else "none"
        raise ConfigError(f"iteration={wanted.iteration}: {trial.name} has rows of iterations {there}")
    slots = trial.config.get("slots", 0)
    ended = rows[wanted.iteration].get("episodes_this_iter", 0)
    in_play = f"--slot 0 to {slots - 1} are those in play at its end" if slots else "it has no slots"
    if wanted.slot is not None and not 0 <= wanted.slot < slots:
        raise ConfigError(f"slot={wanted.slot}: iteration {wanted.iteration}: {in_play}")
    if wanted.game is not None and not 0 <= wanted.game < ended:
        games = f"its games that ended are 0 to {ended - 1}" if ended else "no game ended in it"
        raise ConfigError(f"game={wanted.game}: iteration {wanted.iteration}: {games}; {in_play}")


def _play_to(trial: PongTrainable, recorded: Trial, wanted: WantedGame) -> TrainingGame:
    """Play a trial on to the wanted game. Raises ConfigError if a row differs, or if no game is in play in the slot."""
    trial.observer = games = TrainingGames()
    for iteration, difference in _played(trial, recorded, wanted.iteration):
        if difference:
            raise ConfigError(
                f"iteration {iteration} is not what was recorded, and so no game after it: {difference};"
                f" {neighbour('results.py', 'verify', display(recorded.folder.parent))} says more"
            )
        if iteration < wanted.iteration:
            games.ended.clear()
    if wanted.slot is None:
        return games.ended[wanted.game or 0]
    if wanted.slot not in games.in_play:
        raise ConfigError(f"slot={wanted.slot}: its game ended with the iteration, and the next one had not begun")
    return games.in_play[wanted.slot]


@contextmanager
def player(learner: str, num_workers: int) -> Iterator[Callable[[Stretch], PongTrainable]]:
    """A function that returns a trial as it stood where a stretch begins; ``train`` plays it on. One trial at a time.

    It raises CheckpointError if the checkpoint cannot be used, and ConfigError if settings or workers are impossible.
    """
    known = learner_named(learner)
    trial: PongTrainable | None = None

    def begin(stretch: Stretch) -> PongTrainable:
        nonlocal trial
        speed = {"num_workers": num_workers, "cpus_per_worker": 1.0, "placement": "pack"}
        settings = known.config_class.from_dict(stretch.trial.config | speed)
        parameters(learner, settings)
        if stretch.start:
            load(stretch.start.folder, settings, learner)  # It checks sizes before anything of such a size is built.
        if trial and not (stretch.start and settings == trial.settings):
            trial.stop()
            trial = None
        if not trial:
            trial = known.trainable(config=settings.to_dict())
            Path(trial.logdir).rmdir()  # Tune made it, and nothing will be written there.
        if stretch.start:
            trial.load_checkpoint(str(stretch.start.folder))
        return trial

    if own_ray := not ray.is_initialized():
        start_local(max(local_cpus(), num_workers), log_to_driver=False, logging_level=logging.ERROR)
    ship(known)
    try:
        with RayWatch(StopSignals()):
            yield begin
    except RuntimeError as error:
        raise ConfigError(" ".join(str(error).split())) from None
    finally:
        if trial:
            trial.stop()
        if own_ray:
            ray.shutdown()
