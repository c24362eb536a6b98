"""Several seeds of each configuration, as users run them: real Pong, and TRPO on CartPole."""

import os
import subprocess

import pytest

from experiments.ask.flags import RunFlags
from experiments.disk.decisions import read_decisions
from experiments.disk.experiments import read_experiment
from experiments.disk.folders import checkpoint_folders
from experiments.disk.spec import ExperimentSpec
from experiments.plan.draws import trial_seeds
from experiments.plan.learners import PG
from experiments.plan.resources import ClusterResources
from experiments.run.again import verify
from experiments.run.confirmation import fresh_seeds
from tests.helpers.programs import SWEEPS, call, command, done
from tests.helpers.small_experiments import iterations, newest_arrays, rows, same, trial_folders
from tests.helpers.trials import assert_same, untimed

pytestmark = [pytest.mark.slow, pytest.mark.ray]

PONG = ["--set=slots=2", "--set=hidden_size=10", "--set=segment_length=500", "--set=eval_interval=0"]
PONG += ["--set=updates_per_iteration=1", "--num-workers", 1, "--num-samples", 3, "--iterations", 4]


def on_cpus(count, program, *flags, cwd):
    """Run a program that sees so many CPUs."""
    cpus = sorted(os.sched_getaffinity(0))[:count]
    ended = subprocess.run(
        command(program, *flags),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus),
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.timeout(1500)
def test_seeds_of_the_best_mean_go_on_together_and_the_same_on_one_cpu_and_on_two(tmp_path, monkeypatch):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one CPU")
    output = on_cpus(2, SWEEPS["pg"], *PONG, "--seeds", 2, "--name", "two", cwd=tmp_path)
    on_cpus(1, SWEEPS["pg"], *PONG, "--seeds", 2, "--name", "one", cwd=tmp_path)
    two, one = tmp_path / "results" / "two", tmp_path / "results" / "one"
    same(two, one)
    spec, (decision,) = ExperimentSpec.read(two), read_decisions(two)
    assert spec.configurations == [[0, 1], [2, 3], [4, 5]]
    (first,) = trial_seeds(0, 1)
    assert spec.seeds == [first, first + 1] * 3
    means = [sum(decision.scored[trial] for trial in seeds) / 2 for seeds in spec.configurations]
    assert decision.kept == spec.configurations[means.index(max(means))]
    assert [iterations(trial)[-1] == 4 for trial in trial_folders(two)] == [i in decision.kept for i in range(6)]
    assert "3 configurations of 2 seeds each (6 trials) begin, 1 goes to the end" in output
    assert "Winner: " in output

    confirm = fresh_seeds(PG, RunFlags(), read_experiment(two), 1, 2, ClusterResources((1,))).spec
    assert confirm.seeds == [first + 2, first + 3]
    assert confirm.configuration_of == [0, 0]
    fork = ["--fork", "two", "--iterations", 6, "--dry-run"]
    monkeypatch.chdir(tmp_path)
    assert "3 configurations of 2 seeds each (6 trials)" in call("sweep_pong.py", *fork)[1]


def test_seeds_of_train_are_those_of_single_runs_bit_for_bit_and_are_extended_and_forked_together(
    ray_cluster, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    words = ["trpo", "--preset", "cartpole", "--num-workers", 1, "--iterations", 3]
    output = done("train.py", *words, "--seed", 4, "--seeds", 2, "--name", "both")
    both = tmp_path / "results" / "both"
    assert "with seed 4" in output
    assert "; their mean is " in output
    assert [trial.name for trial in trial_folders(both)] == ["00000_seed=4", "00001_seed=5"]
    done("train.py", *words, "--seed", 5, "--name", "only")
    (alone,), (_, trial) = trial_folders(tmp_path / "results" / "only"), trial_folders(both)
    assert alone.name == "00000"
    assert_same(newest_arrays(trial), newest_arrays(alone))
    assert [*map(untimed, rows(trial))] == [*map(untimed, rows(alone))]
    done("train.py", "trpo", "--extend", "both", "--iterations", 4)
    assert [iterations(trial)[-1] for trial in trial_folders(both)] == [4, 4]
    fork = ["--fork", "both", "--iterations", 8, "--max-kl", 0.02, "--checkpoint-frequency", 1, "--name", "fork"]
    done("train.py", "trpo", *fork)
    experiment = read_experiment(tmp_path / "results" / "fork")
    assert [(trial.config["seed"], trial.config["max_kl"]) for trial in experiment.trials] == [(4, 0.02), (5, 0.02)]
    assert experiment.spec.configuration_of == [0, 0]
    for trial in experiment.trials:
        kept = [path.name for path in checkpoint_folders(trial.folder)]
        assert (kept[0], len(kept) <= 4) == ("checkpoint_000000", True), "what it began with, the best two, the latest"
    assert verify(experiment, 0, 0, 1), "all four iterations, from what it began with"
    assert "cannot be played again" not in capsys.readouterr().out
