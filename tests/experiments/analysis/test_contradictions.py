"""What can be verified of an experiment without playing: every file that is changed by hand contradicts another."""

import json
import shutil

import pytest

from experiments.analysis.contradictions import contradictions, unchecked
from experiments.disk.decisions import RULE, Decision, WinnerGames, write_decisions, write_winner
from experiments.disk.experiments import read_experiment
from tests.helpers.small_experiments import trial_folders
from tests.helpers.written_experiments import forked_from, write_experiment, write_policies

PLAYED = {f"eval/return_sampled_{key}": x for key, x in (("mean", -16.0), ("ci95_low", -17.0), ("ci95_high", -15.0))}


@pytest.fixture(scope="module")
def halved(tmp_path_factory):
    """Three trials, of which the second went on after two iterations, to the fourth, and won."""
    curves = [[-20, -19], [-20, -18, -17, -16], [-21, -20]]
    trials = [({"seed": i}, curve, None if i == 1 else "running") for i, curve in enumerate(curves)]
    record = {"iterations": 4, "rungs": [2, 4], "scheduler": "halving", "ended": "all done"}
    folder = write_experiment(tmp_path_factory.mktemp("storage"), "halved", "pg", trials, **record)
    write_decisions(folder, [Decision(at=2, scores=[-19.0, -18.0, -20.0], kept=[1], rule=RULE)])
    write_winner(folder, WinnerGames(trial=1, iteration=4, games=10, metrics=PLAYED))
    write_policies(trial_folders(folder)[1], "pg", {4: -16})
    return folder


def change(path, edit):
    content = json.loads(path.read_text(encoding="utf-8"))
    edit(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def change_rows(trial, edit):
    """Let ``edit`` change a list of the rows' lines."""
    lines = (trial / "result.json").read_text(encoding="utf-8").splitlines()
    edit(lines)
    (trial / "result.json").write_text("\n".join(lines) + "\n", encoding="utf-8")


def decide(**entries):
    return lambda folder, trials: change(folder / "rungs.json", lambda rungs: rungs[0].update(entries))


def win(**entries):
    return lambda folder, trials: change(folder / "winner.json", lambda games: games[0].update(entries))


OTHER_TRIALS = "rungs.json has scores of other trials than experiment.json"
DAMAGES = {
    "a trial is deleted": (
        lambda folder, trials: shutil.rmtree(trials[2]),
        "trial 00002 has no folder, and it has played",
    ),
    "a trial is added": (
        lambda folder, trials: shutil.copytree(trials[2], folder / "00003_seed=3"),
        "00003_seed=3 is no trial of experiment.json",
    ),
    "a row is deleted": (
        lambda folder, trials: change_rows(trials[1], lambda rows: rows.pop(2)),
        "00001_seed=1: result.json lacks iterations 3 to 3",
    ),
    "the last rows are deleted": (
        lambda folder, trials: change_rows(trials[1], lambda rows: rows.__delitem__(slice(2, 4))),
        "00001_seed=1: result.json lacks iterations 3 to 4",
    ),
    "a row stands there twice": (
        lambda folder, trials: change_rows(trials[1], lambda rows: rows.append(rows[2].replace("-17", "-1"))),
        "00001_seed=1: result.json has 1 lines that repeat an iteration, or are no row",
    ),
    "a counter is changed": (
        lambda folder, trials: change_rows(
            trials[0], lambda rows: rows.append(rows.pop().replace(": 2000,", ": 9000,"))
        ),
        "00000_seed=0: iteration 2 has timesteps_total=9000, which does not add up",
    ),
    "a planned setting is changed": (
        lambda folder, trials: change(
            folder / "experiment.json", lambda spec: spec["configs"][0].update(learning_rate=0.5)
        ),
        "00000_seed=0: params.json has learning_rate=0.0025, planned is learning_rate=0.5",
    ),
    "a seed is changed": (
        lambda folder, trials: change(trials[0] / "params.json", lambda config: config.update(seed=7)),
        "00000_seed=0: params.json has seed=7, planned is seed=0",
    ),
    "a score at a rung is changed": (
        decide(scores=[-19.0, -17.5, -20.0]),
        "00001_seed=1: rungs.json has a score of -17.5 at 2, result.json -18.0",
    ),
    "a score at a rung is left out": (
        decide(scores=[None, -18.0, -20.0]),
        "00000_seed=0: rungs.json has a score of None at 2, result.json -19.0",
    ),
    "a trial's row at a rung diverged": (
        lambda folder, trials: change_rows(
            trials[1], lambda rows: rows.insert(1, rows.pop(1).replace('"done"', '"diverged": 1, "done"'))
        ),
        "00001_seed=1: rungs.json has a score of -18.0 at 2, result.json -21.0",
    ),
    "another trial went on": (
        decide(kept=[0]),
        "rungs.json: at 2 trials [0] went on, and by the scores there [1] had to",
    ),
    "a trial has no score": (decide(scores=[-19.0, -18.0]), OTHER_TRIALS),
    "a rung is moved": (decide(at=3), "rungs.json: its rung 1 is none of experiment.json"),
    "another trial won": (win(trial=0, iteration=2), "winner.json is of trial 00000, and the winner is 00001_seed=1"),
    "the winner is said to have diverged": (
        win(ended="diverged"),
        "winner.json has ended='diverged', and 00001_seed=1 is finished",
    ),
    "the winner is of no row": (win(iteration=9), "winner.json is of iteration 9, which 00001_seed=1 has no row of"),
}


def found_after(damage, whole, folder):
    shutil.copytree(whole, folder)
    damage(folder, trial_folders(folder))
    return contradictions(read_experiment(folder, running=False))


def test_an_experiment_that_nobody_touched_has_no_contradictions(halved):
    experiment = read_experiment(halved, running=False)
    assert (contradictions(experiment), unchecked(experiment)) == ([], [])


@pytest.mark.parametrize("what", [*DAMAGES])
def test_what_is_changed_by_hand_contradicts_another_file(what, halved, tmp_path):
    damage, line = DAMAGES[what]
    assert line in found_after(damage, halved, tmp_path / "altered")


def test_a_fork_that_ended_before_its_first_row_lacks_none_of_its_origins(tmp_path):
    record = {"fork_of": forked_from("origin", ({}, 3)), "ended": "time budget"}
    folder = write_experiment(tmp_path, "fork", "pg", [({}, [], "running")], **record)
    write_policies(trial_folders(folder)[0], "pg", {3: -20})
    assert contradictions(read_experiment(folder, running=False)) == []


@pytest.mark.parametrize(
    ("rule", "said"), [("another", "by the rule 'another'"), (None, "by a rule that it does not name")]
)
def test_decisions_by_another_rule_are_no_contradiction_and_said_to_be_unchecked(rule, said, halved, tmp_path):
    """Their scores are those of the rows still; who went on is not what would be decided now."""
    folder = tmp_path / "altered"
    found = found_after(decide(kept=[0], rule=rule), halved, folder)
    noted = [f"rungs.json has decisions {said}, and the present one is {RULE!r}"]
    assert [text for text in found if text.startswith("rungs.json")] == []
    assert unchecked(read_experiment(folder, running=False)) == noted
