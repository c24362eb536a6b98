"""Callbacks of the user's own, and those that cannot be had."""

import json

import pytest
from ray import tune

from experiments.run.callbacks import HOOKS, made
from tests.helpers.programs import TRAIN, run
from trainables.checks import ConfigError

FILE = """
import json, os
from ray import tune

class Rows(tune.Callback):
    def on_trial_result(self, iteration, trials, trial, result, **info):
        with open("heard", "a") as file:
            file.write(json.dumps([str(trial), result["training_iteration"]]) + "\\n")

class Broken(tune.Callback):
    def on_trial_result(self, **info):
        raise OSError("no\\nroute")

def mlflow():
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    from ray.air.integrations.mlflow import MLflowLoggerCallback
    return MLflowLoggerCallback(tracking_uri="file:./mlruns", experiment_name="pong")

def another(): return 3
def fails(): return 1 / 0
number = 3
"""
SMALL = ("pg", "--preset", "smoke", "--hidden-size", "8", "--eval-interval", "0", "--segment-length", "50")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "heard_of.py").write_text(FILE)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("another", "makes int; accepted is a ray.tune.Callback"),
        ("fails", "the call fails with ZeroDivisionError: division by zero (heard_of.py, line"),
        ("number", "3 cannot be called"),
        ("nope", "unknown name 'nope'"),
    ],
)
def test_what_makes_no_callback_is_refused_in_one_line(name, complaint):
    with pytest.raises(ConfigError) as error:
        made([f"heard_of:{name}"])
    assert complaint in str(error.value)


def test_all_hooks_of_tune_reach_it():
    assert {"setup", "on_trial_start", "on_trial_result", "on_experiment_end"} <= {*HOOKS}
    assert {*HOOKS} <= {*dir(tune.Callback)}


def test_a_callback_that_failed_ended_the_training(capsys):
    (guarded,) = made(["heard_of:Broken"])
    for _ in range(2):
        guarded.on_trial_result(iteration=1, trials=[], trial=None, result={})
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("--callback heard_of:Broken is left out from here on: on_trial_result fails with OSError")


@pytest.mark.slow
def test_a_callback_of_ones_own_hears_of_every_iteration_and_must_be_typed_again_to_resume(folder):
    flags = ("--callback", "heard_of:Rows", "--callback", "heard_of:Broken")
    said = run(TRAIN, *SMALL, "--iterations", "3", "--name", "first", *flags, cwd=folder)
    assert f"--extend results/first --iterations 6 {' '.join(flags)}\n" in said
    assert [json.loads(row) for row in (folder / "heard").read_text().splitlines()] == [["00000", n] for n in (1, 2, 3)]
    assert "heard_of" not in json.dumps(json.loads((folder / "results/first/experiment.json").read_text())["configs"])
    run(TRAIN, "pg", "--extend", "first", "--iterations", "4", cwd=folder)
    run(TRAIN, "pg", "--extend", "first", "--iterations", "5", "--callback", "heard_of:Rows", cwd=folder)
    heard = [json.loads(row)[1] for row in (folder / "heard").read_text().splitlines()]
    assert heard == [1, 2, 3, 5]


@pytest.mark.slow
def test_mlflow_has_settings_and_rows_in_its_file_store(folder, monkeypatch):
    pytest.importorskip("mlflow")
    run(TRAIN, *SMALL, "--iterations", "2", "--name", "first", "--callback", "heard_of:mlflow", cwd=folder)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"file:{folder}/mlruns")
    (trial,) = client.search_runs([client.get_experiment_by_name("pong").experiment_id])
    assert trial.data.params["hidden_size"] == "8"
    row = json.loads((folder / "results/first/00000/result.json").read_text().splitlines()[-1])
    assert trial.data.metrics["timesteps_total"] == row["timesteps_total"]
    history = client.get_metric_history(trial.info.run_id, "episode_reward_mean")
    assert [point.value for point in history][-1] == row["episode_reward_mean"]
