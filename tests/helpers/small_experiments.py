"""Small experiments, run in the test's own process on the shared Ray."""

import io
import json
import os
import signal
import time
from pathlib import Path

from PIL import Image
from ray import tune
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

from experiments.ask.flags import RunFlags
from experiments.disk.decisions import read_decisions
from experiments.disk.folders import RECORD
from experiments.disk.restored import restore
from experiments.disk.spec import ExperimentSpec
from experiments.run.draft import Draft
from experiments.run.session import Session
from experiments.run.tuner import make_tuner
from tests.helpers.trials import CARTPOLE, arrays_of, assert_same, untimed
from tests.helpers.written_experiments import rows
from trainables import checkpoints
from trainables.config import TRPOConfig


class InterruptAt(tune.Callback):
    """Sends a signal, once, when any trial comes to an iteration. At SIGUSR1 Tune by itself ends the experiment."""

    def __init__(self, iteration, number=signal.SIGUSR1):
        self.iteration, self.number, self.sent = iteration, number, False

    def on_trial_result(self, iteration, trials, trial, result, **info):
        if result["training_iteration"] == self.iteration and not self.sent:
            self.sent = True  # a second SIGINT would end this process at once
            os.kill(os.getpid(), self.number)


class TimeIsUpAt(tune.Callback):
    """The time budget ends when any trial comes to an iteration."""

    def __init__(self, iteration, stop):
        self.iteration, self.stop = iteration, stop

    def on_trial_result(self, iteration, trials, trial, result, **info):
        if result["training_iteration"] == self.iteration:
            self.stop.deadline = time.monotonic()

    def __getstate__(self):
        return {}


def small_spec(learner, configs, **changes):
    options = {"iterations": 4, "checkpoint_frequency": 2, "interval": 1, "swept": ["seed"]} | changes
    return ExperimentSpec(
        learner=learner, command=["test"], configs=[config.to_dict() for config in configs], **options
    )


def drafted(learner, spec, run, origin=()):
    """A draft with this specification, whose rungs and interval can be ones that no program would plan."""
    configs = [learner.config_class.from_dict(config) for config in spec.configs]
    draft = Draft(learner, run, spec.budget, configs, origin=origin)
    vars(draft)["spec"] = spec.but(fork_of=draft.spec.fork_of)
    return draft


def fit(learner, folder, spec, *callbacks):
    """Run or continue an experiment in ``folder``, without a program round it."""
    folder.mkdir(exist_ok=True)
    if not (folder / RECORD).exists():
        spec.write(folder)
    return make_tuner(Session(learner, folder, spec, callbacks=callbacks), restore(folder, spec)).fit()


def flags(storage_path, **changes):
    """Flags of a program that finds its Ray running."""
    return RunFlags(storage_path=str(storage_path), address="auto", **changes)


def trial_folders(experiment):
    return sorted(path for path in Path(experiment).iterdir() if path.is_dir() and path.name[:5].isdigit())


def iterations(trial):
    return [row["training_iteration"] for row in rows(trial)]


def last_arrays(trial):
    """The newest checkpoint's iteration and arrays."""
    states = {path: checkpoints.load_state(path).iteration for path in Path(trial).glob("checkpoint_*")}
    newest = max(states, key=states.get)
    return states[newest], arrays_of(newest)


def newest_arrays(trial):
    """The arrays of a trial's newest checkpoint, which need not be the one with most iterations."""
    return arrays_of([*checkpoints.numbered(Path(trial)).values()][-1])


SIX_ITERATIONS = small_spec("trpo", [TRPOConfig(**CARTPOLE)], iterations=6)
"""A trial of TRPO on CartPole, which plays in milliseconds."""


def three(**changes):
    """Three trials of which one goes on after two iterations, to the fourth; ``changes`` are of all settings.

    They can use three workers, and ask for one.
    """
    common = CARTPOLE | {"timesteps_per_batch": 3000} | changes
    configs = [TRPOConfig(**common | {"seed": seed, "max_kl": kl}) for seed, kl in enumerate((0.05, 0.001, 0.02))]
    return small_spec("trpo", configs, scheduler="halving", rungs=[2, 4], swept=["max_kl", "seed"])


def assert_as_undisturbed(folder, undisturbed):
    for trial, expected in zip(trial_folders(folder), trial_folders(undisturbed), strict=True):
        assert iterations(trial) == iterations(expected) == [1, 2, 3, 4, 5, 6]
        curve = EventAccumulator(str(trial)).Reload().Scalars("episode_score")
        assert [point.step for point in curve] == [row["timesteps_total"] for row in rows(expected)]
        (iteration, arrays), (_, expected_arrays) = last_arrays(trial), last_arrays(expected)
        assert iteration == 6
        assert_same(arrays, expected_arrays)


def same(left, right):
    """Whether two sweeps went the same way, to the last bit."""
    assert read_decisions(left) == read_decisions(right)
    for mine, other in zip(trial_folders(left), trial_folders(right), strict=True):
        assert_same(newest_arrays(mine), newest_arrays(other))
        assert [*map(untimed, rows(mine))] == [*map(untimed, rows(other))]


def hyperparameters(trial):
    """What TensorBoard's reader finds in a trial's folder."""
    content = EventAccumulator(str(trial)).Reload().SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    return plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams


def assert_tensorboard_shows(trial):
    """Of a trial that had its first evaluation, running or ended; returns its events."""
    events = EventAccumulator(str(trial)).Reload()
    learner = "pg" if "learning_rate" in json.loads((trial / "params.json").read_text()) else "trpo"
    tags = set(events.Tags()["scalars"])
    families = {"episode_score", "games", "policy", "value", "perf", "eval", "intervals"}
    assert {tag.split("/")[0] for tag in tags} == families
    assert "policy/entropy" in tags, "of both learners"
    assert "custom_scalars__config__" in events.Tags()["tensors"]
    game = events.Images("film/game")[0]
    assert game.step == events.Scalars("eval/return_sampled_mean")[0].step > 0
    assert Image.open(io.BytesIO(game.encoded_image_string)).n_frames > 1
    if learner == "pg":
        assert Image.open(io.BytesIO(events.Images("policy/neurons")[0].encoded_image_string)).format == "PNG"
    return events
