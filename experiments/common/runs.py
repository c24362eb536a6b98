"""The ends that sweeps and single runs have in common: resume an experiment, run it, sum it up."""

from pathlib import Path

from ray import tune

from experiments.common import folders
from experiments.common.console import summarise
from experiments.common.flags import RunFlags
from experiments.common.launch import restored_tuner, start_ray
from experiments.common.learners import Learner
from experiments.common.lock import exclusive


def resume(learner: Learner, run: RunFlags) -> int:
    """Continue the experiment that ``--resume`` names; return the program's exit status.

    Raises ConfigError if there is no such experiment of this learner, nothing in it to continue, or if another program
    runs it.
    """
    folder = folders.find(run.storage_path, run.resume or "", learner.name)
    with exclusive(folder):
        start_ray(run.address, run.verbose)
        print(f"Resuming {folders.display(folder)}")
        return fit(restored_tuner(learner, folder), folder)


def fit(tuner: tune.Tuner, folder: Path) -> int:
    """Run to the end and print what came out; return the program's exit status."""
    print(f"Watch:   tensorboard --logdir {folders.display(folder)}\n", flush=True)
    return summarise(tuner.fit(), folder)
