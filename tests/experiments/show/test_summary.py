"""What a program prints at its end: read from the experiment's folder, where nothing is unpickled."""

import dataclasses
import datetime
import json
import pickle
import re
from pathlib import Path

import pytest
from ray import tune

from experiments.disk.decisions import Decision, write_decisions
from experiments.disk.experiments import read_experiment
from experiments.disk.lock import exclusive
from experiments.plan.draws import baseline_of, draw, own_values
from experiments.plan.learners import LEARNERS, TRPO
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import space_of
from experiments.plan.trial_names import number_of, trial_name
from experiments.run import lifecycle, tuner
from experiments.show.endings import ending
from experiments.show.summary import summarise
from tests.helpers.faults import fail, faulty
from tests.helpers.small_experiments import drafted, flags, small_spec, trial_folders
from tests.helpers.trials import CARTPOLE, Trap
from tests.helpers.written_experiments import write_checkpoint, write_experiment
from trainables.config import TRPOConfig


def test_the_summary_shows_every_trial_the_best_one_and_what_failed(tmp_path, capsys):
    trials = [({}, [-20, -19], None), ({"seed": 1}, [-20, -12], None), ({"seed": 2}, [-20], "RuntimeError: no <luck>")]
    folder = write_experiment(tmp_path, "some sweep", "pg", [*trials, ({"seed": 3}, [-20], "cut")])
    write_checkpoint(folder / "00001_seed=1", "pg", 1, -20.0, 0)
    with exclusive(folder):  # as the program does that prints it
        summarise(read_experiment(folder, running=False))
    output, errors = capsys.readouterr()
    rows = {line.split()[0]: line.split()[1:4] for line in output.splitlines() if line.startswith("0000")}
    assert rows == {
        "00001_seed=1": ["stopped", "2", "2,000"],
        "00000_seed=0": ["stopped", "2", "2,000"],
        "00002_seed=2": ["failed", "1", "1,000"],
        "00003_seed=3": ["interrupted", "1", "1,000"],
    }
    assert "Best trial: 00001_seed=1; its latest games returned -12.0\n" in output
    assert re.search(
        r"Checkpoint: \S*some sweep/00001_seed=1/checkpoint_000001, of iteration 1; later ones are on none", output
    )
    assert errors == "Failed: 00002_seed=2: RuntimeError: no <luck>\n"
    assert re.search(r"report '\S*some sweep'\n", output)


def test_without_failures_nothing_is_said_of_errors_and_without_results_there_is_no_best(tmp_path, capsys):
    for name, returns, end in (("good", [-20], None), ("empty", [], "running")):
        write_experiment(tmp_path, name, "pg", [({}, returns, end)])
    summarise(read_experiment(tmp_path / "good"))
    assert "Failed" not in capsys.readouterr().err
    summarise(read_experiment(tmp_path / "empty"))
    output = capsys.readouterr().out
    assert "Best trial" not in output
    assert "Play:" not in output, "there is no checkpoint"
    assert "Report:" not in output, "its page would be empty"
    assert "Look:" not in output, "and so would TensorBoard's"
    write_checkpoint(tmp_path / "empty" / "00000_seed=0", "pg", 1, -20.0, 0)
    summarise(read_experiment(tmp_path / "empty"))
    assert re.search(r"Play: .*watch.py \S*empty\n", capsys.readouterr().out)


def test_a_trial_that_diverged_before_a_game_ended_had_no_return(tmp_path):
    folder = write_experiment(tmp_path, "young", "pg", [({}, [-21.0, -21.0], "running")])
    path = folder / "00000_seed=0" / "result.json"
    first, second = map(json.loads, path.read_text().splitlines())
    rows = first | {"episodes_total": 0}, second | {"episodes_total": 0, "diverged": 1.0, "done": True}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (trial,) = read_experiment(folder).trials
    assert ending(trial) == "it diverged, which counts as -21.0; before, no game had ended"


def test_the_summary_says_how_long_the_sweep_took_and_the_sum_of_its_training(tmp_path, capsys):
    folder = write_experiment(tmp_path, "sweep", "pg", [({"seed": seed}, [-20], None) for seed in (0, 1)])
    began = datetime.datetime.fromisoformat(read_experiment(folder).spec.origin.started).timestamp()
    for path in folder.glob("0*/result.json"):
        path.write_text(path.read_text().replace('"done"', f'"timestamp": {began + 30}, "done"'))
    summarise(read_experiment(folder))
    assert "Took:    30 s; training, summed over the trials: 4 s\n" in capsys.readouterr().out


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_tables_of_a_default_sweep_are_no_wider_than_80_columns(learner, tmp_path, capsys):
    cpus = ClusterResources((8,))
    space = space_of(learner, "default", {}, cpus)
    own = own_values(learner, space, cpus)
    configs, swept = draw(learner, space, 12, 0, cpus, own)
    trials = [(config.to_dict(), [-20, -10.5 - index], "running") for index, config in enumerate(configs)]
    record = {"scheduler": "halving", "rungs": [300_000, 999_000, 4_200_000], "timesteps": 4_200_000}
    record["baseline"] = baseline_of(own, swept)
    folder = write_experiment(tmp_path, "sweep", learner.name, trials, swept=swept, iterations=None, **record)
    scores = [-10.5 - index for index in range(12)]
    write_decisions(folder, [Decision(at=300_000, scores=scores, kept=[0, 1, 2, 3])])
    for index, config in enumerate(configs):
        trial = folder / f"{index:05d}_seed={config.seed}"
        result = trial / "result.json"
        result.write_text(result.read_text().replace(": 2000,", ": 4200000,").replace(": 4.0,", ": 1740.0,"))
        trial.rename(folder / trial_name(number_of(index), config.to_dict(), swept, record["baseline"]))
    summarise(read_experiment(folder, running=False))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    tables = [line for line in lines if re.match(r"trial |at agent steps | *[\d,]+ +\d+ of |\d{5}_", line)]
    assert len(tables) == 1 + 12 + 1 + 1
    assert tables[1].startswith("00000_baseline_w=2 ")
    assert "4,200,000 29 min" in tables[1]
    assert max(map(len, tables)) <= 80


class PlantErrorPickle(tune.Callback):
    """Puts a bomb where Ray keeps a failed trial's error, as somebody does whose file cannot be overwritten."""

    def __init__(self, trace):
        self.trace = trace

    def on_trial_error(self, iteration, trials, trial, **info):
        Path(trial.pickled_error_file).write_bytes(pickle.dumps(Trap(self.trace)))


@pytest.mark.slow
@pytest.mark.ray
def test_a_failed_trial_is_in_the_summary_beneath_a_uri_too_and_its_error_pkl_is_never_opened(
    ray_cluster, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(tuner, "MAX_FAILURES", 0)
    monkeypatch.setattr(lifecycle, "made", lambda names: [PlantErrorPickle(tmp_path / "exploded")])
    monkeypatch.chdir(tmp_path)
    learner = dataclasses.replace(TRPO, load=lambda: faulty(TRPO.trainable, fail, (1, 1), None))
    uri = f"file://{tmp_path}/bucket"
    spec = small_spec("trpo", [TRPOConfig(**CARTPOLE)], iterations=2, storage_uri=uri)
    status, folder = lifecycle.start(drafted(learner, spec, flags(uri, name="sweep")))
    assert status == 1
    (trial,) = trial_folders(folder)
    output, errors = capsys.readouterr()
    assert f"Failed: {trial.name}: RuntimeError: " in errors
    assert re.search(rf"^{trial.name} +failed +1 ", output, re.MULTILINE)
    assert "a bug" in (trial / "error.txt").read_text(encoding="utf-8")
    assert not (tmp_path / "exploded").exists()
    pickle.loads(next(tmp_path.rglob("error.pkl")).read_bytes())
    assert (tmp_path / "exploded").exists(), "the bomb is a real one"
