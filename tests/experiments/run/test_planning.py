"""The plan of a sweep that has no rounds: how many trials run at once, and how long all of them take."""

import ast
import io
import json
import re
import sys

import pytest

from experiments import train
from experiments.ask.budget import Budget
from experiments.ask.command_line import parse
from experiments.ask.flags import RunFlags
from experiments.plan.capacity import PACE, SERIAL, START_AND_END_S
from experiments.plan.learners import PG, Learner, Pace
from experiments.plan.resources import ClusterResources
from experiments.run import sweep_program
from experiments.run.draft import Draft, renumbered
from experiments.run.planning import show
from tests.helpers.programs import ROOT, call
from tests.helpers.trials import CARTPOLE
from trainables.checks import ConfigError
from trainables.config import PGConfig


def draft(configs, limit=None):
    return Draft(PG, RunFlags(), Budget(4), configs, max_concurrent=limit, resources=ClusterResources((4,)))


def test_trials_at_once_follow_from_what_they_reserve_and_from_the_flag():
    for workers, limit, expected in (([1, 1, 2, 2], None, 3), ([4, 4], None, 1), ([1, 1, 1], 2, 2)):
        assert draft([PGConfig(num_workers=n) for n in workers], limit).concurrent == expected


def planned(monkeypatch, tmp_path, *words, cores=2):
    monkeypatch.setattr(Learner, "pace", lambda *_: Pace(1 / 5000))
    monkeypatch.setattr(sweep_program, "resources_for", lambda run: ClusterResources((cores,)))
    words = [*words, "--storage-path", str(tmp_path)]
    return sweep_program.prepare(PG, *parse(sweep_program.FLAGS, args=words), words)


def test_a_single_trial_has_as_many_workers_as_one_of_a_longer_sweep_could_have(monkeypatch, tmp_path):
    single = ["--num-samples", "1", "--timesteps", "9000"]
    for cores, words, workers in ((1, ["--time-budget-s", "200"], 1), (1, single, 1), (8, single, 2)):
        (config,) = planned(monkeypatch, tmp_path, *words, cores=cores).configs
        assert config.num_workers == workers


def test_of_two_limits_a_sweep_is_planned_by_the_one_that_is_reached_first(monkeypatch, tmp_path):
    one = planned(monkeypatch, tmp_path, "--iterations", "100")
    two = planned(monkeypatch, tmp_path, "--iterations", "100", "--timesteps", "100_000_000")
    assert len(one.configs) == len(two.configs) > 1


def test_settings_for_which_the_memory_is_too_small_are_refused_in_one_line(monkeypatch, tmp_path):
    with pytest.raises(ConfigError, match="Unable to allocate"):
        planned(monkeypatch, tmp_path, "--set=hidden_size=1e13", "--scheduler=fifo", "--iterations=9")


@pytest.mark.parametrize(("cpus", "as_long"), [(0.5, 2), (1.0, 1), (2.0, 2)])
def test_a_worker_is_as_fast_as_one_core_whatever_it_reserves(cpus, as_long, monkeypatch):
    """Half a core for each of four trials, a core for each, and two cores for each of two at once."""
    monkeypatch.setattr(Learner, "pace", lambda *_: Pace(1 / 500))
    whole, other = (draft([PGConfig(num_workers=1, cpus_per_worker=each)] * 4) for each in (1.0, cpus))
    played, expected = other.seconds - START_AND_END_S, as_long * (whole.seconds - START_AND_END_S)
    assert played == pytest.approx(expected, rel=0.05)


def test_one_estimate_holds_for_a_run_its_seeds_and_a_sweep_of_as_many_trials(monkeypatch, tmp_path):
    """``train.py --seeds 3`` said the time of one seed, and without what updates and evaluations take."""
    monkeypatch.setattr(Learner, "pace", lambda *_: Pace(1 / 5000))
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setattr(train, "resources_for", lambda run: ClusterResources((2,)))
    monkeypatch.setattr(sweep_program, "resources_for", lambda run: ClusterResources((2,)))

    def minutes(draft):
        return float(draft.seconds) / 60

    one, three = (train.prepare(PG, ["--seeds", str(seeds), "--storage-path", str(tmp_path)]) for seeds in (1, 3))
    assert minutes(one) == pytest.approx(4_915_200 / 5000 / 60 / (PACE * 2 / (1 + SERIAL)), rel=0.05)
    assert minutes(three) == pytest.approx(3 * minutes(one), rel=0.05), "two workers each, on two cores"
    words = ["--scheduler", "fifo", "--num-samples", "3", "--timesteps", "4915200", "--num-workers", "2"]
    words += ["--sweep", "learning_rate=1e-3,2e-3,3e-3", "--storage-path", str(tmp_path)]
    sweep = sweep_program.prepare(PG, *parse(sweep_program.FLAGS, args=words), words)
    assert minutes(sweep) == pytest.approx(minutes(three))
    words = ["--num-samples", "1", "--timesteps", "4915200", "--storage-path", str(tmp_path)]
    halved = sweep_program.prepare(PG, *parse(sweep_program.FLAGS, args=words), words)
    assert minutes(halved) == pytest.approx(minutes(one)), "one trial, with all cores"


def test_a_plan_on_cores_that_others_keep_busy_says_so(notes, monkeypatch):
    assert not [note for note in notes("--num-samples", 3) if "busy" in note]
    monkeypatch.setattr(Learner, "pace", lambda *_: Pace(1 / 5000, 2.0))
    for words in (("--num-samples", 3), ("--scheduler", "fifo")):
        (busy,) = [note for note in notes(*words) if "busy" in note]
        assert "2.0 times as long as a free core takes" in busy


def test_what_is_said_to_be_the_same_in_all_is_the_same_in_all_though_nobody_sweeps_it(capsys):
    """The number of updates follows from the segments' length."""
    show(draft([PGConfig(segment_length=length, updates_per_iteration=8 // (length // 256)) for length in (256, 512)]))
    text = " ".join(capsys.readouterr().out.split())
    same = text.partition("Same in all: ")[2].partition("An agent step")[0]
    assert "gamma=0.99" in same
    assert "updates_per_iteration" not in same
    assert "segment_length" not in same


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_no_word_of_a_plan_is_cut_at_a_terminals_edge(monkeypatch):
    monkeypatch.setattr(Learner, "pace", lambda *_: Pace(1 / 5000))
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "15")
    show(draft([PGConfig(num_workers=1, seed=seed) for seed in range(3)]))
    first, second, *_ = sys.stdout.getvalue().splitlines()
    assert (first.rstrip(), second.rstrip()) == ("3 trials of 4", "iterations")


def test_a_fork_of_some_trials_keeps_their_configurations():
    assert renumbered([0, 0, 1, 2], [1, 3]) == [0, 1]
    assert renumbered(None, [1, 3]) is None


@pytest.fixture
def notes(monkeypatch, tmp_path):
    """The notes of a sweep's plan, on cores that play 5,000 steps a second."""
    monkeypatch.setattr(Learner, "pace", lambda *_: Pace(1 / 5000))
    monkeypatch.setenv("COLUMNS", "1000")

    def noted(*words, program="sweep_pong.py"):
        status, printed, complaint = call(program, *words, "--dry-run", "--storage-path", tmp_path)
        assert (status, complaint) == (0, "")
        return re.findall("^Note: (.*)$", printed, re.MULTILINE)

    return noted


def about(words, notes):
    """The notes in which some words stand."""
    return [note for note in notes if words in note]


def test_each_choice_that_was_named_gets_a_trial_or_the_plan_says_which_do_not_and_what_time_they_need(notes):
    sweep = ("--sweep", "hidden_size=50,100", "--set", "num_workers=1")
    (left,) = about("No trial has", notes(*sweep, "--time-budget-s", 60))
    assert left.startswith("No trial has hidden_size=")
    assert ": 1 configuration of the space." in left
    needed = int(left.rpartition(" ")[2].rstrip("."))
    assert not about("No trial has", notes(*sweep, "--time-budget-s", needed))


def test_a_single_trial_has_the_presets_settings_and_the_plan_says_so(notes):
    (said,) = about("single", notes("--time-budget-s", 60))
    assert said.startswith("A single trial has the settings of default: nothing is swept.")
    needed = int(said.rpartition(" ")[2].rstrip("."))
    assert not about("single", notes("--time-budget-s", needed))
    (said,) = about("single", notes("--num-samples", 1, "--scheduler", "fifo"))
    assert said.endswith("Three take --num-samples 3."), "no time decides how many there are"


@pytest.mark.parametrize(
    "sweep",
    [
        ("hidden_size=10,20,30,40,50", "--sweep", "clip=0.1,0.2,0.3,0.4", "--num-samples", 3),
        ("hidden_size=10,20,30,40,50,60,70", "--timesteps", 400_000, "--time-budget-s", 900),
    ],
    ids=["five draw each of five choices, and not each of four", "eight miss one of seven by chance"],
)
def test_as_many_trials_as_are_proposed_draw_each_choice_of_each_setting(notes, sweep):
    (said,) = about("No trial has hidden_size=", notes("--sweep", *sweep))
    flag, proposed = said.rpartition(" takes ")[2].rstrip(".").split()
    assert flag == "--num-samples"
    kept = [word for word in sweep if word not in (flag, 3)]
    assert not about("No trial has", notes("--sweep", *kept, flag, proposed))


@pytest.mark.parametrize("seconds", [30, 90, 600])
def test_what_time_decides_takes_no_longer_with_its_start_and_end(seconds, monkeypatch, tmp_path):
    monkeypatch.setattr(Learner, "pace", lambda *_: Pace(1 / 5000))
    words = ["--time-budget-s", str(seconds), "--storage-path", str(tmp_path)]
    asked = sweep_program.prepare(PG, *parse(sweep_program.FLAGS, args=words), words)
    assert 0.8 * seconds < asked.seconds <= seconds


@pytest.mark.parametrize("scheduler", ["halving", "fifo"])
def test_where_the_number_of_trials_was_given_another_number_is_proposed_and_it_is_enough(notes, scheduler):
    sweep = ("--sweep", "hidden_size=10,20,30,40,50", "--scheduler", scheduler)
    (left,) = about("No trial has", notes(*sweep, "--num-samples", 3))
    words = left.rpartition(" takes ")[2].rstrip(".").split()
    assert words[0] == "--num-samples"
    assert not about("No trial has", notes(*sweep, *words))


def test_a_comparison_that_is_too_early_to_tell_is_said_to_be(notes):
    (early,) = about("luck", notes("--num-samples", 6, "--timesteps", 250_000))
    assert early.startswith("Trials are compared at 19,231 and 76,923 agent steps.")
    assert not about("luck", notes("--num-samples", 6, "--timesteps", 4_000_000))


def test_nothing_is_said_of_early_comparisons_in_other_environments_than_pong(notes):
    early = ["--num-samples", 6, "--timesteps", 250_000]
    for name in ("env_id", "slots", "timesteps_per_batch", "reset_on_reward", "coarse_coding"):
        early += ["--set", f"{name}={json.dumps(CARTPOLE[name])}"]
    assert not about("luck", notes(*early, program="sweep_trpo.py"))


OTHER_WAYS = {"Continuation", "RestoredTrial", "ForkOf", "Start", "ExperimentSpec"}
"""What only forks, confirmations, experiments that go on, and what is written have to know."""


def test_the_way_to_a_plan_holds_the_concepts_that_the_architecture_names_and_these_are_few():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    section = page.split("## From a command to a plan")[1].split("\n## ")[0]
    told = re.findall(r"`[\w/]+\.py:([A-Z]\w+)`", section)
    assert len(told) == len({*told}), "each is named once"
    assert len({*told} - OTHER_WAYS) == 13
    met = set()
    for file in ("run/sweep_program", "run/draft", "run/planning", "plan/capacity"):
        for node in ast.parse((ROOT / "experiments" / f"{file}.py").read_text("utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module.startswith(("experiments", "trainables.config")):
                met |= {name.name for name in node.names if re.match("[A-Z][a-z]", name.name)}
    assert met - {"Rows"} <= {*told} | OTHER_WAYS


def test_a_draft_is_what_an_experiments_specification_is_made_of_and_nothing_else():
    making = set()
    for path in (ROOT / "experiments").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "ExperimentSpec":
                making.add(path.name)
    assert making == {"draft.py"}
