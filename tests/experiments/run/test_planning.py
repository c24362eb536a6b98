"""The plan of a sweep that has no rounds: how many trials run at once, and how long all of them take."""

import ast
import re
from types import SimpleNamespace

import pytest

from experiments.ask.budget import Budget
from experiments.ask.flags import RunFlags
from experiments.plan.learners import PG, Learner
from experiments.plan.resources import ClusterResources
from experiments.run.draft import Draft
from experiments.run.forks import of_some
from experiments.run.planning import show
from tests.helpers.programs import ROOT, call
from trainables.config import PGConfig


def draft(configs, limit=None, learner=PG):
    return Draft(learner, RunFlags(), Budget(4), configs, max_concurrent=limit, resources=ClusterResources((4,)))


def test_trials_at_once_follow_from_what_they_reserve_and_from_the_flag():
    for workers, limit, expected in (([1, 1, 2, 2], None, 3), ([4, 4], None, 1), ([1, 1, 1], 2, 2)):
        assert draft([PGConfig(num_workers=n) for n in workers], limit).concurrent == expected


@pytest.mark.parametrize(("cpus", "seconds"), [(0.5, 400), (1.0, 200), (2.0, 400)])
def test_a_worker_is_as_fast_as_one_core_whatever_it_reserves(cpus, seconds):
    learner = SimpleNamespace(seconds=lambda *_: 200.0)
    configs = [PGConfig(num_workers=1, cpus_per_worker=cpus)] * 4
    assert draft(configs, learner=learner).playing_seconds == seconds


def test_what_is_said_to_be_the_same_in_all_is_the_same_in_all_though_nobody_sweeps_it(capsys):
    """The number of updates follows from the segments' length."""
    show(draft([PGConfig(segment_length=length, updates_per_iteration=8 // (length // 256)) for length in (256, 512)]))
    text = " ".join(capsys.readouterr().out.split())
    same = text.partition("Same in all: ")[2].partition("An agent step")[0]
    assert "gamma=0.99" in same
    assert "updates_per_iteration" not in same
    assert "segment_length" not in same


def test_a_fork_of_some_trials_keeps_their_configurations():
    assert of_some([0, 0, 1, 2], [1, 3]) == [0, 1]
    assert of_some(None, [1, 3]) is None


@pytest.fixture
def notes(monkeypatch, tmp_path):
    """The notes of a sweep's plan, on cores that play 5,000 steps a second."""
    monkeypatch.setattr(Learner, "seconds", lambda *_: 1 / 5000)
    monkeypatch.setenv("COLUMNS", "1000")

    def noted(*words):
        status, printed, complaint = call("sweep_pong.py", *words, "--dry-run", "--storage-path", tmp_path)
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
    assert "1 configuration cannot have all" in left
    needed = int(left.rpartition(" ")[2].rstrip("."))
    assert not about("No trial has", notes(*sweep, "--time-budget-s", needed))


def test_a_single_trial_has_the_presets_settings_and_the_plan_says_so(notes):
    (said,) = about("single", notes("--time-budget-s", 60))
    assert said.startswith("A single trial has the settings of default: nothing is swept.")
    needed = int(said.rpartition(" ")[2].rstrip("."))
    assert not about("single", notes("--time-budget-s", needed))
    assert about("single", notes("--num-samples", 1, "--scheduler", "fifo"))


def test_a_comparison_that_is_too_early_to_tell_is_said_to_be(notes):
    (early,) = about("luck", notes("--num-samples", 6, "--timesteps", 250_000))
    assert early.startswith("Trials are compared at 19,231 and 76,923 agent steps.")
    assert not about("luck", notes("--num-samples", 6, "--timesteps", 4_000_000))


OTHER_WAYS = {"Continuation", "Confirm", "RestoredTrial", "ForkOf", "ExperimentSpec"}
"""What only forks, confirmations, experiments that go on, and what is written have to know."""


def test_the_way_to_a_plan_holds_the_concepts_that_the_architecture_names_and_these_are_few():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    section = page.split("## From a command to a plan")[1].split("\n## ")[0]
    told = re.findall(r"`[\w/]+\.py:([A-Z]\w+)`", section)
    assert len(told) == len({*told}), "each is named once"
    assert len({*told} - OTHER_WAYS) == 13
    met = set()
    for file in ("run/sweep_program", "run/draft", "run/planning", "plan/extent"):
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
