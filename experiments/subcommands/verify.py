"""``verify`` and ``replay``: training that is played again, to compare it with what was recorded, or to film a game."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from experiments.analysis.contradictions import unchecked
from experiments.ask.flags import shown
from experiments.disk.experiments import Experiment
from experiments.disk.folders import display
from experiments.disk.trial import Trial
from experiments.plan.resources import local_cpus
from experiments.plan.trial_names import number_of
from experiments.show.outputs import place_for, require_film, write_out
from experiments.show.text import line, say
from experiments.subcommands.look import One
from trainables.checks import Bounds, ConfigError, check_fields

MAX_WORKERS = 256
"""Rollout actors that can be asked for."""


@dataclass(frozen=True)
class Again(One):
    """An experiment to be played again."""

    num_workers: Annotated[
        int,
        Bounds(1, MAX_WORKERS),
        tyro.conf.arg(metavar="N", help_behavior_hint="(default: one for each core)"),
    ] = field(default_factory=lambda: min(local_cpus(), MAX_WORKERS))
    """Rollout actors: any number, whatever the trials had."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)


@dataclass(frozen=True)
class Verify(Again):
    """Play random iterations again, from the checkpoints beside them, and compare rows and arrays bit for bit.

    A stretch goes from a checkpoint of a trial, or its beginning, to the next one that is kept; a run with
    --keep-checkpoints all has short ones. Before that, all files of the experiment are compared with each other. Each
    trial's first difference is named, and the exit status is then 1. Times, and what tells where and how often a trial
    ran, are not compared. The experiment's files stay as they are.

    Example: python experiments/results.py verify first --iterations 20
    """

    iterations: Annotated[int, Bounds(0)] = 10
    """Iterations to play, of all trials together (0: all that can be). A stretch that is cut off by it ends without a
    look at arrays."""

    seed: Annotated[int, tyro.conf.arg(metavar="N", help_behavior_hint="(default: another each time)")] = field(
        default_factory=lambda: secrets.randbelow(10**6)
    )
    """Decides which iterations are drawn."""

    def run(self) -> None:
        """Verify, and end the program with status 1 if something is different."""
        experiment = self.read()
        # This loads Ray, which --help and a wrong name have no use for.
        from experiments.run.again import verify

        for text in unchecked(experiment):
            say(f"Not verified: {text}")
        if not verify(experiment, self.iterations, self.seed, self.num_workers):
            raise SystemExit(1)


@dataclass(frozen=True)
class Replay(Again):
    """Film any game that was ever played in training: it is played again from its number, and was kept nowhere.

    Iterations are counted from 1, as in the table of python experiments/results.py table NAME --rows. The games that
    ended in an iteration are counted from 0, in the order in which they were counted then: by number, or of segments
    by update and slot; the row's episodes_this_iter says how many there are. A game that was in play at an iteration's
    end is named by its slot.

    Example: python experiments/results.py replay first --iteration 50 --game 3
    """

    trial: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: the best)")] = None
    """Number of the trial, from 0."""

    iteration: Annotated[int | None, tyro.conf.arg(metavar="I", help_behavior_hint="(default: the last)")] = None
    """Iteration in which the game ended, or was in play."""

    game: Annotated[int | None, tyro.conf.arg(metavar="G", help_behavior_hint="(default: 0)")] = None
    """Game that ended in the iteration."""

    slot: Annotated[int | None, tyro.conf.arg(metavar="S", help_behavior_hint="(default: --game counts)")] = None
    """Slot whose game was in play at the iteration's end: the film goes up to there."""

    since: Annotated[int | None, tyro.conf.arg(metavar="I", help_behavior_hint="(default: --iteration)")] = None
    """Play from the newest checkpoint before this iteration. Moves that a game's earlier policies chose before that
    checkpoint are filmed, too, but how probable they were is not known."""

    from_step: Annotated[int, Bounds(0)] = 0
    """Agent step of the game at which the film begins; it has at most 2,400."""

    out: Annotated[Path | None, shown("FILE.gif", "default: in the experiment, by game")] = None
    """Where the film goes."""

    def __post_init__(self) -> None:
        """Check every flag."""
        super().__post_init__()
        if self.game is not None and self.slot is not None:
            raise ConfigError("--game and --slot are two ways to name a game: give one")

    def run(self) -> None:
        """Play again, and write the film."""
        experiment = self.read()
        trial = self._chosen(experiment)
        iteration = trial.iterations if self.iteration is None else self.iteration
        since = iteration if self.since is None else self.since
        game = self.game  # None beside a slot: both are refused together.
        which = f"slot-{self.slot}"
        if self.slot is None:
            game = self.game or 0
            which = f"game-{game}"
        out = self.out
        if not out:
            name = f"{experiment.name}-{number_of(trial.number)}-iteration-{iteration}-{which}.gif"
            out = place_for(trial.folder, name)
        require_film(out)
        # This loads Ray, as in verify.
        from experiments.run.again import WantedGame, recorded, replay

        wanted = WantedGame(iteration, game, self.slot, since, self.from_step)
        played, film = replay(recorded(experiment, trial), wanted, self.num_workers)
        episode_return, length = played.summary
        score = f"return {episode_return:+.0f} in {length:,} steps"
        so_far = " so far" if game is None else ""
        say(f"{trial.name}, {wanted}: {score}{so_far}, as it was played in training")
        before = played.steps_before
        if before:
            say(f"Its first {before:,} steps were chosen by policies before that: --since has them made again")
        if not film.shots:
            raise ConfigError(f"from_step={self.from_step}: the game has {length:,} steps")
        write_out(out, film.gif([film.score(episode_return, length), str(wanted), "what the network sees:"]))
        line(f"Film: {display(out.absolute())}")

    def _chosen(self, experiment: Experiment) -> Trial:
        """The trial. Raises ConfigError, with those that there are, if it is not there, or if none has results."""
        by_number = {trial.number: trial for trial in experiment.trials}
        trial = experiment.best if self.trial is None else by_number.get(self.trial)
        if trial is None:
            there = ", ".join(map(str, by_number)) or "none"
            raise ConfigError(f"{experiment.name} has no such trial with results; trials: {there}")
        return trial
