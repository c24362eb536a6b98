"""Experiments with several seeds of each configuration: the best one is the best by its mean, wherever it is named."""

import math

import numpy as np
import pytest

from experiments.analysis.configurations import best_configurations
from experiments.analysis.luck import lead
from experiments.analysis.next_command import best_command
from experiments.disk.decisions import Decision, write_decisions
from experiments.disk.experiments import read_experiment
from experiments.show.summary import summarise, winner_lines
from experiments.show.tables import (
    configuration_table,
    experiment_table,
    interval_of_mean,
    interval_of_next_seed,
    rung_table,
    trial_table,
)
from tests.helpers.small_experiments import trial_folders
from tests.helpers.written_experiments import write_checkpoint, write_experiment

LUCKY, STEADY = {"gamma": 0.9}, {"gamma": 0.8}
TRIALS = [
    (LUCKY | {"seed": 0}, [-20, 5.0], None),
    (LUCKY | {"seed": 1}, [-20, -19.0], None),
    (STEADY | {"seed": 0}, [-20, -4.0], None),
    (STEADY | {"seed": 1}, [-20, -2.0], None),
]
RECORD = {"configuration_of": [0, 0, 1, 1], "swept": ["gamma", "seed"]}


@pytest.fixture
def folder(tmp_path):
    return write_experiment(tmp_path / "results", "two", "pg", TRIALS, **RECORD)


def test_the_best_configuration_is_best_by_its_mean_and_not_by_a_lucky_seed(folder, capsys):
    experiment = read_experiment(folder)
    assert experiment.leader.numbers == [2, 3]
    assert experiment.best.number == 3
    assert best_configurations(experiment, 1)[0].trials == experiment.leader.trials
    assert [row["trial"][:5] for row in trial_table(experiment.trials)] == ["00002", "00003", "00000", "00001"]
    assert experiment_table([experiment], [])[0]["score"] == "-3.0"
    summarise(read_experiment(folder, running=False))
    output = capsys.readouterr().out
    assert "Best configuration, by the mean of its seeds: g=0.8" in output
    assert (
        "returned -4.0 with seed 0, -2.0 with seed 1; their mean is -3.0 (95% interval of the mean -15.7 to 9.7)"
        in output
    )


def test_an_interval_of_pongs_returns_ends_where_they_do():
    scores = np.array([-20.9, -19.5, -20.2])  # with two degrees of freedom 4.303 times the standard error of 0.404
    assert interval_of_mean(scores, "ALE/Pong-v5") == "-21.0 to -18.5"
    assert interval_of_next_seed(-scores, "ALE/Pong-v5") == "16.7 to 21.0"
    assert interval_of_mean(scores, "CartPole-v1") == "-21.9 to -18.5"


def test_best_prints_the_command_that_trains_all_its_seeds(folder, run_results):
    _, output, _ = run_results("best", folder)
    assert "--gamma 0.8" in output
    assert output.endswith("--seeds 2\n")


def test_a_seed_that_failed_is_left_out_of_the_mean_and_said_to_be(tmp_path):
    trials = [TRIALS[0], (LUCKY | {"seed": 1}, [-21], "RuntimeError: no luck"), *TRIALS[2:]]
    experiment = read_experiment(write_experiment(tmp_path, "failed", "pg", trials, **RECORD))
    assert experiment.leader.numbers == [0, 1]
    first, second = configuration_table(best_configurations(experiment, 2), ["lucky", "steady"])
    assert (first["random seeds"], first["mean of last"], first["95% interval of mean"]) == (
        "0 (1 failed)",
        "5.0",
        "",
    )
    assert (second["random seeds"], second["steps"]) == ("0, 1", "2,000")


@pytest.fixture
def halved(tmp_path):
    """Three configurations of two seeds; one went on."""
    trials = [(STEADY | {"seed": s, "gamma": g}, [-20, -20 + s], "running") for g in (0.7, 0.8, 0.9) for s in (0, 1)]
    trials[2:4] = [(config, [-20, -18 + config["seed"], -9 + config["seed"]], None) for config, *_ in trials[2:4]]
    record = {"scheduler": "halving", "rungs": [2, 3], "iterations": 3, "configuration_of": [0, 0, 1, 1, 2, 2]}
    folder = write_experiment(tmp_path / "results", "halved", "pg", trials, **RECORD | record)
    write_decisions(folder, [Decision(at=2, scores=[-20.0, -19.0, -18.0, -17.0, -20.0, None], kept=[2, 3])])
    return folder


def test_the_end_of_a_sweep_speaks_of_configurations(halved):
    experiment = read_experiment(halved)
    name, play, sure, *_ = winner_lines(experiment)
    assert name == "Winner: 00002, 00003 with gamma=0.8."
    assert "returned -9.0 with seed 0, -8.0 with seed 1; their mean is -8.5 (95% interval of the mean" in play
    assert "3 configurations were last compared, at 2 iterations, it led 00000, 00001 by 2.0 points" in sure
    assert "The means over their seeds differ by 2.0 to 2.0 with 95%" in sure
    assert lead(experiment).seeds.value == 2.0
    (row,) = rung_table(experiment)
    assert list(row.values()) == ["2", "1 of 3", "-17.5", "-17.5", "-19.5", "00002, 00003"]
    (result,) = halved.glob("00003_*/result.json")
    first, second, _ = result.read_text().splitlines()
    result.write_text(first + "\n" + second.replace('"done": false', '"diverged": 1, "done": true'))
    assert (
        "-9.0 with seed 0, -21.0 with seed 1 (diverged); their mean is -15.0"
        in winner_lines(read_experiment(halved))[1]
    )


@pytest.mark.parametrize(
    ("second", "points", "interval"),
    [
        (([-20, -18, -17, -12], None), 2.5, (-29.3, 34.3)),  # of the differences 5 and 0, 2.5 -+ 12.706 * 2.5
        (([-20, -18, -17], "RuntimeError: no luck"), 3.5, None),  # -10 beside -13.5
    ],
    ids=["both end", "one fails"],
)
def test_what_is_said_of_luck_at_the_end_is_of_the_seeds_whose_means_are_compared(tmp_path, second, points, interval):
    returns = [([-20, -18, -17, -10], None), second, ([-20, -18, -17, -15], None), ([-20, -18, -17, -12], None)]
    trials = [(config, *played) for (config, *_), played in zip(TRIALS, returns, strict=True)]
    record = {"scheduler": "halving", "rungs": [2, 4], "iterations": 4} | RECORD
    folder = write_experiment(tmp_path / "results", "halved", "pg", trials, **record)
    write_decisions(folder, [Decision(at=2, scores=[-18.0] * 4, kept=[0, 1, 2, 3])])
    for trial, (scores, error) in zip(trial_folders(folder), returns, strict=True):
        if not error:
            write_checkpoint(trial, "pg", 4, scores[-1], 1)
    found = lead(read_experiment(folder))
    assert (found.best.at, found.points, math.isnan(found.games)) == (4, points, True)
    if interval:
        assert found.seeds.value == points
        assert (round(found.seeds.low, 1), round(found.seeds.high, 1)) == interval
    else:
        assert found.seeds is None


def test_best_gives_no_command_of_a_seed_that_failed(tmp_path):
    trials = [({"seed": 0}, [-20, -19.0, -18.0], None), ({"seed": 1}, [-20, -5.0], "RuntimeError: no luck")]
    experiment = read_experiment(write_experiment(tmp_path, "two", "pg", trials))
    command, found = best_command(experiment)
    assert "--seed" not in command
    assert (found["config"]["seed"], found["iterations"]) == (0, 3)
