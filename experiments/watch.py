"""Watch a policy play: returns with their interval, and a film."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from threadpoolctl import threadpool_limits

from experiments.ask.command_line import clean_exit, parse
from experiments.ask.flags import shown
from experiments.plan.learners import import_typed
from experiments.read import saved_policies
from experiments.read.saved_policies import CheckpointRef, PolicyRunner
from experiments.record.folders import display
from experiments.show.outputs import require_film_name, require_writable, write_out
from experiments.show.pictures import side_by_side
from experiments.show.summary import environment
from experiments.show.text import line
from trainables.checks import Bounds, check_fields
from trainables.metrics import WORST_RETURN
from trainables.sampling.evaluation import MeasuredGame, caption, mean_with_interval, measure, watched_numbers

DESCRIPTION = """Play a checkpoint, or the best one of a trial or an experiment, and film the first game.

Examples:
  python experiments/watch.py first                              the best policy of results/first
  python experiments/watch.py first --episodes 20 --greedy       a score with a narrower interval
  python experiments/watch.py results/first/00003_lr=2e-3_h=200_g=0.99_w=2 --film --out progress.gif

With --film the untrained policy is made anew from the trial's settings and seed. Between it and the best one stand up
to two checkpoints of the trial whose scores lie on the way: it keeps its best and its latest, and more where
--keep-checkpoints says so.
"""

MAX_PANELS = 4
"""Policies side by side in a film of the progress."""


@dataclass(frozen=True)
class Arguments:
    """What to watch, and how."""

    target: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="CHECKPOINT|TRIAL|EXPERIMENT")]
    """A path, or the name of an experiment in the storage path."""

    episodes: Annotated[int, Bounds(1)] = 5
    """Games to play."""

    greedy: bool = False
    """Take the most probable action each time, instead of drawing actions as in training."""

    film: bool = False
    """Film what was learned: the same game as the untrained policy and the best checkpoint play it, side by side."""

    seed: Annotated[int, Bounds(0)] = 0
    """Decides the games, which are the same for every policy, and were never played in any training."""

    out: Annotated[Path | None, shown("FILE.gif", "default: here, by trial")] = None
    """Where the film goes."""

    storage_path: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path("results")
    """Folder that holds experiments."""

    learner: Annotated[str | None, tyro.conf.arg(metavar="MODULE:CLASS", help_behavior_hint="")] = None
    """The learner, if it is one of your own: its module is imported (docs/own_learner.md)."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)
        require_film_name(self.out)


@clean_exit()
def main() -> None:
    """Watch from the command line."""
    arguments = parse(Arguments, DESCRIPTION)
    with threadpool_limits(1):  # as in the rollout actors
        watch(arguments)


def watch(arguments: Arguments) -> None:
    """Play, print and film."""
    found = saved_policies.find(arguments.storage_path, arguments.target)
    best = saved_policies.best_of(found)
    import_typed(arguments.learner)
    kind = "progress" if arguments.film else f"iteration-{best.iteration}"
    out = arguments.out or Path(f"{best.name}-{kind}.gif")
    require_writable(out)
    actions = "most probable actions" if arguments.greedy else "actions sampled"
    numbers = watched_numbers(arguments.seed, arguments.episodes)

    def play(runner: PolicyRunner, index: int = 0) -> MeasuredGame:
        return measure(runner.worker, runner.weights, numbers[index], greedy=arguments.greedy, filmed=index == 0)

    runner = saved_policies.policy_runner(best)
    line(f"{display(best.folder)}: iteration {best.iteration}, {best.in_training}")
    line(f"{environment(best.settings.env_id)}, {actions}, games of seed {arguments.seed}")
    games = []
    for index in range(arguments.episodes):
        games.append(play(runner, index))
        line(f"game {index + 1:3d}: return {games[-1].episode_return:+.0f} in {games[-1].length:,} steps")
    film = games[0].film
    line(score_text([game.episode_return for game in games], pong=film is not None))
    if not film:
        line(f"No film: {best.settings.env_id} has no console")
        return
    if arguments.film:
        played = [(name, play(earlier)) for name, earlier in _earlier(found, best)]
        gif = _progress([*played, (f"iteration {best.iteration}", games[0])])
    else:
        gif = film.gif(caption(games[0], f"after iteration {best.iteration}, {actions}"))
    write_out(out, gif)
    line(f"Film of game 1: {display(out.absolute())}")


def _earlier(found: list[CheckpointRef], best: CheckpointRef) -> list[tuple[str, PolicyRunner]]:
    """The untrained policy, and up to two of the trial's checkpoints between it and the best one."""
    earlier = [item for item in found if item.folder.parent == best.folder.parent and item.iteration < best.iteration]
    between = saved_policies.on_the_way(earlier, best, MAX_PANELS - 2)
    runners = [(f"iteration {item.iteration}", saved_policies.policy_runner(item)) for item in between]
    return [("untrained", saved_policies.untrained_runner(best)), *runners]


def _progress(played: list[tuple[str, MeasuredGame]]) -> bytes:
    captions = [(name, f"return {game.episode_return:+.0f} in {game.length:,} steps") for name, game in played]
    return side_by_side([game.film for _, game in played if game.film], captions)


def score_text(returns: list[float], pong: bool) -> str:
    """The mean return and its 95% interval, within what is possible in Pong."""
    if len(returns) == 1:
        return f"return {returns[0]:+.0f}; one game gives no interval"
    mean, low, high = mean_with_interval(returns)
    if pong:
        low, high = max(low, WORST_RETURN), min(high, -WORST_RETURN)
    return f"mean return {mean:+.1f}, 95% interval [{low:.1f}, {high:.1f}] of {len(returns)} games"


if __name__ == "__main__":
    main()
