"""At the end a sweep's winner, or the best trial, plays: evaluations in training are few and of earlier policies."""

import sys
import time
from functools import partial
from pathlib import Path

from experiments.ask.budget import duration
from experiments.disk import saved_policies
from experiments.disk.decisions import WinnerGames, write_winner
from experiments.disk.experiments import Experiment
from experiments.disk.folders import WINNER_FILM
from experiments.disk.mirror import Remote
from experiments.disk.restored import restore
from experiments.disk.spec import ExperimentSpec
from experiments.run.ray_internals import in_one_line
from experiments.run.ray_session import cluster_resources
from trainables.checkpoints import CheckpointError
from trainables.sampling.evaluation import play_evaluation
from trainables.sampling.pool import RolloutPool
from trainables.saved import Checkpoint
from trainables.texts import counted

GAMES = 10
"""Games with actions sampled, and as many with the most probable one: each mean has an interval of about two points."""


def play_winner(experiment: Experiment) -> None:
    """Have an experiment's ``player`` play on all cores, unless it has. An error in its games fails no experiment.

    Its newest checkpoint plays, and not its best one (``saved_policies.of_experiment``): these games stand beside the
    score at the trial's end, by which it won and which tables and rungs show, and say what that score is worth. The
    best checkpoint is the one whose training games were luckiest, at another moment.
    """
    player, played = experiment.player, experiment.played
    newest = player.checkpoints.newest if player else None
    if not player or not newest:
        return
    if played and (played.trial, played.iteration, played.ended) == (player.number, newest.iteration, player.fell):
        return
    who = "The winner" if experiment.winner else "The best trial"
    if len(experiment.trials) == 1:
        who = "The policy"
    print(f"{who} plays {GAMES} games with actions sampled, {GAMES} with the most probable action.", flush=True)
    try:
        games, film = _play(newest, player.number)
        games = games.model_copy(update={"ended": player.fell})
        write_winner(experiment.folder, games)
        if film:
            (experiment.folder / WINNER_FILM).write_bytes(film)
        if home := Remote.of(experiment.folder):
            home.push_all(experiment.folder)
    except (CheckpointError, RuntimeError, OSError) as error:
        print(f"These games were left out: {in_one_line(error)}", file=sys.stderr)


def _play(checkpoint: Checkpoint, trial: int) -> tuple[WinnerGames, bytes | None]:
    """What a checkpoint's policy returned in an evaluation, and the film of its first game."""
    settings = saved_policies.settings_of(checkpoint)
    trainable, runner = saved_policies.trainable_of(checkpoint), saved_policies.policy_runner(checkpoint)
    workers = min(2 * GAMES, cluster_resources().workers(settings.cpus_per_worker))
    pool = RolloutPool(trainable.worker_factory(settings), workers, settings.cpus_per_worker)
    try:
        play = partial(pool.play, runner.weights)
        metrics, film = play_evaluation(play, settings.seed, checkpoint.iteration, GAMES)
    finally:
        pool.close()
    return WinnerGames(trial=trial, iteration=checkpoint.iteration, games=GAMES, metrics=metrics), film


def show_whether_everything_works(folder: Path, since: float) -> int:
    """Say at the end of a smoke test whether all trials played to their end, and can be restored from there.

    ``since`` is when the program began, in seconds of ``time.monotonic``. Returns the program's exit status.
    """
    spec = ExperimentSpec.read(folder)
    restored = restore(folder, spec)
    done = [number for number, old in restored.items() if old.trial.facts.used_up]
    if missing := len(spec.configs) - len(done):
        print(f"Not everything works: {counted(missing, 'trial')} cannot be resumed from its end.", file=sys.stderr)
        return 1
    print(
        f"\nEverything works: {len(done)} trials played, saved and resumable, in {duration(time.monotonic() - since)}"
    )
    return 0
