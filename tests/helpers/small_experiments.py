"""Small experiments, run in the test's own process on the shared Ray."""

import json
import os
import signal
from pathlib import Path

from ray import tune
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from experiments.ask.flags import RunFlags
from experiments.read.restored import restore
from experiments.record.folders import RECORD
from experiments.record.spec import ExperimentSpec
from experiments.run.tuner import make_tuner
from tests.helpers.trials import CARTPOLE, arrays_of, assert_same
from trainables import checkpoints
from trainables.config import TRPOConfig


class InterruptAt(tune.Callback):
    """Interrupts the experiment, as Ctrl-C does, when any trial comes to an iteration."""

    def __init__(self, iteration):
        self.iteration = iteration

    def on_trial_result(self, iteration, trials, trial, result, **info):
        if result["training_iteration"] == self.iteration:
            os.kill(os.getpid(), signal.SIGUSR1)


def small_spec(learner, configs, **changes):
    options = {"iterations": 4, "checkpoint_frequency": 2, "interval": 1, "swept": ["seed"]} | changes
    return ExperimentSpec(
        learner=learner, command=["test"], configs=[config.to_dict() for config in configs], **options
    )


def fit(learner, folder, spec, *callbacks):
    """Run or continue an experiment in ``folder``, without a program round it."""
    folder.mkdir(exist_ok=True)
    if not (folder / RECORD).exists():
        spec.write(folder)
    return make_tuner(learner, folder, spec, restore(folder, spec), callbacks).fit()


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
    states = {path: checkpoints.load_state(path).iteration for path in Path(trial).glob("checkpoint_*")}
    newest = max(states, key=states.get)
    return states[newest], arrays_of(newest)


SIX_ITERATIONS = small_spec("trpo", [TRPOConfig(**CARTPOLE)], iterations=6)
"""A trial of TRPO on CartPole, which plays in milliseconds."""


def assert_as_undisturbed(folder, undisturbed):
    for trial, expected in zip(trial_folders(folder), trial_folders(undisturbed), strict=True):
        assert iterations(trial) == iterations(expected) == [1, 2, 3, 4, 5, 6]
        curve = EventAccumulator(str(trial)).Reload().Scalars("episode_reward_mean")
        assert [point.step for point in curve] == [row["timesteps_total"] for row in rows(expected)]
        (iteration, arrays), (_, expected_arrays) = last_arrays(trial), last_arrays(expected)
        assert iteration == 6
        assert_same(arrays, expected_arrays)
