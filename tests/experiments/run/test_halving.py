"""Successive halving: who goes on depends on results alone. Real Ray, and TRPO on CartPole, which plays in
milliseconds."""

import json
import os
import signal

import pytest
from ray import tune

from experiments.plan.learners import TRPO
from experiments.read.experiments import read_experiment
from experiments.record.decisions import read_decisions
from experiments.run.halving import best
from tests.helpers.small_experiments import InterruptAt, fit, iterations, rows, same, three, trial_folders


def test_the_best_go_on_and_of_equals_the_first():
    assert best([1.0, 3.0, 2.0], 2) == [1, 2]
    assert best([1.0, None, 1.0], 1) == [0], "who failed is no better than anybody"
    assert best([None, None], 1) == []


@pytest.fixture(scope="module")
def halved(ray_cluster, tmp_path_factory):
    """On as many CPUs as all trials ask for."""
    folder = tmp_path_factory.mktemp("storage") / "halved"
    assert fit(TRPO, folder, three()).num_errors == 0
    return folder


def test_one_of_three_goes_on_and_the_others_are_stopped(halved):
    (decision,) = read_decisions(halved)
    (winner,) = decision.kept
    scores = [rows(trial)[1]["episode_reward_mean"] for trial in trial_folders(halved)]
    assert (decision.at, decision.scores) == (2, scores)
    assert scores[winner] == max(scores)
    assert [iterations(trial)[-1] for trial in trial_folders(halved)] == [4 if i == winner else 2 for i in range(3)]
    experiment = read_experiment(halved)
    assert [trial.state for trial in experiment.trials] == ["finished" if i == winner else "stopped" for i in range(3)]
    assert experiment.over
    assert experiment.best is experiment.trials[winner]


def test_a_core_idled_while_trials_that_ask_for_one_worker_ran_alone(halved):
    """There are four."""
    (decision,) = read_decisions(halved)
    workers = [[row["perf/workers"] for row in rows(trial)] for trial in trial_folders(halved)]
    assert sorted(sum(found[:2], 0) for found in workers) == [2, 2, 4], workers
    assert workers[decision.kept[0]][2:] == [3, 3], "as many as it can use"
    assert all(json.loads((trial / "params.json").read_text())["num_workers"] == 1 for trial in trial_folders(halved))


class KillOnce(tune.Callback):
    """Kills the process of the first trial that reports."""

    killed = None

    def on_trial_result(self, iteration, trials, trial, result, **info):
        if not self.killed:
            self.killed = trial
            os.kill(result["pid"], signal.SIGKILL)


def test_the_winner_depended_on_how_many_trials_ran_at_once_and_on_what_befell_them(halved, tmp_path):
    """As ASHA's does, which promotes whoever comes first. A trial of four CPUs has Ray for itself here; the sweep is
    interrupted, at which Tune gave up because of the trials that had not begun, and then a trial's process is killed.
    """
    folder, kill, spec = tmp_path / "one", KillOnce(), three(cpus_per_worker=4.0)
    fit(TRPO, folder, spec, InterruptAt(1))
    assert read_decisions(folder) == []
    assert fit(TRPO, folder, spec, kill).num_errors == 0
    assert kill.killed.num_failures == 1
    same(folder, halved)
