"""The command that goes on with an experiment, or makes its plan elsewhere."""

import shlex
import sys
from pathlib import Path

import pytest

from experiments.analysis.next_command import next_command, plan_command, resume_command, watch_command
from experiments.ask.command_line import installed
from experiments.ask.flags import RunFlags
from experiments.disk.experiments import read_experiment
from experiments.disk.lock import exclusive
from experiments.disk.spec import ExperimentSpec
from tests.helpers.written_experiments import forked_from, write_checkpoint, write_experiment

FOLDER = Path("results/a")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["experiments/results.py", "list"])


def spec(*command, **changes):
    entries = {"learner": "pg", "iterations": 8, "swept": [], "configs": [{}] * 4, "command": [*command]}
    return ExperimentSpec(**{**entries, "checkpoint_frequency": 1, "interval": 1, **changes})


STEPS = {"iterations": None, "timesteps": 9}
BOTH_LIMITS = {"iterations": 2, "timesteps": 3000}
END_BY_STEPS = {"iterations": None, "timesteps": 2000}


@pytest.mark.parametrize(
    ("command", "record", "ending", "expected"),
    [
        (["train.py", "pg", "--seed", "1"], {}, "running", "train.py pg --resume results/a"),
        (["sweep_pong.py", "--seed", "1"], {}, "running", "sweep_pong.py --resume results/a"),
        (["sweep_pong.py"], {}, "RuntimeError: it is tried again", "sweep_pong.py --resume results/a"),
        (["sweep_trpo.py"], {"confirms": "b"}, "running", "sweep_trpo.py --resume results/a"),
        (["train.py", "pg"], {}, None, "train.py pg --extend results/a --iterations 4"),
        (
            ["train.py", "pg"],
            {"timesteps": 3000},
            None,
            "train.py pg --extend results/a --timesteps 6000 --iterations 4",
        ),
        (["sweep_pong.py"], END_BY_STEPS, None, "sweep_pong.py --extend results/a --timesteps 4000"),
    ],
)
def test_what_goes_on_is_resumed_and_what_came_to_its_end_extended(command, record, ending, expected, tmp_path):
    trials = [({}, [-20, -19], ending)]
    folder = write_experiment(tmp_path / "results", "a", "pg", trials, command=command, **({"iterations": 2} | record))
    write_checkpoint(next(folder.glob("0*")), "pg", 2, -19.0, evaluated=2)
    assert next_command(read_experiment(folder)) == f"python experiments/{expected}"
    with exclusive(folder):
        assert next_command(read_experiment(folder)) == "", "another program runs it"


def test_the_next_command_names_the_cluster_and_the_callbacks_that_no_folder_keeps():
    flags = RunFlags(address="head:6379", callback=("mine:mlflow", "mine:other")).again
    proposed = resume_command(FOLDER.absolute(), spec("sweep_pong.py"), flags)
    assert proposed.endswith("--resume results/a --address head:6379 --callback mine:mlflow --callback mine:other")


def test_a_learner_of_ones_own_is_proposed_by_its_name_and_never_by_a_path_in_a_record():
    asked = spec("sweep.py", "/elsewhere/evil.py:A2C", learner="a2c.A2C", configs=[{}], **STEPS)
    proposed = resume_command(FOLDER.absolute(), asked)
    assert proposed == "python experiments/sweep.py a2c:A2C --resume results/a"
    assert plan_command(asked).startswith("python experiments/sweep.py a2c:A2C --num-samples 1")
    assert watch_command(FOLDER.absolute(), "a2c.A2C").endswith("watch.py results/a --learner a2c:A2C")


@pytest.mark.parametrize("on_path", [True, False])
def test_who_types_console_commands_gets_console_commands_that_their_shell_finds(on_path, tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("pong-results", "pong-sweep", "pong-train", "pong-watch", "tensorboard"):
        (folder / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(folder / "pong-results"), "list"])
    monkeypatch.setenv("PATH", str(folder) if on_path else "/usr/bin")
    way = "" if on_path else f"{folder}/"
    for command, expected in {
        ("train.py", "pg", "--seed", "1"): "pong-train pg --resume results/a",
        ("sweep_pong.py",): "pong-sweep pg --resume results/a",
        ("sweep_trpo.py",): "pong-sweep trpo --resume results/a",
        ("sweep.py", "--seed", "1"): "pong-sweep pg --resume results/a",
    }.items():
        assert resume_command(FOLDER.absolute(), spec(*command)) == way + expected
    assert watch_command(FOLDER.absolute(), "pg") == f"{way}pong-watch results/a"
    assert installed("tensorboard", "--logdir", "a") == f"{way}tensorboard --logdir a"


def test_folders_with_blanks_are_quoted():
    command = resume_command(Path("some results/first").absolute(), spec("sweep_pong.py"))
    assert shlex.split(command)[2:] == ["--resume", "some results/first"]


@pytest.mark.parametrize("command", [[], ["../evil.py"], ["/elsewhere/evil.py", "pg"], ["benchmark.py", "tune"]])
def test_no_command_is_proposed_that_starts_a_foreign_program(command):
    assert resume_command(FOLDER.absolute(), spec(*command)) == ""
    assert plan_command(spec(*command)) == ""


@pytest.mark.parametrize(
    ("command", "changes", "expected"),
    [
        (["--name", "mine", "--seed", "3"], {}, "--seed 3 --num-samples 4 --timesteps 9"),
        (["--name=mine", "--num-samples=4", "--timesteps", "9"], {}, "--num-samples 4 --timesteps 9"),
        (["--num_samples=4", "--resume_or_start"], {}, "--num-samples 4 --timesteps 9"),
        ([], {"time_budget_s": 1800.0}, "--num-samples 4 --timesteps 9 --time-budget-s 18000"),
        (["--time-budget-s=1800"], {"time_budget_s": 1800.0}, "--num-samples 4 --timesteps 9 --time-budget-s 18000"),
        ([], {"time_budget_s": 1_234_567.0}, "--num-samples 4 --timesteps 9 --time-budget-s 12345670"),
        (["--seeds", "2"], {"configuration_of": [0, 0, 1, 1]}, "--seeds 2 --num-samples 2 --timesteps 9"),
        ([], {"swept": ["gamma"]}, "--no-baseline --num-samples 4 --timesteps 9"),
        ([], {"swept": ["gamma"], "baseline": {"gamma": 0.99}}, "--num-samples 4 --timesteps 9"),
        (["--no-baseline"], {"swept": ["gamma"]}, "--no-baseline --num-samples 4 --timesteps 9"),
        (["--seeds", "2"], {"configuration_of": [0, 0, 1, 1], "drawn": 6}, "--seeds 2 --num-samples 6 --timesteps 9"),
    ],
    ids=[
        "name",
        "typed",
        "typed with underscores",
        "time",
        "typed time",
        "weeks",
        "seeds",
        "before baselines",
        "baseline",
        "without",
        "equal draws",
    ],
)
def test_a_plan_is_typed_with_what_makes_it_on_any_machine_and_ten_times_its_seconds(command, changes, expected):
    found = plan_command(spec("sweep_pong.py", *command, **STEPS, **changes))
    assert found == f"python experiments/sweep_pong.py {expected}"


def test_no_new_sweep_repeats_a_fork():
    assert plan_command(spec("sweep_pong.py", fork_of=forked_from("other", *[({}, 1)] * 4))) == ""
