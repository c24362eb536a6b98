"""A sweep's best are run again with fresh seeds, and what that says is right: on real Pong, through real Tune."""

import json
import re

import numpy as np
import pytest

from experiments.ask.flags import RunFlags
from experiments.disk.decisions import Decision, WinnerGames, read_winner, write_decisions, write_winner
from experiments.disk.experiments import read_experiment
from experiments.disk.spec import ExperimentSpec
from experiments.plan.draws import trial_seeds
from experiments.plan.learners import PG
from experiments.run import after_sweep
from experiments.run.after_sweep import confirmation_flags, fresh_seeds, play_winner
from tests.helpers.programs import ROOT, SWEEPS, begin, call, run
from tests.helpers.small_experiments import iterations, rows, trial_folders
from tests.helpers.trials import wait_until
from tests.helpers.written_experiments import forked_from, write_experiment, write_policies

RESULTS = ROOT / "experiments" / "results.py"
FLAGS = ["--scheduler", "fifo", "--num-samples", 2, "--iterations", 2, "--num-workers", 1]
FLAGS += ["--set=slots=2", "--set=segment_length=1500", "--set=updates_per_iteration=1"]
FLAGS += ["--set", "hidden_size=10", "--set", "gamma=0.98", "--seed", 7]
FLAGS += ["--confirm", 1, "--confirm-seeds", 2, "--name", "real", "--no-baseline"]


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory):
    """A sweep that was killed in its confirmation and went on; what was printed before, in the list, and then."""
    folder = tmp_path_factory.mktemp("confirmed")
    program = begin(SWEEPS["pg"], *FLAGS, "--checkpoint-frequency", 1, cwd=folder)
    results = folder / "results"

    def a_checkpoint():
        assert program.poll() is None, (folder / "log").read_text(encoding="utf-8")
        return [*results.glob("real-confirm/*/checkpoint_*/state.json")]

    wait_until(a_checkpoint, "no confirmation", seconds=120)
    program.kill()
    program.wait()
    listed = run(RESULTS, "list", cwd=folder)
    resume = re.search(r"Resume real-confirm:  python \S+ --resume (\S+)", listed)
    went_on = run(SWEEPS["pg"], "--resume", resume[1], cwd=folder)
    return results, (folder / "log").read_text(encoding="utf-8"), listed, went_on


@pytest.mark.ray
@pytest.mark.slow
def test_the_best_configuration_runs_again_with_seeds_that_the_sweep_did_not_use(confirmed):
    results, output, *_ = confirmed
    assert "Then the best 1 again, 2 fresh seeds each: 2 trials of 2 iterations, about" in output
    sweep = {
        trial: json.loads((trial / "params.json").read_text(encoding="utf-8"))
        for trial in trial_folders(results / "real")
    }
    best = max(sweep, key=lambda trial: rows(trial)[-1]["episode_score"])
    again = trial_folders(results / "real-confirm")
    configs = [json.loads((trial / "params.json").read_text(encoding="utf-8")) for trial in again]
    used = [config["seed"] for config in sweep.values()]
    assert used == trial_seeds(7, 2)
    assert [config["seed"] for config in configs] == [max(used) + 1, max(used) + 2]
    for config in configs:
        assert config | {"seed": 0} == sweep[best] | {"seed": 0}


@pytest.mark.ray
@pytest.mark.slow
def test_a_confirmation_that_was_killed_goes_on_with_its_sweep(confirmed):
    results, _, listed, output = confirmed
    assert re.search(r"^real-confirm\s+interrupted", listed, re.MULTILINE)
    assert "the sweep's, and fresh seeds' there" in output
    assert [iterations(trial) for trial in trial_folders(results / "real-confirm")] == [[1, 2]] * 2


@pytest.mark.ray
@pytest.mark.slow
def test_the_table_compares_the_sweeps_score_with_the_mean_of_the_fresh_seeds(confirmed):
    results, *_, output = confirmed
    before = max(rows(trial)[-1]["episode_score"] for trial in trial_folders(results / "real"))
    after = np.mean([rows(trial)[-1]["episode_score"] for trial in trial_folders(results / "real-confirm")])
    *_, last = (line for line in output.splitlines() if line.startswith("pg") and " to " in line)
    shown = [float(cell) for cell in re.findall(r"[-+]?\d+\.\d", last)]
    np.testing.assert_allclose([shown[0], shown[1], shown[4]], [before, after, before - after], atol=0.051)
    assert shown[2] <= shown[1] <= shown[3]
    assert f"report {results.name}/real {results.name}/real-confirm" in output


@pytest.mark.ray
@pytest.mark.slow
def test_results_reads_what_the_real_sweep_wrote(confirmed, monkeypatch):
    results, *_ = confirmed
    monkeypatch.chdir(results.parent)
    output = call("results.py", "list")[1]
    assert len(re.findall(r"^real(?:-confirm)?\s+finished\s+pg\s+2/2", output, re.MULTILINE)) == 2
    assert call("results.py", "report", "real", "real-confirm")[0] == 0
    markdown = (results / "real" / "report.md").read_text(encoding="utf-8")
    assert "Was `real` lucky?" in markdown
    assert "(fresh seeds)" in markdown
    assert "ray 2." in markdown
    assert "Code: git revision" in markdown


def test_the_confirmation_of_a_fork_begins_untrained(tmp_path):
    origin = forked_from("other", ({}, 4), ({}, 4))
    trials = [({"seed": 1}, [-20, -19], None), ({"seed": 2}, [-20, -18], None)]
    folder = write_experiment(tmp_path, "fork", "pg", trials, fork_of=origin, confirm={"best": 1, "seeds": 2})
    spec = ExperimentSpec.read(folder)
    assert spec.fork_of == origin
    again = fresh_seeds(PG, read_experiment(folder), spec.confirm, RunFlags())
    assert [config.seed for config in again.configs] == [3, 4]
    assert again.spec.fork_of is None


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
        "confirm": {"best": 1, "seeds": 3},
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
    assert sweep.spec.model_fields_set == ExperimentSpec.model_fields.keys(), "each entry has a value here"
    run = confirmation_flags(sweep.folder, sweep.spec, RunFlags(), began=False)
    again = fresh_seeds(PG, sweep, sweep.spec.confirm, run).spec
    same = {name for name in ExperimentSpec.model_fields if getattr(again, name) == getattr(sweep.spec, name)}
    plan = {"learner", "command", "iterations", "timesteps", "space", "preset", "baseline"}
    assert same == plan | {"checkpoint_frequency", "keep_checkpoints", "max_concurrent", "storage_uri"}
    assert (again.confirms, again.scheduler, again.configuration_of) == ("sweep", "fifo", [0, 0, 0, 1, 1, 1])
    assert [config["gamma"] for config in again.configs] == [0.9] * 3 + [0.95] * 3, "and the baseline, always"


@pytest.mark.slow
def test_the_confirmation_comes_where_a_time_budget_ended_the_sweep_before_all_trials_were_made(
    ray_cluster, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    settings = ["--preset", "cartpole", "--set", "hidden_sizes=8", "--set", "max_kl=0.02", "--address", "auto"]
    settings += ["--set", "timesteps_per_batch=300"]
    length = ["--iterations", 40, "--num-samples", 200, "--max-concurrent", 1, "--num-workers", 1]
    promise = [
        "--no-baseline",
        "--scheduler",
        "fifo",
        "--time-budget-s",
        20,
        "--confirm",
        1,
        "--confirm-seeds",
        2,
        "--name",
        "short",
    ]
    status, output, complaint = call("sweep_trpo.py", *settings, *length, *promise)
    assert status == 0, complaint
    sweep, again = (tmp_path / "results" / name for name in ("short", "short-confirm"))
    assert ExperimentSpec.read(sweep).ended == "time budget"
    assert 1 <= len(trial_folders(sweep)) < 200, "a trial's Ray actors alone take longer than 20 s / 200"
    assert [len(rows(trial)) for trial in trial_folders(again)] == [40, 40]
    assert "the sweep's, and fresh seeds' there" in output
    listed = call("results.py", "list")[1]
    assert re.search(r"^short\s+time is up", listed, re.MULTILINE)
    assert "Resume" not in listed


def test_a_winner_that_failed_after_its_games_plays_once_more(tmp_path, monkeypatch):
    trials = [({}, [-20.0], "running"), ({"seed": 1}, [-19.0, -18.0], "RuntimeError: no luck")]
    folder = write_experiment(tmp_path, "halved", "pg", trials, scheduler="halving", rungs=[1, 3], iterations=3)
    write_decisions(folder, [Decision(at=1, scores=[-20.0, -19.0], kept=[1])])
    write_policies(trial_folders(folder)[1], "pg", {2: -18})
    write_winner(folder, games := WinnerGames(trial=1, iteration=2, games=10, metrics={}))
    played = []
    monkeypatch.setattr(after_sweep, "_play", lambda *of: (played.append(of) or games, None))
    for _ in range(2):
        play_winner(read_experiment(folder, running=False))
    assert (len(played), read_winner(folder).ended) == (1, "failed")
