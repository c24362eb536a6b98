"""After a sweep: its winner plays, and its best are run once more with fresh seeds.

Evaluations during training are few, and of policies that went on learning; and the winner among many owes a part of its
score to luck.
"""

import dataclasses
import sys
import time
from functools import partial
from pathlib import Path

from experiments.analysis.configurations import best_configurations, varied
from experiments.analysis.luck import SUFFIX, confirmations, verdict
from experiments.ask.budget import duration
from experiments.ask.command_line import neighbour
from experiments.ask.flags import RunFlags
from experiments.disk import mirror, saved_policies
from experiments.disk.decisions import WinnerGames, write_winner
from experiments.disk.experiments import Experiment, read_experiment
from experiments.disk.folders import WINNER_FILM, display
from experiments.disk.mirror import Remote
from experiments.disk.restored import restore
from experiments.disk.spec import Confirm, ExperimentSpec
from experiments.plan.learners import Learner
from experiments.run.draft import Draft
from experiments.run.ray_session import cluster_resources
from experiments.show.tables import confirmation_table
from experiments.show.text import print_table, say
from trainables.checkpoints import CheckpointError
from trainables.checks import ConfigError
from trainables.sampling.evaluation import play_evaluation
from trainables.sampling.pool import RolloutPool
from trainables.saved import Checkpoint
from trainables.texts import counted

GAMES = 10
"""With actions sampled, and as many with the most probable one: an interval of about two points."""


def play_winner(experiment: Experiment) -> None:
    """Have the winner of a halved sweep play on all cores, if it has not; what hinders it does not fail the sweep.

    Its newest checkpoint plays, and not its best one (``saved_policies.of_experiment``): these games stand beside the
    score at the winner's end, by which it won and which tables and rungs show, and say what that score is worth. The
    best checkpoint is the one whose training games were luckiest, at another moment.
    """
    folder, best, played = experiment.folder, experiment.winner, experiment.played
    newest = best.checkpoints.newest if best else None
    if not best or not newest:
        return
    if played and (played.trial, played.iteration, played.ended) == (best.number, newest.iteration, best.fell):
        return
    print(f"The winner plays {GAMES} games with actions sampled, {GAMES} with the most probable action.", flush=True)
    try:
        games, film = _play(newest, best.number)
        games = games.model_copy(update={"ended": best.fell})
        write_winner(folder, games)
        if film:
            (folder / WINNER_FILM).write_bytes(film)
        if home := Remote.of(folder):
            home.push_all(folder)
    except (CheckpointError, RuntimeError, OSError) as error:
        print(f"The winner's games were left out: {error}", file=sys.stderr)


def _play(checkpoint: Checkpoint, trial: int) -> tuple[WinnerGames, bytes | None]:
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
    """Say at the end of a smoke test that all trials played to their end, and that their checkpoints can be restored.

    Returns the program's exit status.
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


def confirmation_flags(folder: Path, spec: ExperimentSpec, run: RunFlags, began: bool) -> RunFlags:
    """Flags of a sweep's confirmation, which lies beside the sweep, on the Ray that ``run`` names."""
    name = folder.name + SUFFIX
    flags = RunFlags(
        name=name,
        storage_path=spec.storage_uri or str(folder.parent),
        checkpoint_frequency=spec.checkpoint_frequency,
        keep_checkpoints=str(spec.keep_checkpoints or "all"),
        address=run.address,
        callback=run.callback,
        verbose=run.verbose,
    )
    if began:
        return dataclasses.replace(flags, name=None, resume=name)
    return flags


def confirmation_began(folder: Path, spec: ExperimentSpec, run: RunFlags) -> bool:
    """Whether what has the name of a sweep's confirmation is one."""
    if not spec.confirm:
        return False
    flags, name = confirmation_flags(folder, spec, run, began=True), folder.name + SUFFIX
    if not mirror.taken(flags, name):
        return False
    try:
        return ExperimentSpec.read(mirror.find(flags, name, spec.learner)).confirms == folder.name
    except ConfigError:  # it is something else
        return False


def confirmation_due(folder: Path, run: RunFlags) -> bool:
    """Whether all that is left of a sweep is its confirmation; one that has begun says so, unless an extension came."""
    sweep = read_experiment(folder)
    return sweep.can_be_confirmed or (not sweep.spec.extended and confirmation_began(folder, sweep.spec, run))


def fresh_seeds(learner: Learner, sweep: Experiment, asked: Confirm, run: RunFlags) -> Draft:
    """What the confirmation is to do, untrained: all configurations meet the same seeds, new to all of them.

    The baseline is among them, beyond the best that were ``asked`` for if it is none of these. The Draft has of the
    sweep what is named here, and nothing else. ``run`` are the flags of the confirmation.
    """
    first, spec = 1 + max(sweep.spec.seeds), sweep.spec
    ranked = best_configurations(sweep, len(sweep.trials))
    chosen = ranked[: asked.best]
    if not any(each.is_baseline for each in chosen):
        chosen += [each for each in ranked if each.is_baseline]
    configs, configuration_of = [], []
    for index, configuration in enumerate(chosen):
        for seed in range(first, first + asked.seeds):
            configs.append(learner.config_class.from_dict(configuration.config | {"seed": seed}))
            configuration_of.append(index)
    return Draft(
        learner,
        run,
        spec.budget,
        configs,
        swept=[*varied(chosen), "seed"],
        baseline=spec.baseline,
        configuration_of=configuration_of,
        max_concurrent=spec.max_concurrent,
        confirms=sweep.name,
        space=spec.space or {},
        preset=spec.preset,
        command=spec.command,  # of the program that goes on with the sweep, and so with its confirmation
    )


def show_confirmation(sweep: Experiment, confirm: Experiment) -> None:
    """Print both scores, and what they say."""
    found = confirmations(sweep, confirm)
    print("Scores, mean returns of the latest games: the sweep's, and fresh seeds' there and at their end")
    print_table(confirmation_table(found))
    if origin := sweep.spec.fork_of:
        say(f"The sweep was forked from {origin.name}; fresh seeds train from scratch, which is another thing.")
    if text := verdict(found):
        say(text)
    where = [display(experiment.folder) for experiment in (sweep, confirm)]
    print(f"Report:  {neighbour('results.py', 'report', *where)}")
