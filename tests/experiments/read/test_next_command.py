"""The command that goes on with an experiment."""

import shlex
import sys
from pathlib import Path

import pytest

from experiments.ask.flags import RunFlags
from experiments.read.next_command import next_command, plan_command, watch_command


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["experiments/results.py", "list"])


@pytest.mark.parametrize(
    ("record", "over", "expected"),
    [
        ({"learner": "pg", "command": ["train.py", "pg", "--seed", "1"]}, False, "train.py pg --resume results/a"),
        ({"command": ["sweep_pong.py", "--seed", "1"]}, False, "sweep_pong.py --resume results/a"),
        ({"command": ["sweep_trpo.py"], "confirms": "b"}, False, "sweep_trpo.py --resume results/b"),
        (
            {"learner": "pg", "command": ["train.py", "pg"], "iterations": 8},
            True,
            "train.py pg --extend results/a --iterations 16",
        ),
        (
            {"learner": "pg", "command": ["train.py", "pg"], "timesteps": 9, "iterations": 8},
            True,
            "train.py pg --extend results/a --timesteps 18 --iterations 16",
        ),
        ({"command": ["sweep_pong.py"], "timesteps": 9}, True, "sweep_pong.py --extend results/a --timesteps 18"),
    ],
)
def test_what_is_not_over_is_resumed_and_the_rest_extended(record, over, expected):
    assert next_command(Path("results/a").absolute(), record, over) == f"python experiments/{expected}"


def test_where_an_experiment_ran_is_in_its_next_command_where_a_cluster_was_left_out():
    flags = RunFlags(address="head:6379", callback=("mine:mlflow", "mine:other")).again
    proposed = next_command(Path("results/a").absolute(), {"command": ["sweep_pong.py"]}, False, flags)
    assert proposed == (
        "python experiments/sweep_pong.py --resume results/a --address head:6379"
        " --callback mine:mlflow --callback mine:other"
    )


def test_a_learner_of_ones_own_is_proposed_by_its_name_and_never_by_a_path_in_a_record():
    record = {"learner": "a2c.A2C", "command": ["sweep.py", "/elsewhere/evil.py:A2C"], "timesteps": 9}
    proposed = next_command(Path("results/a").absolute(), record, over=False)
    assert proposed == "python experiments/sweep.py a2c:A2C --resume results/a"
    assert plan_command(record | {"configs": [{}]}).startswith("python experiments/sweep.py a2c:A2C --num-samples 1")
    assert watch_command(Path("results/a").absolute(), "a2c.A2C").endswith("watch.py results/a --learner a2c:A2C")


def test_folders_with_blanks_are_quoted():
    command = next_command(Path("some results/first").absolute(), {"command": ["sweep_pong.py"]}, over=False)
    assert shlex.split(command)[2:] == ["--resume", "some results/first"]


@pytest.mark.parametrize("command", [[], ["../evil.py"], ["/elsewhere/evil.py", "pg"], ["benchmark.py", "tune"]])
def test_no_command_is_proposed_that_starts_a_foreign_program(command):
    assert next_command(Path("results/first").absolute(), {"command": command}, over=False) == ""


def test_a_plan_that_followed_from_a_machines_speed_is_typed_with_what_makes_it_anywhere():
    record = {
        "command": ["sweep_pong.py", "--name", "mine", "--seed", "3"],
        "configs": [{}] * 9,
        "timesteps": 1_300_000,
    }
    assert plan_command(record).endswith("sweep_pong.py --seed 3 --num-samples 9 --timesteps 1300000")
    typed = {"command": ["sweep_pong.py", "--name=mine", "--num-samples=9", "--timesteps", "1300000"]}
    assert plan_command(record | typed).endswith("sweep_pong.py --num-samples=9 --timesteps 1300000")
    assert plan_command(record | {"fork_of": {"name": "other"}}) == ""


def test_on_a_slower_machine_the_time_of_the_faster_one_ended_its_plan_before_the_last_round():
    record = {"command": ["sweep_pong.py"], "configs": [{}] * 12, "timesteps": 9, "time_budget_s": 1800.0}
    plan = "sweep_pong.py --num-samples 12 --timesteps 9 --time-budget-s 18000"
    assert plan_command(record).endswith(plan)
    for typed in (["--time-budget-s", "1800"], ["--time-budget-s=1800"]):
        assert plan_command(record | {"command": ["sweep_pong.py", *typed]}).endswith(plan)


def test_the_seconds_of_a_plan_of_weeks_were_rounded_to_six_digits():
    record = {"command": ["sweep_pong.py"], "configs": [{}], "timesteps": 9, "time_budget_s": 1_234_567.0}
    assert plan_command(record).endswith(" --time-budget-s 12345670")


def test_of_several_seeds_a_plan_counts_configurations_and_older_records_mean_those_of_a_confirmation():
    record = {"command": ["sweep_pong.py", "--seeds", "2", "--confirm", "1"], "configs": [{}] * 4, "timesteps": 9}
    old = plan_command(record)
    assert old.endswith("sweep_pong.py --confirm-seeds 2 --confirm 1 --num-samples 4 --timesteps 9")
    new = plan_command(record | {"configuration_of": [0, 0, 1, 1]})
    assert new.endswith("sweep_pong.py --seeds 2 --confirm 1 --num-samples 2 --timesteps 9")
