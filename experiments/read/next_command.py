"""The command that goes on with an experiment."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from experiments.read.restored import all_over, restore
from experiments.record.folders import display
from experiments.record.spec import ExperimentSpec

PROGRAMS = Path(__file__).parents[1]


def next_command(folder: Path, spec: ExperimentSpec) -> str:
    """A line with the command that does what is left to do, or, where nothing is, gives as much again."""
    if not all_over(restore(folder, spec), spec):
        sweep = folder.with_name(spec.confirms or folder.name)  # a confirmation is resumed by its sweep
        return f"Resume:  {continue_command(spec.command, '--resume', sweep)}"
    budget = spec.budget
    more = [f"--{budget.unit}", str(2 * budget.limits[budget.time_attr])]
    return f"Extend:  {continue_command(spec.command, '--extend', folder, *more)}"


def continue_command(command: Sequence[str], flag: str, folder: Path, *more: str) -> str:
    """``python experiments/train.py pg --resume results/x``: the program that started an experiment, with other flags.

    ``command`` is the specification's: the program's file name, the learner where it is train.py, and flags.
    """
    program, *words = command
    learner = [word for word in words[:1] if not word.startswith("-")]
    return shlex.join(["python", display(PROGRAMS / program), *learner, flag, display(folder), *more])
