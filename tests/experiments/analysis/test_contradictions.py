"""What can be verified of an experiment without playing: every file that is changed by hand contradicts another."""

import json
import shutil

import pytest

from experiments.analysis.contradictions import contradictions, unchecked
from experiments.disk.decisions import RULE, Decision, WinnerGames, write_decisions, write_winner
from experiments.disk.experiments import read_experiment
from tests.helpers.small_experiments import trial_folders
from tests.helpers.written_experiments import forked_from, write_experiment, write_policies
from trainables.checks import ConfigError

PLAYED = {
    "eval/return_sampled_mean": -16.0,
    "eval/return_sampled_ci95_low": -17.0,
    "eval/return_sampled_ci95_high": -15.0,
}


@pytest.fixture(scope="module")
def halved(tmp_path_factory):
    """Three trials, of which the second went on after two iterations, to the fourth, and won."""
    trials = [
        ({"seed": 0}, [-20, -19], "running"),
        ({"seed": 1}, [-20, -18, -17, -16], None),
        ({"seed": 2}, [-21, -20], "running"),
    ]
    record = {"iterations": 4, "rungs": [2, 4], "scheduler": "halving", "ended": "all done"}
    folder = write_experiment(tmp_path_factory.mktemp("storage"), "halved", "pg", trials, **record)
    write_decisions(folder, [Decision(at=2, scores=[-19.0, -18.0, -20.0], kept=[1], rule=RULE)])
    write_winner(folder, WinnerGames(trial=1, iteration=4, games=10, metrics=PLAYED))
    write_policies(trial_folders(folder)[1], "pg", {4: -16})
    return folder


def change(path, edit):
    """Let ``edit`` change what a file of JSON holds."""
    content = json.loads(path.read_text(encoding="utf-8"))
    edit(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def change_rows(trial, edit):
    """Let ``edit`` change a list of the rows' lines."""
    lines = (trial / "result.json").read_text(encoding="utf-8").splitlines()
    edit(lines)
    (trial / "result.json").write_text("\n".join(lines) + "\n", encoding="utf-8")


def update(path, **entries):
    change(path, lambda content: content.update(entries))


def replace_in_row(trial, index, old, new):
    """Replace a text in one of a trial's rows."""

    def edit(lines):
        assert old in lines[index]
        lines[index] = lines[index].replace(old, new)

    change_rows(trial, edit)


def decide(**entries):
    """The damage of other entries in the decision."""

    def damage(folder, trials):
        change(folder / "rungs.json", lambda rungs: rungs[0].update(entries))

    return damage


def win(**entries):
    """The damage of other entries in what the winner played."""

    def damage(folder, trials):
        change(folder / "winner.json", lambda games: games[0].update(entries))

    return damage


def delete_a_trial(folder, trials):
    shutil.rmtree(trials[2])


def add_a_trial(folder, trials):
    shutil.copytree(trials[2], folder / "00003_seed=3")


def delete_a_row(folder, trials):
    change_rows(trials[1], lambda lines: lines.pop(2))


def delete_the_last_rows(folder, trials):
    change_rows(trials[1], lambda lines: lines.__delitem__(slice(2, 4)))


def repeat_a_row(folder, trials):
    change_rows(trials[1], lambda lines: lines.append(lines[2].replace("-17", "-1")))


def change_a_counter(folder, trials):
    replace_in_row(trials[0], -1, ": 2000,", ": 9000,")


def let_it_diverge_at_a_rung(folder, trials):
    replace_in_row(trials[1], 1, '"done"', '"diverged": 1, "done"')


def change_a_planned_setting(folder, trials):
    change(folder / "experiment.json", lambda spec: spec["configs"][0].update(learning_rate=0.5))


def change_a_seed(folder, trials):
    update(trials[0] / "params.json", seed=7)


DAMAGES = {
    "a trial is deleted": (delete_a_trial, "trial 00002 has no folder, and it has played"),
    "a trial is added": (add_a_trial, "00003_seed=3 is no trial of experiment.json"),
    "a row is deleted": (delete_a_row, "00001_seed=1: result.json lacks iterations 3 to 3"),
    "the last rows are deleted": (delete_the_last_rows, "00001_seed=1: result.json lacks iterations 3 to 4"),
    "a row stands there twice": (
        repeat_a_row,
        "00001_seed=1: result.json has 1 lines that repeat an iteration, or are no row",
    ),
    "a counter is changed": (
        change_a_counter,
        "00000_seed=0: iteration 2 has timesteps_total=9000, which does not add up",
    ),
    "a planned setting is changed": (
        change_a_planned_setting,
        "00000_seed=0: params.json has learning_rate=0.0025, planned is learning_rate=0.5",
    ),
    "a seed is changed": (change_a_seed, "00000_seed=0: params.json has seed=7, planned is seed=0"),
    "a score at a rung is changed": (
        decide(scores=[-19.0, -17.5, -20.0]),
        "00001_seed=1: rungs.json has a score of -17.5 at 2, result.json -18.0",
    ),
    "a score at a rung is left out": (
        decide(scores=[None, -18.0, -20.0]),
        "00000_seed=0: rungs.json has a score of None at 2, result.json -19.0",
    ),
    "a trial's row at a rung diverged": (
        let_it_diverge_at_a_rung,
        "00001_seed=1: rungs.json has a score of -18.0 at 2, result.json -21.0",
    ),
    "another trial went on": (
        decide(kept=[0]),
        "rungs.json: at 2 trials [0] went on, and by the scores there [1] had to",
    ),
    "a rung is moved": (decide(at=3), "rungs.json: its rung 1 is none of experiment.json"),
    "another trial won": (
        win(trial=0, iteration=2),
        "winner.json is of trial 00000, and the one to play was 00001_seed=1",
    ),
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


def test_decisions_about_other_trials_are_refused_as_damaged(halved, tmp_path):
    complaint = r"rungs\.json is damaged: it has scores of other trials than experiment\.json"
    with pytest.raises(ConfigError, match=complaint):
        found_after(decide(scores=[-19.0, -18.0]), halved, tmp_path / "altered")


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
    assert not any(text.startswith("rungs.json") for text in found)
    assert unchecked(read_experiment(folder, running=False)) == noted
