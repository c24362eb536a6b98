"""Sweep any learner: one of ours, or one's own (docs/own_learner.md) over the search space in its module."""

import sys
from pathlib import Path

if (beside := str(Path(__file__).resolve().parents[1])) not in sys.path:
    sys.path.insert(0, beside)  # what stands beside this program runs, whatever is installed

from experiments.ask.command_line import clean_exit, first_word
from experiments.plan.learners import LEARNERS, PG, learner_typed
from experiments.run import sweep_program

DESCRIPTION = """Sweep a learner with Ray Tune: pg (PPO or REINFORCE from pixels) if none is named, trpo, or one of your
own, over the SPACES of its module (docs/own_learner.md).

Examples:
  python experiments/sweep.py                                    as many trials as 30 minutes hold, the best go on
  python experiments/sweep.py --smoke-test                       does everything work here?
  python experiments/sweep.py trpo --resume first                go on after an interruption
  python experiments/sweep.py ./a2c.py:A2C                       a learner of your own
  python experiments/sweep.py ./a2c.py:A2C --sweep learning_rate=1e-4..1e-2:log   a range of your own
  python experiments/sweep.py pg --help                          every flag
"""


@clean_exit()
def main() -> None:
    """Sweep the learner that is the first word of the command line; without one, ``pg``, as ``sweep_pong.py`` does."""
    if not sys.argv[1:] or (sys.argv[1].startswith("-") and sys.argv[1] not in ("-h", "--help")):
        sys.argv.insert(1, PG.name)
    learner = learner_typed(first_word("learner", [*LEARNERS, "module:Class"], DESCRIPTION))
    sweep_program.main(learner, DESCRIPTION, sys.argv[2:])


if __name__ == "__main__":
    main()
