"""A program's task from its command line to its exit status, where no Ray is needed to tell."""

import pytest

from experiments.ask.budget import Budget
from experiments.plan.learners import PG
from experiments.record.spec import Confirm, ExperimentSpec
from experiments.run import confirm, lifecycle
from experiments.run.task import continuation, perform
from tests.helpers.small_experiments import flags
from tests.helpers.written_experiments import write_experiment
from trainables.checks import ConfigError

ASKED = Confirm(best=1, seeds=2)


def resumed(storage, name):
    return continuation(PG, flags(storage, resume=name), Budget(None))


def test_a_confirmation_that_cannot_be_run_was_left_out_with_status_0(tmp_path, monkeypatch, capsys):
    write_experiment(tmp_path, "sweep", "pg", [({}, [], "running")], planned=3, confirm=ASKED, ended="time budget")
    monkeypatch.setattr(lifecycle, "go_on", lambda *of: 0)
    assert perform(resumed(tmp_path, "sweep")) == 3
    assert capsys.readouterr().err == "--confirm was left out: no trial has a result\n"


@pytest.mark.parametrize("ended", [None, "time budget"])
def test_resuming_a_killed_confirmation_trained_its_time_limited_sweep_again(tmp_path, monkeypatch, ended):
    """So the scores moved that its choice was made by."""
    done = []
    monkeypatch.setattr(confirm.lifecycle, "go_on", lambda learner, folder, *of: done.append(folder.name) or 130)
    write_experiment(tmp_path, "sweep", "pg", [({}, [-20], "running")], planned=2, confirm=ASKED, ended=ended)
    write_experiment(tmp_path, "sweep-confirm", "pg", [({"seed": 3}, [-20], "running")], confirms="sweep")
    assert perform(resumed(tmp_path, "sweep")) == 130
    assert done == ["sweep-confirm"]


def test_an_extension_that_was_killed_goes_on_although_the_sweep_was_confirmed_before(tmp_path, monkeypatch):
    done, extended = [], [{"iterations": 5, "timesteps": None}]
    monkeypatch.setattr(lifecycle, "go_on", lambda learner, folder, *of: done.append(folder.name) or 130)
    write_experiment(tmp_path, "sweep", "pg", [({}, [-20], "running")], confirm=ASKED, extended=extended)
    write_experiment(tmp_path, "sweep-confirm", "pg", [({"seed": 3}, [-20], None)], confirms="sweep")
    assert perform(resumed(tmp_path, "sweep")) == 130
    assert done == ["sweep"]


def test_a_sweep_that_its_time_budget_ended_goes_on_if_no_confirmation_was_asked_for(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(lifecycle, "go_on", lambda learner, folder, *of: done.append(folder.name) or 0)
    write_experiment(tmp_path, "sweep", "pg", [({}, [-20], "running")], planned=2, ended="time budget")
    assert perform(resumed(tmp_path, "sweep")) == 0
    assert done == ["sweep"]


def test_a_confirmation_could_only_be_promised_when_a_sweep_began(tmp_path, monkeypatch):
    done, later = [], {"best": 1, "seeds": 3}
    folder = write_experiment(tmp_path, "sweep", "pg", [({}, [-20], None)], ended="all done")
    monkeypatch.setattr(confirm.lifecycle, "start", lambda learner, spec, run: (done.append(run.name) or 130, folder))
    assert perform(continuation(PG, flags(tmp_path, resume="sweep"), Budget(None), ASKED)) == 130
    assert done == ["sweep-confirm"]
    assert ExperimentSpec.read(folder).confirm == ASKED
    with pytest.raises(ConfigError, match="sweep promises the best 1 already; leave it out"):
        continuation(PG, flags(tmp_path, resume="sweep"), Budget(None), later)
    write_experiment(tmp_path, "other", "pg", [({}, [-20], None)], scheduler="pbt")
    with pytest.raises(ConfigError, match="other is a sweep of pbt"):
        continuation(PG, flags(tmp_path, resume="other"), Budget(None), later)
