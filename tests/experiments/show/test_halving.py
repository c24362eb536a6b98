"""What a halved sweep says of itself at its end and in its report."""

import json
import shutil

import pytest

from experiments.analysis.configurations import best_configurations
from experiments.disk.decisions import Decision, WinnerGames, read_winner, spread, write_decisions, write_winner
from experiments.disk.experiments import read_experiment
from experiments.disk.folders import display
from experiments.disk.spec import ExperimentSpec
from experiments.show.page import Page, publish
from experiments.show.report import report
from experiments.show.summary import summarise, winner_lines
from experiments.show.tables import rung_table
from tests.helpers.trials import edited_state
from tests.helpers.written_experiments import write_checkpoint, write_experiment
from trainables.checks import ConfigError

GREEDY = {"eval/return_greedy_mean": -3.0, "eval/return_greedy_ci95_low": -6.0, "eval/return_greedy_ci95_high": 0.0}


@pytest.fixture
def halved(tmp_path):
    """Three trials of which one went on; a stopped one has the higher return."""
    trials = [({"gamma": 0.97}, [-20, -15.0], "running"), ({"seed": 1}, [-19, -12, -16], None)]
    trials.append(({"gamma": 0.98, "seed": 2}, [-20, -19], "running"))
    record = {"scheduler": "halving", "rungs": [2, 10], "swept": ["seed"], "iterations": 10}
    folder = write_experiment(tmp_path / "results", "halved", "pg", trials, **record)
    spreads = [spread([-16.0, -14.0] * 50), spread([-12.0] * 100), None]
    write_decisions(folder, [Decision(at=2, scores=[-15.0, -12.0, -19.0], kept=[1], spreads=spreads)])
    result = folder / "00001_seed=1" / "result.json"
    rows = [json.loads(line) for line in result.read_text().splitlines()]
    rows[-1] |= GREEDY | {"eval/iteration": 2}
    result.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, iteration, returns in (
        ("00000_seed=0", 2, [-16.0, -14.0] * 50),
        ("00001_seed=1", 2, [-12.0] * 100),
        ("00001_seed=1", 3, [-21.0, -11.0] * 50),
    ):
        checkpoint = write_checkpoint(folder / name, "pg", iteration, -15.0, 1)
        with edited_state(checkpoint) as state:
            state["episodes"] |= {"recent_returns": returns, "recent_ends": [1000] * 100}
    return folder


def test_the_winner_went_furthest_and_need_not_have_the_highest_return(halved):
    experiment = read_experiment(halved)
    assert experiment.best.name == "00001_seed=1"
    assert best_configurations(experiment, 1)[0].trials == [experiment.best]
    assert [trial.state for trial in experiment.trials] == ["stopped", "stopped", "stopped"]


def test_the_end_says_who_won_how_it_plays_and_how_sure_that_is(halved, capsys):
    name, play, sure, *_ = winner_lines(read_experiment(halved))
    assert name == "Winner: 00001_seed=1 with seed=1."
    assert "After 3,000 agent steps its latest games returned -16.0" in play
    assert "after iteration 2 of 3: -3.0 with the most probable action (-6.0 to 0.0); 95% intervals" in play
    assert "3 trials were last compared, at 2 iterations, it led 00000_seed=0 by 3.0 points" in sure
    assert "more than the luck of the games alone, up to 0.2 with 95%" in sure, "of the games at that rung"
    assert sure.endswith(f"--confirm {display(halved)}")
    summarise(read_experiment(halved, running=False))
    output = capsys.readouterr().out
    assert "Winner: 00001_seed=1" in output
    assert "Best trial" not in output


def with_baseline(folder, gamma):
    """The same sweep, the baseline of which has this gamma."""
    ExperimentSpec.read(folder).but(baseline={"gamma": gamma}).write(folder)
    return read_experiment(folder, running=False)


def test_the_winner_is_worth_what_it_led_the_baseline_by_where_both_were_last_compared(tmp_path):
    trials = [({"gamma": 0.97}, [-20, -15, -14, -13.0], "running"), ({"seed": 1}, [-19, -12, -11, -10, -9], None)]
    trials.append(({"gamma": 0.98, "seed": 2}, [-20, -19], "running"))
    record = {"scheduler": "halving", "rungs": [2, 4, 5], "swept": ["gamma", "seed"], "iterations": 5}
    folder = write_experiment(tmp_path, "halved", "pg", trials, **record)
    first = Decision(at=2, scores=[-15.0, -12.0, -19.0], kept=[0, 1])
    write_decisions(folder, [first, Decision(at=4, scores=[-13.0, -10.0, None], kept=[1])])
    experiment = with_baseline(folder, 0.98)
    _, _, worth, sure = winner_lines(experiment)
    assert worth == "Worth: when 3 trials were last compared, at 2 iterations, it led 00002_seed=2 by 7.0 points."
    assert "when 2 trials were last compared, at 4 iterations, it led 00000_seed=0 by 3.0 points" in sure
    assert worth.replace("00002_seed=2", "`00002_seed=2`") in report([experiment]).text.partition("## ")[0]


def test_the_baseline_is_marked_and_where_it_won_nothing_else_is_better(halved, capsys, run_results):
    assert len(winner_lines(with_baseline(halved, 0.97))) == 3, "of whom it led by how much is said once"
    experiment = with_baseline(halved, 0.99)
    said = "Worth: it is the baseline. Nothing else that was tried is better than the preset's own settings."
    assert said in winner_lines(experiment)
    assert [row["which"] for row in rung_table(experiment)] == ["baseline"]
    assert best_configurations(experiment, 1)[0].label(["gamma"]) == "g=0.99 (baseline)"
    assert said in (summarise(experiment), capsys.readouterr().out)[1].replace("\n", " ")
    assert run_results("best", halved)[2].startswith("Note: this is the baseline")
    assert json.loads(run_results("best", halved, "--json")[1])["baseline"] is True


def test_games_at_the_sweeps_end_say_how_the_winner_plays_and_those_of_another_policy_do_not(halved):
    metrics = {name.replace("greedy", how): 18.0 for name in GREEDY for how in ("sampled", "greedy")}
    for iteration, shown in ((3, True), (2, False)):
        write_winner(halved, WinnerGames(trial=1, iteration=iteration, games=10, metrics=metrics))
        play = winner_lines(read_experiment(halved))[1]
        assert (
            "Then it played 10 games each way: 18.0 with actions sampled (18.0 to 18.0), 18.0 with" in play
        ) == shown
        assert ("after iteration 2 of 3" in play) != shown


def test_without_decisions_nothing_is_said(halved):
    shutil.move(halved / "rungs.json", halved / "elsewhere")
    assert winner_lines(read_experiment(halved)) == []


def test_a_winner_that_was_behind_one_that_failed_later_is_said_to_have_been(tmp_path):
    trials = [({"gamma": 0.9}, [-20, -12.0], "RuntimeError: no luck"), ({"seed": 1}, [-20, -15, -14], None)]
    record = {"scheduler": "halving", "rungs": [2, 3], "swept": ["seed"], "iterations": 3}
    folder = write_experiment(tmp_path / "results", "halved", "pg", trials, **record)
    write_decisions(folder, [Decision(at=2, scores=[-12.0, -15.0], kept=[0, 1])])
    write_checkpoint(folder / "00001_seed=1", "pg", 3, -14.0, 1)
    experiment = read_experiment(folder)
    assert experiment.best is experiment.trials[1]
    sure = next(line for line in winner_lines(experiment) if line.startswith("How sure"))
    assert "it was 3.0 points behind 00000_seed=0, which failed later" in sure
    assert "Worth: it is the baseline." in winner_lines(with_baseline(folder, 0.99)), "another one was better"


@pytest.mark.parametrize(
    ("last", "ending", "said"),
    [
        ({"episode_score": -21.0, "diverged": 1.0, "done": True}, "running", "diverged, which counts as -21.0;"),
        ({}, "RuntimeError: no luck", "returned -16.0, and then it failed"),
    ],
)
def test_a_winner_that_diverged_or_failed_is_said_to_have_wherever_it_is_named(
    last, ending, said, tmp_path, capsys, run_results
):
    trials = [({"gamma": 0.9}, [-20, -17.0], "running"), ({"seed": 1}, [-20, 15.8, -16.0], ending)]
    record = {"scheduler": "halving", "rungs": [2, 10], "swept": ["seed"]}
    folder = write_experiment(tmp_path / "results", "halved", "pg", trials, **record)
    write_decisions(folder, [Decision(at=2, scores=[-17.0, 15.8], kept=[1])])
    result = folder / "00001_seed=1" / "result.json"
    rows = [json.loads(line) for line in result.read_text().splitlines()]
    result.write_text("".join(json.dumps(row) + "\n" for row in [*rows[:-1], rows[-1] | last]))
    experiment = read_experiment(folder, running=False)
    assert said in winner_lines(experiment)[1]
    assert report([experiment]).text.count(said) == 1, "where it won, which is the answer"
    assert said in (summarise(experiment), capsys.readouterr().out)[1].replace("\n", " ")
    state = experiment.trials[1].state
    assert run_results("best", folder)[2] == f"Note: its best trial {state} after iteration 3.\n"
    write_winner(folder, WinnerGames(trial=1, iteration=3, games=10, metrics={}, ended=state))
    assert read_winner(folder).ended == state


def test_a_leader_is_compared_where_all_last_met(tmp_path):
    """Who leads is decided where all last met, and so is by how much; the other one had come to the end, too."""
    trials = [({"seed": i, "slots": 8 + i}, [-20, -12.0 - i, last], None) for i, last in enumerate((-15.0, -10.0))]
    trials.append(({"seed": 2}, [-20, -14.0], "running"))
    record = {"scheduler": "halving", "rungs": [2, 3], "swept": ["seed"], "iterations": 3}
    folder = write_experiment(tmp_path / "results", "halved", "pg", trials, **record)
    write_decisions(folder, [Decision(at=2, scores=[-12.0, -13.0, -14.0], kept=[0, 1, 2])])
    for seed in (0, 1):
        write_checkpoint(folder / f"0000{seed}_seed={seed}", "pg", 3, -14.0, 1)
    experiment = read_experiment(folder, running=True)
    assert [trial.state for trial in experiment.trials] == ["finished", "finished", "running"]
    sure = next(line for line in winner_lines(experiment) if line.startswith("How sure"))
    assert "when 3 trials were last compared, at 2 iterations, it led 00001_seed=1 by 1.0 points" in sure


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        (
            [({}, [-20, -12.0], "RuntimeError: no"), ({"seed": 1}, [-20, -15, -14], "running")],
            "1 trial has more to play.",
        ),
        ([({}, [-20, -12.0], None), ({"seed": 1}, [-20, -15.0], None)], "2 trials have more to play."),
    ],
    ids=["failed", "stopped by a time budget"],
)
def test_a_failed_trial_has_no_more_to_play_and_one_that_a_time_budget_stopped_has(trials, said, tmp_path):
    record = {"scheduler": "halving", "rungs": [2, 9], "swept": ["seed"], "iterations": 9}
    folder = write_experiment(tmp_path / "results", "halved", "pg", trials, **record)
    write_decisions(folder, [Decision(at=2, scores=[-12.0, -15.0], kept=[0, 1])])
    assert winner_lines(read_experiment(folder, running=False))[0].endswith(f"The sweep is not finished: {said}")


def test_the_report_shows_each_decision_and_names_as_the_best_no_trial_that_was_stopped_or_failed(halved):
    (row,) = rung_table(read_experiment(halved))
    assert list(row.values()) == ["2", "1 of 3", "-12.0", "-12.0", "-15.0", "00001"]
    failed = write_experiment(halved.parent, "failed", "pg", [({}, [-20, -5.0], "RuntimeError: no luck")])
    text = report([read_experiment(failed), read_experiment(halved)]).text
    assert "## Who went on in `halved`" in text
    assert "Winner: `00001_seed=1` with `seed=1`." in text.partition("## ")[0]


def test_trials_that_time_was_too_short_for_are_named_wherever_a_decision_is_shown(halved, capsys):
    write_decisions(halved, [Decision(at=2, scores=[-15.0, -12.0, -19.0], kept=[1], left_out=[0, 2])])
    experiment = read_experiment(halved, running=False)
    (row,) = rung_table(experiment)
    assert list(row.items())[-2:] == [("which", "00001"), ("no time for", "00000, 00002")]
    said = "For lack of time 00000, 00002 did not go on at 2 iterations."
    assert winner_lines(experiment)[-1] == said
    assert said in (summarise(experiment), capsys.readouterr().out)[1]
    text = report([experiment]).text
    assert said in text.partition("## ")[0], "the answer"
    assert "no time for" in text


def test_a_page_is_written_neither_over_its_own_markdown_nor_into_a_folder_and_nothing_is_left(tmp_path):
    (tmp_path / "pages").mkdir()
    for name, example in (("page.md", "page.html"), ("pages", "pages/report.html")):
        with pytest.raises(ConfigError, match=rf"{name}: accepted is the HTML page's name, as .*{example};"):
            publish(Page("# Title"), tmp_path / name, tmp_path, "report.html")
    assert [*tmp_path.rglob("*")] == [tmp_path / "pages"]
