"""The programs, run as users run them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SWEEPS = {learner: ROOT / "experiments" / f"sweep_{name}.py" for learner, name in (("pg", "pong"), ("trpo", "trpo"))}
TRAIN = ROOT / "experiments" / "train.py"


def command(program, *flags):
    """A program as a user starts it."""
    return [sys.executable, str(program), *map(str, flags)]


def run(program, *flags, cwd, status=0):
    """Run a program to its end; return what it prints."""
    done = subprocess.run(command(program, *flags), cwd=cwd, capture_output=True, text=True, timeout=200)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout
