"""Sweep PPO, or REINFORCE, on Pong's pixels: learning rate, hidden size, gamma, segment length and parallelism."""

import sys
from pathlib import Path

if (beside := str(Path(__file__).resolve().parents[1])) not in sys.path:
    sys.path.insert(0, beside)  # what stands beside this program runs, whatever is installed

from experiments.plan.learners import PG
from experiments.run.sweep_program import main

DESCRIPTION = """Sweep a policy gradient (PPO; with --preset karpathy REINFORCE) on Pong's pixels with Ray Tune.

Examples:
  python experiments/sweep_pong.py                               as many trials as 30 minutes hold, the best go on
  python experiments/sweep_pong.py --smoke-test                  does everything work here?
  python experiments/sweep_pong.py --sweep learning_rate=1e-4..1e-2:log --sweep gamma=0.98,0.99    ranges of your own
  python experiments/sweep_pong.py --confirm first               and how much of its best scores was luck?
  python experiments/sweep_pong.py --scheduler fifo --num-samples 4 --set gamma=0.99 --name first
  python experiments/sweep_pong.py --resume first                go on after an interruption
"""

if __name__ == "__main__":
    main(PG, DESCRIPTION)
