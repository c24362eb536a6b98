"""Small experiments, run in the test's own process on the shared Ray."""

import json
import os
import signal
from pathlib import Path

import numpy as np
from ray import tune

from experiments.ask.flags import RunFlags
from experiments.read.restored import restore
from experiments.record.spec import ExperimentSpec
from experiments.run.tuner import make_tuner
from trainables import checkpoints


class InterruptAt(tune.Callback):
    """Interrupts the experiment, as Ctrl-C does, when any trial comes to an iteration."""

    def __init__(self, iteration):
        self.iteration = iteration

    def on_trial_result(self, iteration, trials, trial, result, **info):
        if result["training_iteration"] == self.iteration:
            os.kill(os.getpid(), signal.SIGUSR1)


def small_record(learner, configs, **changes):
    options = {"iterations": 4, "checkpoint_frequency": 2, "interval": 1, "swept": ["seed"]} | changes
    return ExperimentSpec(
        learner=learner, command=["test"], configs=[config.to_dict() for config in configs], **options
    )


def fit(learner, folder, record, *callbacks):
    """Run or continue an experiment in ``folder``, without a program round it."""
    folder.mkdir(exist_ok=True)
    if not (folder / "experiment.json").exists():
        (folder / "experiment.json").write_text(json.dumps(record.to_dict()))
    return make_tuner(learner, folder, record, restore(folder, record), callbacks).fit()


def flags(storage_path, **changes):
    """Flags of a program that finds its Ray running."""
    return RunFlags(storage_path=str(storage_path), address="auto", **changes)


def trial_folders(experiment):
    return sorted(path for path in Path(experiment).iterdir() if path.is_dir() and path.name[:5].isdigit())


def rows(trial):
    return [json.loads(line) for line in (Path(trial) / "result.json").read_text().splitlines()]


def iterations(trial):
    return [row["training_iteration"] for row in rows(trial)]


def last_arrays(trial):
    """The newest checkpoint's iteration and arrays."""
    states = {path: checkpoints.load_state(path)["iteration"] for path in Path(trial).glob("checkpoint_*")}
    newest = max(states, key=states.get)
    return states[newest], dict(np.load(newest / "arrays.npz"))
