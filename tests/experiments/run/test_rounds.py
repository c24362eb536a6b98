"""Processes that a trial of halving leaves to the next one. Real Ray, and TRPO on CartPole."""

import dataclasses
import os
import signal

import pytest

from experiments.plan.learners import TRPO
from experiments.run import lifecycle
from tests.helpers.small_experiments import fit, flags, rows, same, three, trial_folders
from trainables.trainable import PongTRPO


@pytest.fixture(scope="module")
def one_by_one(ray_cluster, tmp_path_factory):
    """Trials that have Ray's four CPUs for themselves."""
    folder = tmp_path_factory.mktemp("storage") / "one by one"
    assert fit(TRPO, folder, three(cpus_per_worker=4.0)).num_errors == 0
    return folder


def processes(folder):
    return {row["pid"] for trial in trial_folders(folder) for row in rows(trial)}


def test_every_trial_and_every_round_of_one_started_processes_of_its_own(one_by_one):
    """That took 4 s each, 20 times in a default sweep."""
    assert len(processes(one_by_one)) == 1


@pytest.mark.parametrize("how", ["is killed", pytest.param("cannot build its workers", marks=pytest.mark.slow)])
def test_a_trial_had_failed_for_good_if_the_process_that_it_takes_over_failed(one_by_one, tmp_path, how, capsys):
    """So Ray 2.60 has it, which would change who wins."""
    marker = tmp_path / "failed once"

    class FailsOnce(PongTRPO):
        def reset_config(self, new_config):
            if not marker.exists():
                marker.touch()
                if how == "is killed":
                    os.kill(os.getpid(), signal.SIGKILL)
                self.pool.renew = lambda *_: 1 / 0
            return super().reset_config(new_config)

    learner = dataclasses.replace(TRPO, trainable=FailsOnce)
    status, folder = lifecycle.start(learner, three(cpus_per_worker=4.0), flags(tmp_path, name="failed"))
    assert status == 0
    assert "Ray Tune gave up: The process that was to go on with 00001" in capsys.readouterr().err
    assert len(processes(folder)) == 2
    same(folder, one_by_one)
