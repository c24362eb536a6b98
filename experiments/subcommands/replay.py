"""``replay``: the film of any training game."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from experiments.ask.own_code import OwnCode
from experiments.plan.own import import_typed
from experiments.plan.resources import local_cpus
from experiments.read.experiments import Experiment
from experiments.read.stretches import kept
from experiments.read.trial import Trial
from experiments.record.folders import display
from experiments.show.files import require_film_name, require_writable, write_out
from experiments.show.text import line
from experiments.subcommands.storage import One
from trainables.checks import Bounds, ConfigError, check_fields

MAX_STEPS = 2400
"""Agent steps in a film: 160 s of play, and some MB."""


@dataclass(frozen=True)
class Replay(One, OwnCode):
    """Film any game that was ever played in training: it is played again from its number, and was kept nowhere.

    Iterations are counted from 1, as in results.py table NAME --rows. The games that ended in an iteration are counted
    from 0, in the order in which they were counted then: by number, or of segments by update and slot; the row's
    episodes_this_iter says how many there are. A game that was in play at an iteration's end is named by its slot.

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

    num_workers: Annotated[
        int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: one for each core)")
    ] = None
    """Rollout actors: any number, whatever the trial had."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE.gif", help_behavior_hint="(default: here, by game)")] = None
    """Where the film goes."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)
        if self.game is not None and self.slot is not None:
            raise ConfigError("--game and --slot are two ways to name a game: give one")
        require_film_name(self.out)

    def run(self) -> None:
        """Play again, and write the film."""
        import_typed(self.learner)
        experiment = self.read_named()
        trial = self._chosen(experiment)
        iteration = trial.iterations if self.iteration is None else self.iteration
        which = f"game-{self.game or 0}" if self.slot is None else f"slot-{self.slot}"
        out = self.out or Path(f"{experiment.name}-{trial.name[:5]}-iteration-{iteration}-{which}.gif")
        require_writable(out)
        from experiments.run.replay import Wanted, replay  # Ray takes a second to import
        from trainables.sampling.film import EVERY

        game = None if self.slot is not None else self.game or 0
        since = iteration if self.since is None else self.since
        wanted = Wanted(iteration, game, self.slot, since, self.from_step, MAX_STEPS // EVERY)
        workers = local_cpus() if self.num_workers is None else self.num_workers
        found = replay(kept(experiment, trial), wanted, workers)
        score = f"return {found.game.episode_return:+.0f} in {found.game.length:,} steps"
        line(f"{trial.name}, {wanted}: {score}{'' if found.over else ' so far'}, as it was played in training")
        if found.before:
            line(f"Its first {found.before:,} steps were chosen by policies before that: --since has them made again")
        if not found.game.film or not found.game.film.shots:
            raise ConfigError(f"from_step={self.from_step}: the game has {found.game.length:,} steps")
        write_out(out, found.game.film.gif([score, str(wanted), "what the network sees:"]))
        line(f"Film: {display(out.absolute())}")

    def _chosen(self, experiment: Experiment) -> Trial:
        """The trial. Raises ConfigError, with those that there are, if it is not there or has no results."""
        found = {trial.number: trial for trial in experiment.trials}
        trial = experiment.best if self.trial is None else found.get(self.trial)
        if trial is None:
            there = ", ".join(map(str, found)) or "none"
            raise ConfigError(f"{experiment.name} has no such trial with results; trials: {there}")
        return trial
