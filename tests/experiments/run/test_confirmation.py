"""A sweep's best are run again with fresh seeds, and what that says is right."""

import json
import re

import numpy as np
import pytest

from experiments.ask.flags import RunFlags
from experiments.disk.experiments import read_experiment
from experiments.disk.lock import exclusive
from experiments.disk.spec import ExperimentSpec
from experiments.plan.learners import PG, Learner, Pace
from experiments.plan.resources import ClusterResources
from experiments.run.confirmation import beside, fresh_seeds
from tests.helpers.programs import ROOT, SWEEPS, begin, call, refused, run
from tests.helpers.small_experiments import iterations, rows, trial_folders
from tests.helpers.trials import wait_until
from tests.helpers.written_experiments import forked_from, write_experiment

RESULTS = ROOT / "experiments" / "results.py"
SMALL = {"slots": 2, "segment_length": 1500, "updates_per_iteration": 1, "hidden_size": 10, "eval_interval": 0}
TWO = ClusterResources((2,))
SWEPT = [(0.97, 4, -19), (0.98, 5, -18)]
"""Gamma, seed and last score of each trial of the sweep."""


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory):
    """A real confirmation that was killed and went on; what it printed before, the list then, and what came last."""
    folder = tmp_path_factory.mktemp("confirmed")
    results = folder / "results"
    trials = [(SMALL | {"gamma": gamma, "seed": seed}, [-20, last], None) for gamma, seed, last in SWEPT]
    write_experiment(results, "sweep", "pg", trials, iterations=2, swept=["gamma"], ended="all done")
    program = begin(SWEEPS["pg"], "--confirm", "sweep", "--best", 1, "--seeds", 2, cwd=folder)

    def a_checkpoint():
        assert program.poll() is None, (folder / "log").read_text(encoding="utf-8")
        return [*results.glob("sweep-confirm/*/checkpoint_*/state.json")]

    wait_until(a_checkpoint, "no confirmation", seconds=120)
    program.kill()
    program.wait()
    listed = run(RESULTS, "list", cwd=folder)
    resume = re.search(r"Resume sweep-confirm:  python \S+ --resume (\S+)", listed)
    went_on = run(SWEEPS["pg"], "--resume", resume[1], cwd=folder)
    return results, (folder / "log").read_text(encoding="utf-8"), listed, went_on


@pytest.mark.ray
@pytest.mark.slow
def test_the_best_configuration_runs_again_with_seeds_that_the_sweep_did_not_use(confirmed):
    results, output, *_ = confirmed
    assert "1 configuration of 2 seeds each (2 trials) of 2 iterations" in output
    again = trial_folders(results / "sweep-confirm")
    configs = [json.loads((trial / "params.json").read_text(encoding="utf-8")) for trial in again]
    assert [config["seed"] for config in configs] == [6, 7]
    assert all(config.items() >= (SMALL | {"gamma": 0.98}).items() for config in configs)


@pytest.mark.ray
@pytest.mark.slow
def test_a_confirmation_that_was_killed_goes_on_by_its_own_name(confirmed):
    results, _, listed, output = confirmed
    assert re.search(r"^sweep-confirm\s+interrupted", listed, re.MULTILINE)
    assert "Going on with results/sweep-confirm" in output
    assert [iterations(trial) for trial in trial_folders(results / "sweep-confirm")] == [[1, 2]] * 2


@pytest.mark.ray
@pytest.mark.slow
def test_the_table_compares_the_sweeps_score_with_the_mean_of_the_fresh_seeds(confirmed):
    results, *_, output = confirmed
    before = max(rows(trial)[-1]["episode_score"] for trial in trial_folders(results / "sweep"))
    after = np.mean([rows(trial)[-1]["episode_score"] for trial in trial_folders(results / "sweep-confirm")])
    *_, last = (line for line in output.splitlines() if line.startswith("pg") and " to " in line)
    shown = [float(cell) for cell in re.findall(r"[-+]?\d+\.\d", last)]
    np.testing.assert_allclose([shown[0], shown[1], shown[4]], [before, after, before - after], atol=0.051)
    assert shown[2] <= shown[1] <= shown[3]
    assert f"report {results.name}/sweep {results.name}/sweep-confirm" in output


@pytest.mark.ray
@pytest.mark.slow
def test_results_reads_what_a_real_confirmation_wrote(confirmed, monkeypatch):
    results, *_ = confirmed
    monkeypatch.chdir(results.parent)
    output = call("results.py", "list")[1]
    assert re.search(r"^sweep-confirm\s+finished\s+pg\s+2/2", output, re.MULTILINE)
    assert call("results.py", "report", "sweep", "sweep-confirm")[0] == 0
    markdown = (results / "sweep" / "report.md").read_text(encoding="utf-8")
    assert "Was `sweep` lucky?" in markdown
    assert "(fresh seeds)" in markdown
    assert "ray 2." in markdown
    assert "Code: git revision" in markdown


def drafted(sweep, best=1, seeds=2):
    return fresh_seeds(PG, beside(sweep, RunFlags()), sweep, best, seeds, ClusterResources((8,)))


def test_the_confirmation_of_a_fork_begins_untrained(tmp_path):
    origin = forked_from("other", ({}, 4), ({}, 4))
    trials = [({"seed": 1}, [-20, -19], None), ({"seed": 2}, [-20, -18], None)]
    again = drafted(read_experiment(write_experiment(tmp_path, "fork", "pg", trials, fork_of=origin)))
    assert [config.seed for config in again.configs] == [3, 4]
    assert again.spec.fork_of is None


def test_settings_that_differ_by_what_a_fork_went_on_with_are_confirmed_once(tmp_path):
    origin = forked_from("other", ({"gamma": 0.9}, 4), ({"gamma": 0.8}, 4))
    trials = [({"seed": 1}, [-20, -19], None), ({"seed": 2}, [-20, -18], None)]
    again = drafted(read_experiment(write_experiment(tmp_path, "fork", "pg", trials, fork_of=origin)), best=2)
    assert [config.seed for config in again.configs] == [3, 4]


def test_on_a_smaller_machine_a_confirmation_has_fewer_workers(tmp_path):
    folder = write_experiment(tmp_path, "sweep", "pg", [({"num_workers": 8, "seed": 1}, [-20, -19], None)])
    again = fresh_seeds(PG, beside(read_experiment(folder), RunFlags()), read_experiment(folder), 1, 2, TWO)
    assert [config.num_workers for config in again.configs] == [2, 2]


def test_a_confirmation_has_of_its_sweep_what_is_named_and_nothing_else(tmp_path):
    trials = [({"gamma": gamma, "seed": seed}, [-20, -19], None) for gamma in (0.9, 0.95) for seed in (1, 2)]
    everything = {
        "timesteps": 10**6,
        "checkpoint_frequency": 7,
        "interval": 2,
        "keep_checkpoints": 5,
        "scheduler": "halving",
        "rungs": [1000, 10**6],
        "max_concurrent": 3,
        "time_budget_s": 60.0,
        "confirms": "other",
        "extended": [{"iterations": 9, "timesteps": None}],
        "ended": "all done",
        "storage_uri": tmp_path.as_uri(),
        "learner_sha256": ["0" * 64],
        "fork_of": forked_from("other", *[({}, 4)] * 4).model_dump(),
        "configuration_of": [0, 0, 1, 1],
        "drawn": 2,
        "space": {"gamma": "0.9,0.95"},
        "preset": {"slots": 2},
        "baseline": {"gamma": 0.95},
    }
    sweep = read_experiment(write_experiment(tmp_path, "sweep", "pg", trials, swept=["seed", "gamma"], **everything))
    entries = sweep.spec.model_dump().keys()
    assert sweep.spec.model_fields_set == entries, "each entry has a value here"
    again = drafted(sweep, seeds=3).spec
    same = {name for name in entries if getattr(again, name) == getattr(sweep.spec, name)}
    plan = {"learner", "iterations", "timesteps", "space", "preset", "baseline"}
    assert same == plan | {"checkpoint_frequency", "keep_checkpoints", "max_concurrent", "storage_uri"}
    assert (again.confirms, again.scheduler, again.configuration_of) == ("sweep", "fifo", [0, 0, 0, 1, 1, 1])
    assert [config["gamma"] for config in again.configs] == [0.9] * 3 + [0.95] * 3, "and the baseline, always"


@pytest.fixture
def storage(tmp_path, monkeypatch):
    """Sweeps called "ended", of three configurations of which two have results, "open" and "empty"."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Learner, "pace", lambda *of: Pace(1e-4))  # no games are played
    trials = [({"gamma": gamma}, [score], "running") for gamma, score in ((0.9, -20), (0.8, -19))]
    for name, ended in (("ended", "time budget"), ("open", "interrupted")):
        write_experiment(tmp_path / "results", name, "pg", trials, planned=3, iterations=4, ended=ended)
    write_experiment(tmp_path / "results", "empty", "pg", [({}, [], "running")], planned=3, ended="time budget")
    return tmp_path / "results"


def test_the_plan_of_a_confirmation_says_what_runs_and_where(storage):
    status, output, complaint = call("sweep_pong.py", "--confirm", "ended", "--best", 1, "--dry-run")
    assert (status, complaint) == (0, "")
    assert "1 configuration of 3 seeds each (3 trials) of 4 iterations" in output
    assert "gamma=0.8" in output
    assert "The best of ended, and its baseline if it has one, train again" in output
    assert "in results/ended-confirm" in output
    assert "--time-budget-s" not in output
    assert "stopped early" not in output, "nothing stops its trials"
    named = call("sweep_pong.py", "--confirm", "results/ended", "--seeds", 2, "--name", "other", "--dry-run")[1]
    assert "2 configurations of 2 seeds each (4 trials)" in named
    assert "in results/other" in named
    assert sorted(path.name for path in storage.iterdir()) == ["empty", "ended", "open"]


def test_what_cannot_be_confirmed_is_refused_with_what_to_do_instead(storage):
    def said(name):
        return refused("sweep_pong.py", "--confirm", name)

    assert "it is interrupted, and has not ended; --resume open goes on with it" in said("open")
    assert "no trial of it has a result; --resume empty goes on with it" in said("empty")
    with exclusive(storage / "ended"):
        assert "it is running; type this when it has ended" in said("ended")
    write_experiment(storage, "ended-confirm", "pg", [({}, [-20], None)], confirms="ended")
    assert "--confirm ended --seeds N --name NAME runs more seeds" in said("ended-confirm")
    assert "--resume ended-confirm continues it" in said("ended")


def test_an_older_sweeps_promise_is_forgotten_and_its_confirmation_begun_by_name(storage):
    record = storage / "ended" / "experiment.json"
    older = json.loads(record.read_text(encoding="utf-8")) | {"confirm": {"best": 1, "seeds": 2}}
    record.write_text(json.dumps(older), encoding="utf-8")
    assert "confirm" not in ExperimentSpec.read(storage / "ended").model_dump()
    assert re.search(r"^ended +time is up", call("results.py", "list")[1], re.MULTILINE)
    assert call("sweep_pong.py", "--confirm", "ended", "--dry-run")[0] == 0
