"""Who leads, where it was compared and with how many, by numbers that can be reckoned by hand."""

import shutil

import pytest

from experiments.analysis.luck import lead
from experiments.disk.decisions import Decision, spread, write_decisions
from experiments.disk.experiments import read_experiment
from experiments.show.endings import ending, seeds_in_words
from experiments.show.summary import winner_lines
from experiments.show.tables import rung_table
from tests.helpers.trials import edited_state
from tests.helpers.written_experiments import write_checkpoint, write_experiment

HALVED = {"scheduler": "halving", "rungs": [2, 4], "iterations": 4, "swept": ["seed"]}


def write_halved(tmp_path, trials, decision, **record):
    folder = write_experiment(tmp_path, "halved", "pg", trials, **(HALVED | record))
    write_decisions(folder, [decision])
    return folder


def test_without_rungs_configurations_stand_by_the_mean_of_their_seeds_latest_scores(tmp_path):
    trials = [({"gamma": 0.9, "seed": seed}, [-20, last], None) for seed, last in enumerate((-5.0, -19.0))]
    trials += [({"gamma": 0.8, "seed": 0}, [-20, -9.0], None), ({"gamma": 0.7}, [], "running")]
    trials += [({"gamma": 0.6}, [-20, 5.0], "RuntimeError: no luck")]
    found = read_experiment(write_experiment(tmp_path, "sweep", "pg", trials)).standings
    assert [(each.numbers, each.score, each.rung, each.at, each.among) for each in found] == [
        ([2], -9.0, 0, None, 3),
        ([0, 1], -12.0, 0, None, 3),
        ([4], 5.0, 0, None, 3),
    ], "one that only failed is behind, and one without results stands nowhere"


def test_until_all_that_went_furthest_have_ended_they_stand_by_the_rung_where_they_met(tmp_path):
    trials = [({"seed": seed}, [-20, last], "running") for seed, last in enumerate((-15.0, -16.0, -17.0))]
    trials[1] = ({"seed": 1}, [-20, -16.0, 3.0], "running")
    folder = write_halved(tmp_path, trials, Decision(at=2, scores=[-15.0, -16.0, -17.0], kept=[0, 1]))
    found = read_experiment(folder).standings
    assert [(each.numbers, each.score, each.rung, each.at, each.among) for each in found] == [
        ([0], -15.0, 1, 2, 3),
        ([1], -16.0, 1, 2, 3),
        ([2], -17.0, 0, None, 1),
    ]
    assert read_experiment(folder).winner is None


def test_trials_that_drew_the_same_settings_are_compared_at_a_rung_as_halving_did(tmp_path):
    """Neither is a mean of survivors compared with one over trials of which some were stopped, nor are these named."""
    gammas = (0.98, 0.99, 0.98, 0.99, 0.98)
    scores = [-15.0, -16.0, -15.5, -19.0, -20.0]
    trials = [({"gamma": g, "seed": n}, [-20, scores[n]], "running") for n, g in enumerate(gammas)]
    trials[0] = ({"gamma": 0.98, "seed": 0}, [-20, -15.0, -14.0, -10.0], None)
    folder = write_halved(tmp_path, trials, Decision(at=2, scores=scores, kept=[0]))
    write_checkpoint(folder / "00000_seed=0", "pg", 4, -10.0, 1)
    found = lead(read_experiment(folder, running=False))
    assert (found.best.numbers, found.next.numbers, found.best.among, found.points) == ([0], [2], 5, 0.5)
    sure = next(line for line in winner_lines(read_experiment(folder)) if line.startswith("How sure"))
    assert "when 5 trials were last compared, at 2 iterations, it led 00002_seed=2 by 0.5 points" in sure
    shutil.rmtree(folder / "00002_seed=2")
    found = lead(read_experiment(folder, running=False))
    assert (found.next.numbers, found.next.among, found.points) == ([1], 5, 1.0), "a folder that is gone leads to none"


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ([-12.0, -14.0] * 5, [-14.0] * 10, "more than the luck of the games alone, up to 0.8 with 95%"),
        ([-7.0, -19.0] * 5, [-14.0, -13.0, -15.0], "no more than the luck of the games alone, up to 4.6 with 95%"),
        ([-13.0] * 10, [-14.0] * 10, None),
        ([-13.0], [-14.0, -13.0], None),
    ],
    ids=["one side without spread", "unequal numbers", "no spread at all", "one game"],
)
def test_the_luck_of_the_games_is_that_of_each_sides_own_games_by_students_t(tmp_path, ours, theirs, said):
    """Welch's interval: with 9 degrees of freedom 2.262 times the standard error, which is 1.054 / 10 ** 0.5."""
    trials = [({"seed": 0}, [-20, -13.0, -12.0, -11.0], None), ({"seed": 1}, [-20, -14.0], "running")]
    decision = Decision(at=2, scores=[-13.0, -14.0], kept=[0], spreads=[spread(ours), spread(theirs)])
    folder = write_halved(tmp_path, trials, decision)
    with edited_state(write_checkpoint(folder / "00000_seed=0", "pg", 4, -11.0, 1)) as state:
        state["episodes"] |= {"recent_returns": [-1.0, -21.0] * 5, "recent_ends": [1000] * 10}  # later, and no matter
    sure = next(line for line in winner_lines(read_experiment(folder)) if line.startswith("How sure"))
    assert "it led 00001_seed=1 by 1.0 points. " in sure
    assert (said in sure) if said else ("luck of the games" not in sure)


def test_a_lead_that_one_decimal_does_not_tell_from_luck_or_from_nothing_has_two(tmp_path):
    """As above, the luck is 0.754."""
    for lead_by, said in ((0.84, "by 0.84 points. That is more"), (0.04, "by 0.04 points"), (0.5, "by 0.5 points")):
        trials = [({"seed": 0}, [-20, -13.0, -12.0, -11.0], None), ({"seed": 1}, [-20, -14.0], "running")]
        spreads = [spread([-12.0, -14.0] * 5), spread([-14.0] * 10)]
        decision = Decision(at=2, scores=[-14.0 + lead_by, -14.0], kept=[0], spreads=spreads)
        folder = write_halved(tmp_path / str(lead_by), trials, decision)
        (sure,) = [line for line in winner_lines(read_experiment(folder)) if line.startswith("How sure")]
        assert said in sure
        assert ("up to 0.75 with 95%" in sure) == (lead_by != 0.5)


def test_a_rung_that_does_not_say_how_much_games_differed_names_no_luck(tmp_path):
    trials = [({"seed": 0}, [-20, -13.0, -12.0], None), ({"seed": 1}, [-20, -14.0], "running")]
    folder = write_halved(tmp_path, trials, Decision(at=2, scores=[-13.0, -14.0], kept=[0]))
    for name in ("00000_seed=0", "00001_seed=1"):
        with edited_state(write_checkpoint(folder / name, "pg", 2, -13.0, 1)) as state:
            state["episodes"] |= {"recent_returns": [-12.0, -14.0] * 5, "recent_ends": [1000] * 10}
    sure = next(line for line in winner_lines(read_experiment(folder)) if line.startswith("How sure"))
    assert "it led 00001_seed=1 by 1.0 points. " in sure
    assert "luck of the games" not in sure


def test_a_rung_before_the_first_game_names_no_score_and_no_lead(tmp_path):
    def said(*games):
        """The best one's and the next one's number of games."""
        trials = [({"seed": 0}, [-20, -13.0, -12.0, -11.0], None), ({"seed": 1}, [-20, -21.0], "running")]
        spreads = [spread([-21.0] * count) for count in games]
        folder = write_halved(
            tmp_path / str(games), trials, Decision(at=2, scores=[-13, -21.0], kept=[0], spreads=spreads)
        )
        experiment = read_experiment(folder, running=False)
        (row,) = rung_table(experiment)
        sure = next(line for line in winner_lines(experiment) if line.startswith("How sure"))
        return row["best"], row["best stopped"], sure.partition("iterations, ")[2].partition(". ")[0]

    assert said(3, 3) == ("-13.0", "-21.0", "it led 00001_seed=1 by 8.0 points")
    assert said(3, 0) == ("-13.0", "", "it led 00001_seed=1, of which no game had ended")
    assert said(0, 0) == ("", "", "it had ended no game, nor had 00001_seed=1")


def test_before_a_game_has_ended_no_return_is_named(tmp_path):
    folder = write_experiment(tmp_path, "young", "pg", [({"seed": seed}, [-21.0], "running") for seed in (0, 1)])
    for rows in folder.glob("*/result.json"):
        text = rows.read_text(encoding="utf-8")
        rows.write_text(text.replace('"done"', '"episodes_total": 0, "done"'), encoding="utf-8")
    experiment = read_experiment(folder)
    assert ending(experiment.trials[0]) == "no game had ended"
    assert seeds_in_words(experiment.trials) == "After 1,000 agent steps no game had ended."
