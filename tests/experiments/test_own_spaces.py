"""A space of one's own through the programs' door: the plan shows it, the record keeps it, and the file may go."""

import json
import re
import shlex

import pytest

from experiments import train
from experiments.analysis.next_command import plan_command, train_command
from experiments.ask.command_line import parse
from experiments.disk.spec import ExperimentSpec
from experiments.plan.learners import PG, TRPO
from experiments.run import sweep_program
from tests.helpers.programs import call, done
from tests.helpers.small_experiments import rows, trial_folders
from trainables.checks import ConfigError

SWEPT = {"learning_rate": "0.0001..0.01:log", "gamma": "0.98,0.99", "epochs": "1,2,3"}
MINE = "SPACES = {'default': {'learning_rate': '1e-4..1e-2:log', 'gamma': [0.98, 0.99], 'epochs': '1..3:3'}}\n"
PAGE = """
PRESETS = {"small": {"hidden_size": 10, "slots": 4, "optimiser": "rmsprop"}}
SPACES = {"small": {"rmsprop_decay": "0.9..0.99", "segment_length": "64..256:log"}}
"""

pytestmark = pytest.mark.usefixtures("four_cpus")


@pytest.fixture(autouse=True)
def files(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "page.py").write_text(PAGE)


def planned(flags, learner=PG):
    words = shlex.split(flags)
    return sweep_program.prepare(learner, *parse(sweep_program.FLAGS, args=words), words).spec


@pytest.mark.parametrize(
    ("words", "space"),
    [
        ("--space mine.py", SWEPT),
        ("--space=mine.py --sweep epochs=1..3:3 --seed 3 --seeds 2", SWEPT),
        (
            "--space mine.py --sweep=learning_rate=1e-4,1e-3 --grid --scheduler fifo",
            SWEPT | {"learning_rate": "0.0001,0.001"},
        ),
        ("--space mine.py --set gamma=0.9", {n: w for n, w in SWEPT.items() if n != "gamma"}),
        (
            "--space page.py --preset small --set=slots=8",
            {"rmsprop_decay": "0.9..0.99", "segment_length": "64..256:log"},
        ),
    ],
    ids=["file", "and a flag", "grid", "and a setting", "preset"],
)
def test_the_same_plan_is_made_elsewhere_without_the_file(monkeypatch, tmp_path, words, space):
    monkeypatch.setattr("sys.argv", ["experiments/sweep_pong.py", *words.split()])  # which the record keeps
    spec = planned(words)
    assert spec.space == space
    assert set(spec.swept) >= space.keys()
    if "--grid" in words:
        assert len(spec.configs) == 2 * 2 * 3
    if "--preset" in words:
        assert spec.preset == {"hidden_size": 10, "optimiser": "rmsprop"}
        assert {(config["hidden_size"], config["slots"]) for config in spec.configs} == {(10, 8)}
    for page in tmp_path.glob("*.py"):
        page.unlink()
    _, _, *again = shlex.split(plan_command(spec))
    found = planned(shlex.join(again))
    assert found.configs == spec.configs
    assert found.space == spec.space


def test_a_grid_under_halving_begins_with_all_its_configurations():
    spec = planned("--sweep gamma=0.96..0.99:4 --sweep epochs=1,2,3 --grid --timesteps 300000")
    assert (len(spec.configs), spec.drawn, len(spec.rungs)) == (12, 12, 3)


def test_the_plan_shows_the_space_in_words():
    status, output, _ = call("sweep_pong.py", "--space", "mine.py", "--dry-run")
    assert status == 0
    space = " ".join(f"{name}={words}" for name, words in SWEPT.items())
    assert f"Space: {space}" in " ".join(output.split())


def test_returns_of_several_environments_decide_about_no_trial():
    words = "--sweep env_id=ALE/Pong-v5,PongNoFrameskip-v4 --num-samples 4 --timesteps 1000 --scheduler"
    for scheduler in ("halving", "asha"):
        with pytest.raises(ConfigError, match=f"{scheduler} compares returns, .* not the same things; use fifo, or"):
            planned(f"{words} {scheduler}")
    assert len(planned(f"{words} fifo").configs) == 4


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (PG, "--sweep slots=0 --sweep games_per_update=3,4 --sweep block_size=1,2 --preset smoke"),
        (PG, "--sweep optimiser=adam,rmsprop --sweep placement=pack,spread --sweep half_life=0..9"),
        (PG, "--sweep env_id=ALE/Pong-v5,PongNoFrameskip-v4 --sweep cpus_per_worker=0.5,1"),
        (TRPO, "--sweep hidden_sizes=8,16-16 --sweep coarse_coding=true,false --sweep max_kl=0.01,1"),
    ],
    ids=["games", "words", "environment", "trpo"],
)
def test_every_configuration_can_be_trained_by_the_command_that_best_prints(learner, words):
    spec = planned(f"{words} --scheduler fifo --timesteps 1000 --num-samples 4", learner)
    for config in map(learner.config_class.from_dict, spec.configs):
        _, _, _, *flags = shlex.split(train_command(learner.name, config, spec.budget))
        trained = train.prepare(learner, flags).spec.configs[0]
        different = {name for name, value in trained.items() if value != config.to_dict()[name]}
        assert different <= ({"segment_length", "updates_per_iteration"} if config.slots == 0 else set())


@pytest.mark.slow
def test_a_grid_on_real_pong_goes_on_without_its_file_and_its_best_is_trained_again(ray_cluster, tmp_path):
    (tmp_path / "mine.py").write_text("SPACES = {'default': {'gamma': [0.98, 0.99], 'hidden_size': [8]}}\n")
    flags = ["--set=slots=2", "--set=segment_length=200", "--set=updates_per_iteration=1", "--set=eval_interval=0"]
    given = ["--space", "mine.py", "--grid", "--scheduler", "fifo", "--iterations", 2, "--num-workers", 1]
    done("sweep_pong.py", *flags, *given, "--name", "grid")
    folder = tmp_path / "results" / "grid"
    before = ExperimentSpec.read(folder)
    assert before.space == {"gamma": "0.98,0.99", "hidden_size": "8"}
    (tmp_path / "mine.py").unlink()
    done("sweep_pong.py", "--extend", "grid", "--iterations", 3)
    fork = ["--fork", "grid", "--iterations", 4, "--name", "forked", "--set=clip=0.1", "--set=half_life=400"]
    begins = re.findall(r"with 0\.(?:5|25|12) of its step size \(half_life\)", done("sweep_pong.py", *fork))
    assert len(begins) == 2, "the half-life counts the origin's steps too"
    extended, forked = ExperimentSpec.read(folder), ExperimentSpec.read(folder.with_name("forked"))
    assert extended == before.but(iterations=3, extended=extended.extended)
    assert forked.space == before.space
    assert [len(rows(trial)) for trial in trial_folders(folder)] == [3, 3]
    best = json.loads(call("results.py", "best", "grid", "--json")[1])
    _, _, *words = shlex.split(best["command"])
    done("train.py", *words, "--name", "again")
    assert ExperimentSpec.read(folder.with_name("again")).configs == [best["config"]]
