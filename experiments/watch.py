"""Watch a policy play: returns with their interval, and a film."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

if (beside := str(Path(__file__).resolve().parents[1])) not in sys.path:
    sys.path.insert(0, beside)  # what stands beside this program runs, whatever is installed

from threadpoolctl import threadpool_limits

from experiments.ask.command_line import clean_exit, parse
from experiments.ask.flags import shown
from experiments.disk import saved_policies
from experiments.show.outputs import place_for, require_film
from experiments.subcommands.look import Policy
from trainables.checks import Bounds, check_fields

DESCRIPTION = """Play a checkpoint, or the best one of a trial or an experiment, and film the first game.

Examples:
  python experiments/watch.py trained/pg                         a policy that comes with the package; also trained/trpo
  python experiments/watch.py first                              the best policy of results/first
  python experiments/watch.py first --episodes 20 --greedy       a score with a narrower interval
  python experiments/watch.py results/first/00003_lr=2e-3_h=200_g=0.99_w=2 --film --out progress.gif

With --film the untrained policy is made anew from the trial's settings and seed. Between it and the best one stand up
to two checkpoints of the trial whose scores lie on the way: it keeps its best and its latest, and more where
--keep-checkpoints says so.
"""


@dataclass(frozen=True)
class Arguments(Policy):
    """What to watch, and how."""

    episodes: Annotated[int, Bounds(1)] = 5
    """Games to play."""

    greedy: bool = False
    """Take the most probable action each time, instead of drawing actions as in training."""

    film: bool = False
    """Film what was learned: the same game as the untrained policy and the best checkpoint play it, side by side."""

    seed: Annotated[int, Bounds(0)] = 0
    """Decides the games, which are the same for every policy, and were never played in any training."""

    out: Annotated[Path | None, shown("FILE.gif", "default: in the experiment, by trial")] = None
    """Where the film goes."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)


@clean_exit()
def main() -> None:
    """Watch from the command line."""
    arguments = parse(Arguments(), DESCRIPTION)
    found = arguments.find()
    best = found.best
    assert best
    kind = "progress" if arguments.film else f"iteration-{best.iteration}"
    out = arguments.out or place_for(best.folder, f"{saved_policies.trial_name(best)}-{kind}.gif")
    require_film(out)
    from experiments.show.watched import watch  # what plays, which --help and a wrong name do without

    with threadpool_limits(1):  # as in the rollout actors
        watch(found, out, arguments.episodes, arguments.seed, arguments.greedy, arguments.film)


if __name__ == "__main__":
    main()
