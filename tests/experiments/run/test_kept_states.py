"""A resume changes the state of no trial that it leaves as it is, and plays the others. Real Ray, no game of Pong."""

import json

import pytest

from experiments.disk.decisions import Decision, write_decisions
from experiments.disk.experiments import read_experiment
from experiments.disk.restored import plays_on, restore
from experiments.disk.spec import ExperimentSpec
from experiments.plan.learners import TRPO
from experiments.run.tune_trials import state_now
from tests.helpers.small_experiments import fit, trial_folders
from tests.helpers.trials import CARTPOLE
from tests.helpers.written_experiments import write_experiment, write_policies

pytestmark = [pytest.mark.slow, pytest.mark.ray]

ERROR = "RuntimeError: no luck"
SETTINGS = CARTPOLE | {"hidden_sizes": "8"}


def diverge(trial):
    """Let a trial's last row say that it diverged, which ended it."""
    *rows, last = (trial / "result.json").read_text(encoding="utf-8").splitlines()
    text = json.dumps(json.loads(last) | {"diverged": 1, "done": True})
    (trial / "result.json").write_text("\n".join([*rows, text]) + "\n", encoding="utf-8")


@pytest.fixture
def ended(tmp_path):
    """A halved sweep of trials that have ended in every way: their states, in order, are the second value."""
    trials = [([20.0] * 4, None), ([20.0] * 3, "running"), ([20.0] * 3, None), ([10.0] * 2, "running"), ([9.0], ERROR)]
    states = ["finished", "diverged", "stopped", "stopped", "failed"]
    seeds = [(SETTINGS | {"seed": seed}, returns, ending) for seed, (returns, ending) in enumerate(trials)]
    record = {"scheduler": "halving", "rungs": [2, 4], "iterations": 4, "swept": ["seed"]}
    folder = write_experiment(tmp_path, "halved", "trpo", seeds, **record)
    write_decisions(folder, [Decision(at=2, scores=[20.0, 20.0, 20.0, 10.0, None], kept=[0, 1, 2])])
    for trial, (returns, _) in zip(trial_folders(folder), trials, strict=True):
        write_policies(trial, "trpo", {len(returns): returns[-1]})
    diverge(trial_folders(folder)[1])
    return folder, states


def test_a_trial_that_stays_as_it_is_keeps_its_state_through_a_resume(ray_cluster, ended):
    folder, states = ended
    spec = ExperimentSpec.read(folder)
    before = read_experiment(folder)
    assert [trial.state for trial in before.trials] == states
    assert not before.trials_to_play
    assert not plays_on(restore(folder, spec), spec)
    results = fit(TRPO, folder, spec)
    after = read_experiment(folder)
    assert [trial.state for trial in after.trials] == states
    for trial, same in zip(after.trials, before.trials, strict=True):
        assert [*trial.rows] == [*same.rows], "nothing was played"
    assert after.trials[4].error == ERROR
    assert not plays_on(restore(folder, spec), spec)
    live = [state_now(trial, spec.budget) for trial in results._experiment_analysis.trials]
    assert live == states, "the table that follows the trials says the same"


def test_a_trial_that_failed_is_tried_again_by_a_resume_and_then_has_not_failed(ray_cluster, tmp_path):
    folder = write_experiment(tmp_path, "sweep", "trpo", [(SETTINGS, [], ERROR)], iterations=2)
    (trial,) = read_experiment(folder).trials
    assert (trial.state, trial.goes_on) == ("failed", True)
    fit(TRPO, folder, ExperimentSpec.read(folder))
    (trial,) = read_experiment(folder, running=False).trials
    assert (trial.state, trial.iterations, trial.error) == ("finished", 2, None)
    assert (trial.folder / "error.txt").is_file(), "which stays"
