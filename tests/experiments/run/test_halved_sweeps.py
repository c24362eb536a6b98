"""Halved sweeps that end early, go further, or lose trials: real Ray, and TRPO on CartPole."""

import json

import pytest

from experiments.ask.budget import Budget
from experiments.plan.learners import PG, TRPO
from experiments.read.experiments import read_experiment
from experiments.record.decisions import read_decisions
from experiments.record.spec import ExperimentSpec
from experiments.run import lifecycle
from tests.helpers.small_experiments import fit, flags, iterations, small_spec, three, trial_folders
from tests.helpers.trials import CARTPOLE
from trainables.config import PGConfig, TRPOConfig

pytestmark = [pytest.mark.slow, pytest.mark.ray]


def six(**changes):
    """Six trials, of which two go on."""
    configs = [TRPOConfig(**CARTPOLE | {"seed": seed, "max_kl": 0.01 * (seed + 1)}) for seed in range(6)]
    return small_spec("trpo", configs, scheduler="halving", **changes)


def test_a_round_without_time_is_not_begun_and_resume_begins_it(ray_cluster, tmp_path, capsys):
    spec = six(iterations=100_000, rungs=[2, 100_000], time_budget_s=120.0)
    status, folder = lifecycle.start(TRPO, spec, flags(tmp_path, name="short"))
    assert status == 0
    output = capsys.readouterr().out
    assert "The next round of 2 trials would take about" in output
    assert "Leader: 0000" in output
    (decision,) = read_decisions(folder)
    assert len(decision.kept) == 2
    assert all(iterations(trial) == [1, 2] for trial in trial_folders(folder))
    assert ExperimentSpec.read(folder).ended == "time budget"
    record = json.loads((folder / "experiment.json").read_text())
    (folder / "experiment.json").write_text(json.dumps(record | {"iterations": 4, "rungs": [2, 4]}))
    assert lifecycle.go_on(TRPO, folder, flags(tmp_path, resume="short"), None) == 0
    assert read_decisions(folder) == [decision]
    assert [len(iterations(trial)) == 4 for trial in trial_folders(folder)] == [i in decision.kept for i in range(6)]
    assert ExperimentSpec.read(folder).ended == "all done"
    output = capsys.readouterr().out
    assert "Winner: 0000" in output
    assert "Then it played 10 games each way" in output


def test_who_went_to_the_end_goes_further_and_nobody_else(ray_cluster, tmp_path):
    status, folder = lifecycle.start(TRPO, three(), flags(tmp_path, name="three"))
    assert status == 0
    (decision,) = read_decisions(folder)
    assert lifecycle.go_on(TRPO, folder, flags(tmp_path, extend="three"), Budget(6)) == 0
    (winner,) = decision.kept
    assert [iterations(trial)[-1] for trial in trial_folders(folder)] == [6 if i == winner else 2 for i in range(3)]
    assert ExperimentSpec.read(folder).rungs == [2, 6]


def test_a_trial_that_diverges_is_the_worst_and_blocks_nobody(ray_cluster, tmp_path):
    settings = {"hidden_size": 8, "slots": 0, "batch_size": 1, "num_workers": 1, "eval_interval": 0}
    rates = [1e30, 2e-3, 2e-3]
    configs = [PGConfig(**settings, learning_rate=rate, seed=seed) for seed, rate in enumerate(rates)]
    fit(PG, tmp_path / "diverged", small_spec("pg", configs, scheduler="halving", iterations=3, rungs=[2, 3]))
    experiment = read_experiment(tmp_path / "diverged")
    (decision,) = experiment.decisions
    assert experiment.trials[0].state == "diverged"
    assert decision.scores[0] is None
    assert len(decision.kept) == 1
    assert experiment.over
