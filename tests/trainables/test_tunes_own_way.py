"""The Trainables in anybody's ``tune.Tuner``: schedulers, searches, restoring, and what comes out of a ResultGrid."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ray import tune
from ray.tune.schedulers import PopulationBasedTraining
from safetensors.numpy import load_file

from experiments.analysis.contradictions import contradictions
from experiments.analysis.recorded import recorded
from experiments.disk.experiments import read_experiment
from tests.helpers.programs import ROOT, call, refused
from tests.helpers.trials import untimed
from trainables import PGConfig, PongPG

SMALL = {"slots": 2, "segment_length": 50, "updates_per_iteration": 1, "hidden_size": 4, "eval_interval": 0}
SMALL |= {"num_workers": 1, "half_life": 0}
SCORE = {"metric": "episode_score", "mode": "max"}

KILLED = f"""
import os, signal
from ray import tune
from trainables import PongPG

class Killed(tune.Callback):
    def on_trial_result(self, iteration, trials, trial, result, **info):
        if result["training_iteration"] == 3 and os.environ.get("KILL"):  # a restored Tuner has this callback, too
            os.kill(os.getpid(), signal.SIGKILL)

tune.Tuner(
    PongPG,
    param_space={SMALL | {"seed": 5}},
    run_config=tune.RunConfig(
        name="killed",
        storage_path=os.getcwd(),
        stop={{"training_iteration": 4}},
        checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=1),
        callbacks=[Killed()],
        verbose=0,
    ),
).fit()
"""


@pytest.fixture(autouse=True)
def tunes_own_loggers(monkeypatch):
    """Programs of ours turn them off."""
    monkeypatch.delenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", raising=False)


def run_config(folder, iterations):
    every = tune.CheckpointConfig(checkpoint_frequency=1)
    stop = {"training_iteration": iterations}
    return tune.RunConfig(name="mine", storage_path=str(folder), stop=stop, checkpoint_config=every, verbose=0)


@pytest.mark.slow
def test_the_pages_tuner_with_asha_and_optuna_restored_has_a_best_checkpoint_that_plays(
    ray_cluster, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        exec(block, names)
    assert not names["bred"].errors
    assert [result.metrics["training_iteration"] for result in names["bred"]] == [2, 2]
    grid = names["grid"]
    assert not grid.errors
    assert [result.metrics["timesteps_total"] for result in grid] == [800] * 3, "where ASHA ends them"
    assert len({result.config["learning_rate"] for result in grid}) == 3
    policy = names["policy"]
    assert policy.iteration == 2
    assert policy.config.learning_rate == names["best"].config["learning_rate"]
    observation, _ = policy.make_env().reset(seed=0)
    assert policy.act(observation) in (0, 2, 3)
    shown = {name: call("results.py", *name.split())[1] for name in ("list", "best mine", "table mine", "report mine")}
    assert re.search(r"^mine +finished +pg +3/3 ", shown["list"], re.MULTILINE)
    assert f"--learning-rate {best_of(shown['table mine'])}" in shown["best mine"]
    assert len(shown["table mine"].splitlines()) == 4
    report = (tmp_path / "results" / "mine" / "report.md").read_text(encoding="utf-8")
    assert "tune.Tuner.restore('results/mine', ...)" in report
    assert "Trials: 3 finished." in report
    assert "tune.Tuner.restore goes on with it" in refused("sweep_pong.py", "--resume", "mine")


def best_of(table):
    """The learning rate of the best trial in a table of CSV."""
    return max(csv.DictReader(table.splitlines()), key=lambda trial: float(trial["score_last"]))["config/learning_rate"]


def theta(checkpoint):
    return load_file(checkpoint / "arrays.safetensors")["theta"]


@pytest.mark.slow
def test_a_trial_that_copied_another_under_tunes_pbt_has_its_arrays_and_new_settings(
    ray_cluster, tmp_path, monkeypatch
):
    """The new learning rate leaves arrays as they were copied: learned, and so not what the copied seed begins with."""
    # Where a trial goes on after a pause Tune's logger takes the rows that were last saved, and would lose later ones
    # if that was between two rows. So Tune saves before the first one and at the end.
    monkeypatch.setenv("TUNE_GLOBAL_CHECKPOINT_S", "1000")
    grid = tune.Tuner(
        PongPG,
        param_space=SMALL | {"learning_rate": 1e-2, "seed": tune.grid_search([1, 2])},
        tune_config=tune.TuneConfig(
            **SCORE,
            scheduler=PopulationBasedTraining(
                time_attr="training_iteration",
                perturbation_interval=1,
                quantile_fraction=0.5,
                synch=True,
                hyperparam_mutations={"learning_rate": [1e-12]},
            ),
            reuse_actors=True,
        ),
        run_config=run_config(tmp_path, 2),
    ).fit()
    assert not grid.errors
    original, copy = sorted(grid, key=lambda result: -result.config["learning_rate"])
    assert copy.config == original.config | {"learning_rate": 1e-12}, "Tune copies all settings, the seed too"
    copied = theta(Path(original.path) / "checkpoint_000000")
    begun = PongPG.untrained(PGConfig.from_dict(original.config)).arrays["theta"]
    assert np.abs(copied - begun).max() > 1e-3
    np.testing.assert_allclose(theta(Path(copy.checkpoint.path)), copied, atol=1e-6)
    experiment = read_experiment(tmp_path / "mine")
    assert {trial.folder: trial.copied_at for trial in experiment.trials} == {
        Path(original.path): 0,
        Path(copy.path): 1,
    }
    assert str(experiment.spec.budget) == "2 iterations"
    assert all(recorded(experiment, trial).wrong == [] for trial in experiment.trials)
    assert contradictions(experiment) == []


@pytest.fixture(scope="module")
def rows_of_a_trial_alone(home, ray_cluster):
    trial = PongPG(config=SMALL | {"seed": 5})
    yield [trial.train() for _ in range(4)]
    trial.stop()


@pytest.mark.slow
def test_tuner_restore_after_a_kill_comes_to_the_rows_of_an_undisturbed_trial(rows_of_a_trial_alone, tmp_path):
    words = [sys.executable, "-c", KILLED]
    env = os.environ | {"KILL": "1", "TUNE_GLOBAL_CHECKPOINT_S": "0"}  # Tune writes its books after each iteration
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (result,) = tune.Tuner.restore(str(tmp_path / "killed"), PongPG).fit()
    assert result.metrics["iterations_since_restore"] < 4, "it went on from a checkpoint"
    lines = next((tmp_path / "killed").glob("*/result.json")).read_text().splitlines()
    rows = {row["training_iteration"]: row for row in map(json.loads, lines)}
    assert sorted(rows) == [1, 2, 3, 4]
    for expected in map(untimed, rows_of_a_trial_alone):
        names = expected.keys() - {"done", "hostname"}
        row = rows[expected["training_iteration"]]
        assert {name: row[name] for name in names} == {name: expected[name] for name in names}
