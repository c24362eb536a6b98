"""A space of one's own through the programs' door: the plan shows it, the record keeps it, and the file may go."""

import shlex
import sys

import pytest

from experiments.ask.command_line import parse
from experiments.plan import capacity
from experiments.plan.learners import PG
from experiments.plan.resources import ClusterResources
from experiments.read.next_command import plan_command
from experiments.run import lifecycle, sweep

SWEPT = {"learning_rate": "0.0001..0.01:log", "gamma": "0.98,0.99", "epochs": "1,2,3"}


@pytest.fixture(autouse=True)
def on_four_cpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweep, "resources_for", lambda run: ClusterResources((4,)))
    monkeypatch.setattr(lifecycle, "require_disk", lambda *of: 0)  # it builds every network
    monkeypatch.setattr(capacity, "_seconds_per_step", lambda *of: 2e-4)  # it plays games
    (tmp_path / "mine.yaml").write_text("learning_rate: 1e-4..1e-2:log\ngamma: [0.98, 0.99]\nepochs: 1..3:3\n")


def planned(monkeypatch, words):
    monkeypatch.setattr(sys, "argv", ["experiments/sweep_pong.py", *words])
    return sweep.prepare(PG, parse(sweep.Arguments, args=words), words)[0].spec


@pytest.mark.parametrize(
    "words",
    [
        ["--space", "mine.yaml"],
        ["--space=mine.yaml", "--sweep", "epochs=1..3:3", "--seed", "3", "--seeds", "2"],
        ["--space", "mine.yaml", "--sweep=learning_rate=1e-4,1e-3", "--grid", "--scheduler", "fifo"],
    ],
    ids=["file", "and a flag", "grid"],
)
def test_the_same_plan_is_made_elsewhere_without_the_file(monkeypatch, tmp_path, words):
    spec = planned(monkeypatch, words)
    rates = {"learning_rate": "0.0001,0.001"} if "--grid" in words else {}
    assert spec.space == SWEPT | rates
    assert set(spec.swept) >= SWEPT.keys()
    if "--grid" in words:
        assert len(spec.configs) == 2 * 2 * 3
    (tmp_path / "mine.yaml").unlink()
    _, _, *again = shlex.split(plan_command(spec.to_dict()))
    assert planned(monkeypatch, again).configs == spec.configs


def test_the_plan_shows_the_space_in_words(monkeypatch, capsys):
    words = ["--space", "mine.yaml", "--dry-run"]
    monkeypatch.setattr(sys, "argv", ["experiments/sweep_pong.py", *words])
    with pytest.raises(SystemExit) as stop:
        sweep.main(PG, "")
    assert stop.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Space: " + ", ".join(f"{name}={words}" for name, words in SWEPT.items()) in shown
