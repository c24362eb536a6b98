"""What is read of the folder of somebody's own Tuner: its budget, and which of its trials copied others."""

import json

import pytest

from experiments.analysis.configurations import by_configuration
from experiments.analysis.contradictions import contradictions
from experiments.analysis.recorded import recorded
from experiments.disk.experiments import read_experiment
from experiments.disk.folders import RECORD
from experiments.show.endings import seeds_in_words
from tests.helpers.written_experiments import write_experiment, write_policies


def tuners_own(storage, trials, stop=None):
    """A folder as a Tuner leaves it whose trials have all ended; ``trials`` are the settings and returns of each."""
    folder = write_experiment(storage, "mine", "pg", [(settings, returns, "running") for settings, returns in trials])
    (folder / RECORD).unlink()
    accounts = []
    for number, trial in enumerate(sorted(folder.iterdir())):
        name = f"4f2a9_{number:05d}"
        trial.rename(folder / f"PongPG_{name}_{number}_2026-11-27_22-45-46")
        account = {"trial_id": name, "status": "TERMINATED", "stopping_criterion": stop or {}}
        accounts.append([json.dumps(account, indent=2), ""])
    (folder / "experiment_state-2026-11-27_22-45-46.json").write_text(json.dumps({"trial_data": accounts}))
    return folder


FINISHED, STOPPED = "finished", "stopped"


@pytest.mark.parametrize(
    ("stop", "states", "budget"),
    [
        ({"timesteps_total": 2000}, [FINISHED, FINISHED, STOPPED], "2,000 agent steps"),
        ({"timesteps_total": 1500.5}, [FINISHED, FINISHED, STOPPED], "1,501 agent steps"),
        ({"training_iteration": 2, "timesteps_total": 10**9}, [FINISHED, FINISHED, STOPPED], "2 iterations"),
        ({"training_iteration": 100}, [STOPPED, FINISHED, STOPPED], "4 iterations"),
        ({"episode_score": 10}, [STOPPED, FINISHED, STOPPED], "4 iterations"),
        ({"timesteps_total": "2000"}, [STOPPED, FINISHED, STOPPED], "4 iterations"),
    ],
    ids=["steps", "no whole number", "the first of two", "a scheduler ended all sooner", "a score", "no number"],
)
def test_a_tuners_own_stop_is_its_budget_as_far_as_trials_came_to_it(stop, states, budget, tmp_path):
    """Trials of other segment lengths make other numbers of iterations of the same steps."""
    trials = [({"seed": 0}, [-20.0, -19.0]), ({"seed": 1}, [-20.0] * 4), ({"seed": 2}, [-20.0])]
    experiment = read_experiment(tuners_own(tmp_path, trials, stop))
    assert [trial.state for trial in experiment.trials] == states
    assert str(experiment.spec.budget) == budget


def note_copies(folder, number, *copies):
    """Let a trial have copied another one as Tune notes it: ``copies`` are the iterations of both by then."""
    lines = [json.dumps(["1", "0", its_own, others, {}, {}]) + "\n" for its_own, others in copies]
    (folder / f"pbt_policy_4f2a9_{number:05d}.txt").write_text("".join(lines))


@pytest.mark.parametrize(
    "note", ["", "[]", "x", '["1", "0", Infinity, 4, {}, {}]', '["1", "0", "x", 4]', '{"a": 1}', "3"]
)
def test_a_note_of_a_copy_that_is_none_is_passed_over(note, tmp_path):
    folder = tuners_own(tmp_path, [({}, [-20.0] * 5)])
    (folder / "pbt_policy_4f2a9_00000.txt").write_text(note)
    assert read_experiment(folder).trials[0].copied_at == 0


def test_copies_of_a_trial_by_population_based_training_are_no_further_seeds(tmp_path):
    """Tune copies the random seed, too."""
    folder = tuners_own(tmp_path, [({"seed": 1}, [-20.4] * 5)] * 3 + [({"seed": 2}, [-20.0] * 5)])
    experiment = read_experiment(folder)
    (configuration,) = by_configuration([experiment])
    assert configuration.seeds == [1, 2]
    assert experiment.leader.score == pytest.approx(-20.2)
    assert seeds_in_words(experiment.trials[:3]).endswith("returned -20.4 with seed 1.")


def test_what_a_trial_had_before_it_copied_another_one_is_not_verified_and_said_so(tmp_path):
    folder = tuners_own(tmp_path, [({"seed": 1, "hidden_size": 2}, [-20.0] * 6)] * 2)
    for trial in sorted(folder.glob("Pong*")):
        rows = trial / "result.json"
        rows.write_text(rows.read_text().replace('"done"', '"episodes_total": 0, "done"'))
        write_policies(trial, "pg", {2: -20.0, 4: -20.0})
        params = json.loads((trial / "params.json").read_text())
        if trial.name.startswith("PongPG_4f2a9_00001"):  # what it has copied comes with another setting
            (trial / "params.json").write_text(json.dumps(params | {"gamma": 0.5}))
        write_policies(trial, "pg", {5: -20.0})
    note_copies(folder, 1, (1, 2), (3, 4))
    experiment = read_experiment(folder)
    original, copy = (recorded(experiment, trial) for trial in experiment.trials)
    assert [str(each) for each in original.stretches][:2] == [
        "iterations 1 to 2 from the beginning",
        "iterations 3 to 4 from checkpoint_000002",
    ]
    assert (original.notes, original.wrong, copy.wrong) == ([], [], [])
    assert [str(each) for each in copy.stretches] == ["iteration 6 from checkpoint_000005"]
    assert copy.notes == [
        "Tune's population based training had it copy another trial after iteration 4",
        "iterations up to 5 cannot be played again: where they began is not kept",
    ]
    rows = trial / "result.json"
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[i] for i in (0, 1, 4, 5)))
    assert contradictions(read_experiment(folder)) == [], "its rows go on from the other one's iteration"
