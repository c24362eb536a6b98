"""Successive halving: who goes on depends on results alone. Real Ray, and TRPO on CartPole, which plays in
milliseconds."""

import dataclasses
import json
import math
import os
import shutil
import signal

import pytest
from ray import tune

from experiments.analysis.contradictions import contradictions
from experiments.ask.budget import Budget
from experiments.disk.decisions import RULE, read_decisions, spread
from experiments.disk.experiments import read_experiment
from experiments.disk.spec import ExperimentSpec
from experiments.plan.learners import PG, TRPO
from experiments.run import lifecycle
from experiments.run.draft import continuation
from experiments.run.session import Session
from experiments.run.stopping import Stop, StopSignals
from experiments.run.tuner import make_tuner
from experiments.show.summary import time_is_up
from tests.helpers.small_experiments import (
    InterruptAt,
    TimeIsUpAt,
    drafted,
    fit,
    flags,
    hyperparameters,
    iterations,
    last_arrays,
    rows,
    same,
    small_spec,
    three,
    trial_folders,
)
from tests.helpers.trials import CARTPOLE
from trainables.config import PGConfig, TRPOConfig
from trainables.trainable import PongTRPO


@pytest.fixture(scope="module")
def halved(ray_cluster, tmp_path_factory):
    """On as many CPUs as all trials ask for."""
    folder = tmp_path_factory.mktemp("storage") / "halved"
    assert fit(TRPO, folder, three()).num_errors == 0
    return folder


def reached(folder):
    """The last iteration of each trial."""
    return [iterations(trial)[-1] for trial in trial_folders(folder)]


def states(folder):
    return [trial.state for trial in read_experiment(folder, running=False).trials]


def of_each(count, others, winner, its):
    """A list with one value of the winner, and another one of all other trials."""
    values = [others] * count
    values[winner] = its
    return values


def test_one_of_three_goes_on_and_the_others_are_stopped(halved):
    (decision,) = read_decisions(halved)
    (winner,) = decision.kept
    scores = [rows(trial)[1]["episode_score"] for trial in trial_folders(halved)]
    assert (decision.at, decision.scores, decision.rule) == (2, scores, RULE)
    assert scores[winner] == max(scores)
    assert contradictions(read_experiment(halved, running=False)) == []
    assert reached(halved) == of_each(3, 2, winner, 4)
    assert states(halved) == of_each(3, "stopped", winner, "finished")
    experiment = read_experiment(halved)
    for trial in experiment.trials:
        there = next(each for each in trial.checkpoints.usable if each.iteration == 2)
        assert decision.spread_of(trial.number) == spread(there.state.episodes.scored_returns)
    assert experiment.all_ended
    assert experiment.best is experiment.trials[winner]
    for trial in trial_folders(halved):
        assert {"max_kl", "seed"} <= {*hyperparameters(trial)}, "TensorBoard's table has what is swept, the seed too"


def test_cores_that_nobody_asks_for_are_lent(halved):
    """There are four."""
    (decision,) = read_decisions(halved)
    before_the_rung = []
    for number, trial in enumerate(trial_folders(halved)):
        workers = [row["perf/workers"] for row in rows(trial)]
        before_the_rung.append(sum(workers[:2]))
        assert workers[2:] == ([3, 3] if number in decision.kept else []), "as many as it can use"
        assert json.loads((trial / "params.json").read_text())["num_workers"] == 1
    assert sorted(before_the_rung) == [2, 2, 4]


class KillOnce(tune.Callback):
    """Kills the process of the first trial that reports."""

    killed = None

    def on_trial_result(self, iteration, trials, trial, result, **info):
        if not self.killed:
            self.killed = trial
            os.kill(result["pid"], signal.SIGKILL)


@pytest.mark.slow
def test_the_winner_depends_neither_on_how_many_trials_run_at_once_nor_on_what_befalls_them(halved, tmp_path):
    """As ASHA's does, which promotes whoever comes first. A trial of four CPUs has Ray for itself here; the sweep is
    interrupted, at which Tune gave up because of the trials that had not begun, and then a trial's process is killed.
    """
    folder, kill, spec = tmp_path / "one", KillOnce(), three(cpus_per_worker=4.0)
    fit(TRPO, folder, spec, InterruptAt(1))
    assert read_decisions(folder) == []
    assert fit(TRPO, folder, spec, kill).num_errors == 0
    assert kill.killed.num_failures == 1
    same(folder, halved)


def processes(folder):
    found = set()
    for trial in trial_folders(folder):
        found |= {row["pid"] for row in rows(trial)}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("how", ["is killed", "cannot build its workers"])
def test_trials_inherit_a_process_and_one_for_which_that_fails_is_tried_again(halved, tmp_path, how, capsys):
    """Trials of four CPUs have Ray for themselves. Ray 2.60 alone would count this one as failed for good."""
    marker = tmp_path / "failed once"

    class FailsOnce(PongTRPO):
        def reset_config(self, new_config):
            if not marker.exists():
                marker.touch()
                if how == "is killed":
                    os.kill(os.getpid(), signal.SIGKILL)
                self.pool.renew = lambda *_: 1 / 0
            return super().reset_config(new_config)

    learner = dataclasses.replace(TRPO, load=lambda: FailsOnce)
    status, folder = lifecycle.start(drafted(learner, three(cpus_per_worker=4.0), flags(tmp_path, name="failed")))
    assert status == 0
    assert "Ray Tune gave up: The process that was to go on with 00001" in capsys.readouterr().err
    assert len(processes(folder)) == 2, "all trials and rounds share one, but for the failure"
    same(folder, halved)


def six(**changes):
    """Six trials, of which two go on."""
    configs = [TRPOConfig(**CARTPOLE | {"seed": seed, "max_kl": 0.01 * (seed + 1)}) for seed in range(6)]
    return small_spec("trpo", configs, scheduler="halving", **changes)


@pytest.mark.slow
def test_where_time_is_too_short_for_two_the_best_plays_until_it_is_up_and_a_resume_goes_on_by_that(
    ray_cluster, tmp_path, capsys
):
    folder, stop = tmp_path / "short", Stop(StopSignals(), math.inf)
    spec = six(iterations=100_000, rungs=[2, 50_000, 100_000], time_budget_s=600.0, ended="time budget")
    folder.mkdir()
    spec.write(folder)
    make_tuner(Session(TRPO, folder, spec, callbacks=[TimeIsUpAt(5, stop)]), {}, stop).fit()
    (decision,) = read_decisions(folder)
    (winner,), (next_best,) = decision.kept, decision.left_out
    words = f"There is time for {winner:05d} alone: {next_best:05d} would have gone on, too."
    assert words in capsys.readouterr().out
    experiment = read_experiment(folder, running=False)
    assert contradictions(experiment) == []
    assert states(folder) == of_each(6, "stopped", winner, "time is up")
    played = reached(folder)
    assert played == of_each(6, 2, winner, max(5, played[winner]))
    assert last_arrays(trial_folders(folder)[winner])[0] == played[winner], "what it reached is saved"
    assert time_is_up(experiment).endswith(": 1 trial of 6 has more to play; --resume goes on.")

    record = json.loads((folder / "experiment.json").read_text())
    (folder / "experiment.json").write_text(json.dumps(record | {"iterations": 15, "rungs": [2, 12, 15]}))
    assert lifecycle.go_on(continuation(TRPO, flags(tmp_path, resume="short"))) == 0
    first, alone = read_decisions(folder)
    assert (first, alone.kept, alone.left_out) == (decision, [winner], [])
    assert reached(folder) == of_each(6, 2, winner, 15)
    assert ExperimentSpec.read(folder).ended == "all done"
    output = capsys.readouterr().out
    assert f"For lack of time {next_best:05d} did not go on at 2 iterations." in output
    assert f"Winner: {winner:05d}" in output
    assert "Then it played 10 games each way" in output


@pytest.mark.slow
def test_who_went_to_the_end_goes_further_and_nobody_else(ray_cluster, tmp_path):
    status, folder = lifecycle.start(drafted(TRPO, three(), flags(tmp_path, name="three")))
    assert status == 0
    (decision,) = read_decisions(folder)
    (winner,) = decision.kept
    deleted = (winner + 1) % 3
    shutil.rmtree(trial_folders(folder)[deleted])  # as somebody does who wants the room on the disk
    assert (read_experiment(folder).state, read_experiment(folder).trials_to_play) == ("finished", 0)
    assert lifecycle.go_on(continuation(TRPO, flags(tmp_path, extend="three"), Budget(6))) == 0
    played = [len(trial.rows) for trial in read_experiment(folder, running=False).trials]
    expected = of_each(3, 2, winner, 6)
    expected[deleted] = 0
    assert played == expected
    assert ExperimentSpec.read(folder).rungs == [2, 6]


@pytest.mark.slow
def test_a_trial_that_diverges_is_the_worst_and_blocks_nobody(ray_cluster, tmp_path):
    settings = {"hidden_size": 8, "slots": 0, "games_per_update": 1, "num_workers": 1, "eval_interval": 0}
    rates = [1e30, 2e-3, 1e30]
    configs = [PGConfig(**settings, learning_rate=rate, seed=seed) for seed, rate in enumerate(rates)]
    record = {"scheduler": "halving", "iterations": 3, "rungs": [2, 3], "configuration_of": [0, 1, 1]}
    fit(PG, tmp_path / "diverged", small_spec("pg", configs, **record))
    experiment = read_experiment(tmp_path / "diverged")
    (decision,) = experiment.decisions
    assert states(tmp_path / "diverged") == ["diverged", "finished", "diverged"]
    assert [decision.scores[0], decision.scores[2]] == [None, -21.0], "a seed beside others counts as the worst"
    assert decision.kept == [1, 2]
    assert experiment.all_ended
