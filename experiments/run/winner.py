"""At a sweep's end its winner plays: evaluations during training are few, and of policies that went on learning."""

import sys
from functools import partial
from pathlib import Path

from experiments.read import policies
from experiments.read.experiments import read_experiment
from experiments.record.decisions import WinnerGames, write_winner
from experiments.record.folders import WINNER, WINNER_FILM
from experiments.record.mirror import Remote
from experiments.run.ray_session import cluster_resources
from trainables.checkpoints import CheckpointError
from trainables.sampling.evaluation import play_evaluation
from trainables.sampling.pool import RolloutPool

GAMES = 10
"""With actions sampled, and as many with the most probable one: an interval of about two points."""


def play_winner(folder: Path) -> None:
    """Have the winner of a halved sweep play on all cores, and write down how it played.

    Nothing is played without a winner, or if its games stand there already. A sweep must not fail by its last games,
    so what hinders them is printed.
    """
    experiment = read_experiment(folder, running=False)
    best = experiment.winner
    found = policies.of_trial(best.folder) if best else []
    if not best or not found:
        return
    checkpoint, played = found[-1], experiment.played
    if played and (played.trial, played.iteration) == (best.number, checkpoint.iteration):
        return
    print(f"The winner plays {GAMES} games with actions sampled, {GAMES} with the most probable action.", flush=True)
    try:
        games, film = _play(checkpoint, best.number)
        write_winner(folder, games)
        if film:
            (folder / WINNER_FILM).write_bytes(film)
        if home := Remote.of(folder):
            home.push(folder / WINNER, *[folder / WINNER_FILM] * (film is not None))
    except (CheckpointError, RuntimeError, OSError) as error:
        print(f"The winner's games were left out: {error}", file=sys.stderr)


def _play(checkpoint: policies.CheckpointRef, trial: int) -> tuple[WinnerGames, bytes | None]:
    settings = checkpoint.settings
    runner = policies.policy_runner(checkpoint)
    workers = min(2 * GAMES, cluster_resources().workers(settings.cpus_per_worker))
    pool = RolloutPool(checkpoint.trainable.worker_factory(settings), workers, settings.cpus_per_worker)
    try:
        play = partial(pool.play, runner.weights)
        metrics, film = play_evaluation(play, settings.seed, checkpoint.iteration, GAMES)
    finally:
        pool.close()
    return WinnerGames(trial=trial, iteration=checkpoint.iteration, games=GAMES, metrics=metrics), film
