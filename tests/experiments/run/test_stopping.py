"""A stop that is asked for, by a signal or a time budget, loses no iteration that has a row."""

import math
import signal

import pytest

from experiments.disk.experiments import read_experiment
from experiments.disk.restored import describe, restore
from experiments.plan.learners import TRPO
from experiments.run.session import Session
from experiments.run.stopping import Stop, StopSignals
from experiments.run.tuner import fit_once, make_tuner
from experiments.show.summary import summarise
from tests.helpers.small_experiments import InterruptAt, TimeIsUpAt, iterations, last_arrays, small_spec, trial_folders
from tests.helpers.trials import CARTPOLE
from trainables.config import TRPOConfig

ENDLESS = 100_000
RUNS = {
    "train.py": {},
    "fifo": {"seeds": 3},  # of which two have a core
    "halving": {"seeds": 3, "scheduler": "halving", "rungs": [2, ENDLESS - 1, ENDLESS]},
    "asha": {"seeds": 2, "scheduler": "asha"},
}


def endless(seeds=1, **changes):
    """Trials that save at no iteration of their own, with two cores each, where there are four."""
    configs = [TRPOConfig(**CARTPOLE | {"seed": seed, "cpus_per_worker": 2.0}) for seed in range(seeds)]
    interval = {"iterations": ENDLESS, "checkpoint_frequency": ENDLESS, "interval": ENDLESS}
    return small_spec("trpo", configs, **interval | changes)


def interrupted(folder, spec, callback):
    """Run an experiment until a callback sends a signal."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    folder.mkdir()
    spec.write(folder)
    try:
        fit_once(Session(TRPO, folder, spec, callbacks=[callback]))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return read_experiment(folder, running=False)


def assert_all_saved(folder):
    for trial in trial_folders(folder):
        played = iterations(trial) if (trial / "result.json").is_file() else []
        if played:
            assert last_arrays(trial)[0] == played[-1]


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_a_signal_saves_the_last_iteration_of_every_trial(run, ray_cluster, tmp_path, capsys):
    experiment = interrupted(tmp_path / "stopped", endless(**RUNS[run]), InterruptAt(5, signal.SIGINT))
    assert experiment.state == "interrupted"
    assert max(trial.iterations for trial in experiment.trials) >= 5
    assert_all_saved(experiment.folder)
    summarise(experiment)
    assert "later ones are on none" not in capsys.readouterr().out


@pytest.mark.slow
def test_the_end_of_the_time_budget_leaves_nothing_to_be_played_again(ray_cluster, tmp_path):
    spec, folder, stop = endless(**RUNS["fifo"]), tmp_path / "spent", Stop(StopSignals(), math.inf)
    folder.mkdir()
    spec.but(ended="time budget").write(folder)
    make_tuner(Session(TRPO, folder, spec, callbacks=[TimeIsUpAt(5, stop)]), {}, stop).fit()
    experiment = read_experiment(folder, running=False)
    assert {trial.state for trial in experiment.trials} == {"time is up"}
    assert max(trial.iterations for trial in experiment.trials) >= 5
    assert_all_saved(folder)
    assert "played again" not in "".join(describe(restore(folder, spec)))
