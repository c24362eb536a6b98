"""What terminal, list and report propose to type next is accepted, and has something to do. Nothing is played here."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from experiments.analysis.configurations import by_configuration
from experiments.analysis.next_command import next_command, next_step
from experiments.disk.decisions import Decision, write_decisions
from experiments.disk.experiments import read_experiment
from experiments.disk.lock import exclusive
from experiments.plan.learners import Learner, Pace
from experiments.plan.resources import ClusterResources
from experiments.run import lifecycle
from experiments.show.answer import add_answer
from experiments.show.page import Page
from experiments.show.summary import winner_lines
from tests.helpers.programs import ROOT, call, refused
from tests.helpers.small_experiments import trial_folders
from tests.helpers.written_experiments import write_experiment, write_policies

ERROR = "RuntimeError: no luck"
TIME_IS_UP = {"ended": "time budget", "time_budget_s": 90.0}
HALVED = {"scheduler": "halving", "rungs": [1, 2], "swept": ["gamma"]}
CASES = {
    # name: (the trials' endings, the record, the step that comes next)
    "ended": ([None, None], {}, "Extend"),
    "interrupted": ([None, "running"], {}, "Resume"),
    "time is up": ([None, "running"], TIME_IS_UP, "Resume"),
    "failed": ([None, ERROR], {}, "Resume"),
    "diverged": (["diverged", "diverged"], {}, ""),
    "failed, diverged": ([ERROR, "diverged"], {}, "Resume"),
    "halved": ([None, "dropped"], HALVED, "Extend"),
    "halved, the loser failed": ([None, "dropped, failed"], HALVED, "Extend"),
    "halved, the winner diverged": (["diverged", "dropped"], HALVED, ""),
    "halved, the winner failed": ([ERROR, "dropped"], HALVED, "Resume"),
}


@pytest.fixture
def played(tmp_path, monkeypatch):
    """The names of the experiments that programs run, or would: all that comes before is what a user's program does."""
    names = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(ROOT / "experiments" / "results.py"), "list"])
    monkeypatch.setattr(lifecycle, "start_ray", lambda *of: ClusterResources((4,)))
    monkeypatch.setattr(lifecycle, "_run", lambda session: names.append(session.folder.name) or 130)
    return names


@pytest.fixture
def make(tmp_path):
    """Writes an experiment of a case; returns its folder."""

    def write(case):
        endings, record, _ = CASES[case]
        trials = []
        for seed, ending in enumerate(endings):
            rows = 2 if ending in (None, "diverged", ERROR) else 1
            on_disk = {"diverged": "running", "dropped": "running", "dropped, failed": ERROR}.get(ending, ending)
            trials.append(({"seed": seed, "gamma": 0.9 + seed / 100}, [-20.0] * rows, on_disk))
        folder = write_experiment(tmp_path / "results", "b", "pg", trials, iterations=2, **record)
        for trial, ending in zip(trial_folders(folder), endings, strict=True):
            if ending is None:
                write_policies(trial, "pg", {2: -20.0})
            if ending == "diverged":
                text = (trial / "result.json").read_text(encoding="utf-8").splitlines()
                last = json.dumps(json.loads(text[0]) | {"diverged": 1, "done": True})
                (trial / "result.json").write_text(last + "\n", encoding="utf-8")
        if record.get("scheduler") == "halving":
            scores = [None if ending == "dropped, failed" else -20.0 for ending in endings]
            write_decisions(folder, [Decision(at=1, scores=scores, kept=[0])])
        return folder

    return write


def proposals(folder):
    """What list, report and terminal propose to do next with an experiment."""
    listed = dict(re.findall(r"^Resume (\S+):  (.*)$", call("results.py", "list")[1], re.MULTILINE))
    experiment, page = read_experiment(folder), Page()
    add_answer(page, [experiment], by_configuration([experiment]))
    report = re.findall(r"^Go on: `(.*)`$", page.text, re.MULTILINE)
    return listed.get("b", ""), "".join(report), next_command(experiment)


@pytest.mark.parametrize("case", CASES)
def test_the_next_command_is_the_same_everywhere_and_is_accepted(case, make, played):
    folder = make(case)
    step = CASES[case][-1]
    listed, report, command = proposals(folder)
    assert next_step(read_experiment(folder)) == step
    assert report == command
    assert listed == (command if step == "Resume" else ""), "what ended well needs no line in the list"
    assert bool(command) == bool(step)
    if not command:
        return
    assert f"--{step.lower()} results/b" in command
    program, *words = shlex.split(command)[1:]
    status, output, complaint = call(Path(program).name, *words)
    assert (status, complaint) == (130, ""), output
    assert played == ["b"]
    assert "Every trial has come to its end" not in output, "it has something to do"


def test_nothing_is_proposed_while_a_program_is_at_work(make, played):
    folder = make("interrupted")
    with exclusive(folder):
        assert proposals(folder) == ("", "", "")


@pytest.mark.parametrize("case", ["diverged", "halved, the winner diverged"])
def test_what_is_not_proposed_would_be_refused(case, make, played):
    make(case)
    line = refused("sweep_pong.py", "--extend", "results/b", "--iterations", 4)
    assert "--extend b: its trials diverged or were stopped early, and stay so" in line
    assert not played


def test_the_best_can_be_played_again_with_the_line_that_says_so(make, played, monkeypatch):
    monkeypatch.setattr(Learner, "pace", lambda *of: Pace(1e-4))  # no games are played for the plan
    folder = make("halved")
    text = " ".join(winner_lines(read_experiment(folder)))
    command = text.partition("to play the best again with others: ")[2]
    assert command == f"python {ROOT}/experiments/sweep_pong.py --confirm results/b"
    program, *words = shlex.split(command)[1:]
    status, _, complaint = call(Path(program).name, *words)
    assert (status, complaint) == (130, "")
    assert played == ["b-confirm"]
    text = " ".join(winner_lines(read_experiment(folder)))
    command = text.partition("how the best plays with others: ")[2]
    assert command == f"python {ROOT}/experiments/results.py report results/b results/b-confirm", "it has been begun"
