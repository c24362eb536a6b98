"""Experiments as they lie on disk: how a trial ended, and what state an experiment is in."""

import json
import shutil

import numpy as np
import pytest

from experiments.ask.budget import Budget
from experiments.disk.decisions import Decision, write_decisions
from experiments.disk.experiments import read_experiment
from experiments.disk.folders import RECORD
from experiments.disk.lock import exclusive
from experiments.disk.restored import plays_on, restore
from experiments.disk.spec import ExperimentSpec
from tests.helpers.foreign_experiments import make_sound
from tests.helpers.written_experiments import write_checkpoint, write_experiment


@pytest.mark.parametrize(
    ("returns", "budget", "diverged", "state"),
    [
        ([-20, -19], {"iterations": 2}, 0, "finished"),
        ([-20, -19], {"iterations": 3}, 0, "stopped"),
        ([-20, -19], {"iterations": None, "timesteps": 2000}, 0, "finished"),
        ([-20, -19], {"iterations": None, "timesteps": 2001}, 0, "stopped"),
        ([-20, -21], {"iterations": 3}, 1, "diverged"),
    ],
)
def test_a_trial_that_was_stopped_early_is_told_from_one_that_finished(tmp_path, returns, budget, diverged, state):
    folder = write_experiment(tmp_path, "sweep", "pg", [({}, returns, None)], **budget)
    rows = next(folder.glob("0*")) / "result.json"
    rows.write_text(rows.read_text(encoding="utf-8").replace('"done": true', f'"done": true, "diverged": {diverged}'))
    write_checkpoint(rows.parent, "pg", 2, -19.0, evaluated=2)
    assert [trial.state for trial in read_experiment(folder).trials] == [state]


def test_tunes_own_state_tells_a_trial_that_failed_from_one_that_then_went_on_and_ends_none(tmp_path):
    """Tune calls a trial that a time budget stopped "terminated", too, and --resume plays it further."""
    once_failed = ({"seed": 1}, [-20], "RuntimeError: before it was resumed")
    folder = write_experiment(tmp_path, "budget", "pg", [({}, [-20, -19], "running"), once_failed])
    states = []
    for statuses in (["TERMINATED", "TERMINATED"], ["TERMINATED", "RUNNING"], ["TERMINATED", "ERROR"], None):
        found = [{"trial_id": f"a_{i:05d}", "status": s} for i, s in enumerate(statuses or [])]
        trials = [[json.dumps(each, indent=2), ""] for each in found]  # as Tune writes it
        state = json.dumps({"trial_data": trials}) if statuses else '{"trial_data": [["{'
        (folder / "experiment_state-1.json").write_text(state)
        states.append([trial.state for trial in read_experiment(folder).trials])
    goes_on, failed = ["interrupted", "interrupted"], ["interrupted", "failed"]
    assert states == [goes_on, goes_on, failed, failed]


def test_two_tuners_of_one_name_are_one_experiment_and_each_ones_states_count(tmp_path):
    folder = write_experiment(tmp_path, "mine", "pg", [({"seed": 1}, [-20, -19], None), ({"seed": 2}, [-20], "cut")])
    (folder / RECORD).unlink()
    for trial, session, status in zip(
        sorted(folder.iterdir()), ("48f33", "4f885"), ("TERMINATED", "RUNNING"), strict=True
    ):
        trial.rename(folder / f"PongPG_{session}_00000_0_seed=1_2026-11-27_22-45-46")
        state = {"trial_data": [[json.dumps({"trial_id": f"{session}_00000", "status": status}), ""]]}
        (folder / f"experiment_state-{session}.json").write_text(json.dumps(state))
    found = read_experiment(folder)
    assert [(trial.number, trial.seed, trial.iterations, trial.state) for trial in found.trials] == [
        (0, 1, 2, "finished"),
        (1, 2, 1, "interrupted"),
    ]


def test_a_row_that_a_kill_cut_off_leaves_the_budget_of_a_tuners_only_trial_as_it_was(tmp_path):
    folder = write_experiment(tmp_path, "mine", "pg", [({}, [-20, -19, -18], "cut")])
    (folder / RECORD).unlink()
    next(folder.glob("0*")).rename(folder / "PongPG_48f33_00000_0_2026-11-27_22-45-46")
    (folder / "experiment_state-1.json").write_text("{}")
    assert ExperimentSpec.read(folder).iterations == 3


def test_the_program_that_holds_the_lock_can_read_its_experiment_as_one_that_runs_no_longer(tmp_path):
    folder = write_experiment(tmp_path, "first", "pg", [({}, [-20], "running")])
    with exclusive(folder):
        assert [read_experiment(folder, running).state for running in (None, False)] == ["running", "interrupted"]
        assert read_experiment(folder, running=False).trials[0].state == "interrupted"


def test_a_score_is_the_one_at_a_step_or_the_last_before_it(tmp_path):
    trial = read_experiment(write_experiment(tmp_path, "first", "pg", [({}, [-20, -18, -10], None)])).trials[0]
    scores = [trial.score_at("timesteps_total", steps) for steps in (1000, 2500, 9000)]
    assert scores == [-20, -18, -10]
    assert np.isnan(trial.score_at("timesteps_total", 999))


def test_a_trial_that_failed_is_best_only_where_there_is_no_other(tmp_path):
    trials = [({"seed": 0}, [-20, -5], "RuntimeError: no luck"), ({"seed": 1}, [-20, -12], None)]
    experiment = read_experiment(write_experiment(tmp_path, "sweep", "pg", trials))
    assert [trial.state for trial in experiment.trials] == ["failed", "stopped"]
    assert experiment.best is experiment.trials[1]
    alone = read_experiment(write_experiment(tmp_path, "alone", "pg", trials[:1]))
    assert alone.best is alone.trials[0], "there is no other"


def test_a_failed_trial_does_not_lead_a_halved_sweep_of_which_others_go_on(tmp_path):
    trials = [({"seed": 0}, [-20, -12.0], "RuntimeError: no luck"), ({"seed": 1}, [-20, -15, -14], "running")]
    record = {"scheduler": "halving", "rungs": [2, 9], "iterations": 9}
    folder = write_experiment(tmp_path, "halved", "pg", trials, **record)
    write_decisions(folder, [Decision(at=2, scores=[-12.0, -15.0], kept=[0, 1])])
    experiment = read_experiment(folder, running=True)
    assert [trial.state for trial in experiment.trials] == ["failed", "running"]
    assert experiment.best is experiment.trials[1]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    make_sound(folder := tmp_path_factory.mktemp("sound"))
    return folder / "trpo"


@pytest.fixture
def ended(original, tmp_path):
    """An experiment whose one trial came to its end, after two iterations, with a checkpoint of the last one."""
    folder = shutil.copytree(original, tmp_path / "trpo")
    shutil.rmtree(sorted(folder.glob("0*"))[1])
    spec = ExperimentSpec.read(folder)
    spec.but(configs=spec.configs[:1]).write(folder)
    return folder


def stays(folder):
    """Whether it is listed as finished, and whether --resume leaves it as it is."""
    spec = ExperimentSpec.read(folder)
    return read_experiment(folder).state == "finished", not plays_on(restore(folder, spec), spec)


def test_what_is_listed_as_finished_is_what_does_not_go_on(ended):
    assert stays(ended) == (True, True)
    spec = ExperimentSpec.read(ended)
    spec.with_more(Budget(4)).write(ended)
    assert stays(ended) == (False, False), "extended, and killed before it went on"
    state = {"trial_data": [[json.dumps({"trial_id": "x_00000", "status": "TERMINATED"}), ""]]}
    (ended / "experiment_state-1.json").write_text(json.dumps(state))
    assert stays(ended) == (False, False), "whatever an earlier session's Tune says"


def test_a_trial_at_its_end_needs_its_last_checkpoint_and_one_that_was_stopped_early_does_not(ended):
    next(ended.glob("*/checkpoint_000002/state.json")).unlink()
    assert stays(ended) == (False, False)
    ExperimentSpec.read(ended).but(iterations=9).write(ended)
    assert stays(ended) == (True, True)


def test_a_trial_whose_process_was_killed_failed_by_what_killed_it(tmp_path):
    known = "The actor is dead because its worker process has died. Worker exit detail: End of file."
    advice = "Some common causes include: (1) the process was killed by the OOM killer"
    killed = f"{known} {advice}\n\tThe actor never ran - it was cancelled before"
    folder = write_experiment(tmp_path, "killed", "pg", [({}, [-20], killed)])
    (trial,) = read_experiment(folder, running=False).trials
    assert trial.error == known
