"""How an experiment ends: its time budget, Tune's giving up, and what is noted of it. Without Ray."""

import signal

import pytest

from experiments.ask.budget import Budget
from experiments.ask.flags import RunFlags
from experiments.plan.learners import PG
from experiments.plan.resources import ClusterResources
from experiments.record.spec import ExperimentSpec
from experiments.run import fitting, lifecycle
from tests.helpers.small_experiments import flags
from tests.helpers.written_experiments import write_experiment
from trainables.checks import ConfigError


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """An experiment of three trials, of which one was begun, and what it was asked to do."""
    monkeypatch.chdir(tmp_path)
    folder = write_experiment(tmp_path, "sweep", "pg", [({}, [-20], "running")], planned=3, time_budget_s=100.0)
    return folder, ExperimentSpec.read(folder)


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = [1000.0]
    monkeypatch.setattr(lifecycle.time, "monotonic", lambda: now[0])
    return now


def test_each_of_three_restarts_had_a_whole_time_budget(interrupted, clock, monkeypatch, capsys):
    folder, spec = interrupted
    given = []

    def give_up(learner, folder, spec, signals, callbacks, verbose):
        given.append(spec.time_budget_s)
        clock[0] += 40
        raise RuntimeError("Caught unexpected exception")

    monkeypatch.setattr(fitting, "_fit", give_up)
    lifecycle._run(PG, folder, spec, [], RunFlags())
    assert given == [100, 60, 20]
    assert ExperimentSpec.read(folder).ended == "time budget"
    assert ExperimentSpec.read(folder).time_budget_s == 100, "a later --resume has a whole one"
    given.clear()
    lifecycle._run(PG, folder, spec.but(time_budget_s=None), [], RunFlags())
    assert given == [None] * 4
    assert ExperimentSpec.read(folder).ended == "gave up"
    assert "Ray Tune gave up: Caught unexpected exception" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("took", "stopped", "ended", "status"),
    [(99, False, "all done", 0), (101, False, "time budget", 0), (50, True, "interrupted", 130)],
)
def test_why_an_experiment_ended_is_noted(interrupted, clock, monkeypatch, took, stopped, ended, status):
    folder, spec = interrupted

    def fit(learner, folder, spec, signals, callbacks, verbose):
        clock[0] += took
        if stopped:
            signals.received = signal.SIGINT

    monkeypatch.setattr(fitting, "_fit", fit)
    assert lifecycle._run(PG, folder, spec, [], RunFlags()) == status
    assert ExperimentSpec.read(folder).ended == ended


def test_an_extension_whose_home_is_out_of_reach_is_not_recorded(tmp_path, monkeypatch):
    """It stayed in the record, and the same command was refused afterwards."""
    folder = write_experiment(tmp_path, "short", "pg", [({}, [-20] * 10, None)])
    before = ExperimentSpec.read(folder)

    def write(spec, folder):
        spec.write(folder)
        raise OSError("no route")

    monkeypatch.setattr(lifecycle, "_write", write)
    monkeypatch.setattr(lifecycle, "start_ray", lambda *of: ClusterResources((4,)))
    monkeypatch.setattr(lifecycle, "require_shared", lambda *of: None)
    with pytest.raises(ConfigError, match="cannot be changed: no route"):
        lifecycle.resume(PG, flags(tmp_path, extend="short"), Budget(20))
    assert ExperimentSpec.read(folder) == before
