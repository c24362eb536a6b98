"""Sweep TRPO on Pong's memory: trust region, baseline, hidden sizes, gamma, lambda and parallelism."""

import sys
from pathlib import Path

if (beside := str(Path(__file__).resolve().parents[1])) not in sys.path:
    sys.path.insert(0, beside)  # what stands beside this program runs, whatever is installed

from experiments.plan.learners import TRPO
from experiments.run.sweep_program import main

DESCRIPTION = """Sweep trust-region policy optimisation on Pong's memory with Ray Tune.

Examples:
  python experiments/sweep_trpo.py                               as many trials as 30 minutes hold; the best go on
  python experiments/sweep_trpo.py --smoke-test                  does everything work here?
  python experiments/sweep_trpo.py --sweep max_kl=1e-3..1e-1:log --sweep gamma=0.98,0.99           ranges of your own
  python experiments/sweep_trpo.py --confirm first               and how much of its best scores was luck?
  python experiments/sweep_trpo.py --scheduler fifo --num-samples 4 --set max_kl=0.01 --name first
  python experiments/sweep_trpo.py --resume first                go on after an interruption
"""

if __name__ == "__main__":
    main(TRPO, DESCRIPTION)
