"""The benchmark program: its model obeys its limits, and its figures come out as tables and JSON."""

import json
import sys

import numpy as np
import pytest

from experiments import benchmark
from experiments.benchmarks.model import Cluster, Costs, bottleneck, simulate

GAME_S = np.array([0.2, 0.3, 0.5])
COSTS = Costs(GAME_S, game_bytes=5e5, theta_bytes=5e6, start_s=0.01, result_s=0.001, update_s=0.02)
EQUAL = COSTS._replace(game_s=np.array([0.25]))


def run(monkeypatch, *argv):
    monkeypatch.setattr(sys, "argv", ["benchmark.py", *argv])
    benchmark.main()


def test_one_worker_plays_one_game_after_the_other():
    games = 7
    update = simulate(Cluster(1, 1), EQUAL, games, np.random.default_rng(0))
    assert update.seconds == pytest.approx(0.01 + games * (0.25 + 0.001) + 0.02)


def test_with_a_worker_for_each_game_the_longest_one_decides():
    update = simulate(Cluster(1, 50), COSTS._replace(result_s=0.0), 50, np.random.default_rng(0))
    assert update.seconds == pytest.approx(0.01 + 0.5 + 0.02)
    assert bottleneck(update).startswith("the longest games")


@pytest.mark.parametrize(("nodes", "cores"), [(1, 2), (3, 4), (11, 18)])
def test_no_update_is_faster_than_its_work_allows(nodes, cores):
    rng, batch = np.random.default_rng(1), 300
    for _ in range(20):
        update = simulate(Cluster(nodes, cores, 1.25e9, 5e-4), COSTS, batch, rng)
        assert update.seconds >= max(batch * 0.001, batch * 0.2 / (nodes * cores))
        assert 0 < update.workers <= 1
        assert 0 < update.learner <= 1
        assert 0 <= update.network <= 1
        assert 0 <= update.tail <= 1


def test_the_bottleneck_is_named():
    rng, cluster = np.random.default_rng(0), Cluster(100, 10, 1.25e9)
    assert bottleneck(simulate(Cluster(1, 2), EQUAL, 100, rng)).startswith("the cores")
    assert bottleneck(simulate(cluster, EQUAL._replace(result_s=0.1), 1000, rng)).startswith("the learner,")
    assert bottleneck(simulate(cluster, EQUAL._replace(game_bytes=5e8), 1000, rng)).startswith("the learner's network")


@pytest.mark.ray
@pytest.mark.slow
def test_a_benchmark_prints_tables_and_writes_them(tmp_path, monkeypatch, capsys):
    run(monkeypatch, "rollout", "--rounds", "1", "--json", str(tmp_path / "rollout.json"))
    whole, parts = json.loads((tmp_path / "rollout.json").read_text())
    shares = {row["side"]: row["share of emulator"]["middle"] for row in whole["rows"]}
    assert shares.keys() == {
        "emulator",
        "REINFORCE",
        "PPO",
        "TRPO",
        "TRPO, coarse coding",
        "dense oracle",
        "notebook",
    }
    assert shares["emulator"] == 1
    assert min(shares.values()) > 0
    assert sum(row["share"]["middle"] for row in parts["rows"]) == pytest.approx(1)
    assert "dense oracle" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("rolout", "unknown benchmark 'rolout'; did you mean 'rollout'?"),
        ("reinforce --batch-sizes 10 0", "batch_sizes=0: accepted is a number >= 1"),
        ("rollout --rounds 0", "rounds=0"),
        ("rollout --json nowhere/rollout.json", "--json nowhere/rollout.json: there is no folder nowhere"),
        ("simulate --nodes 0", "nodes=0"),
        ("tune --iterations 2", "iterations=2"),
        ("sweep --learner ppo", "invalid choice 'ppo' for argument '--learner'. Expected one of ('pg', 'trpo')"),
        ("sweep --keep .", "--keep .: accepted is a new folder in one that is there"),
        ("sweep --keep nowhere/kept", "--keep nowhere/kept: accepted is a new folder in one that is there"),
    ],
)
def test_bad_input_is_answered_in_one_line(argv, message, monkeypatch, capsys):
    with pytest.raises(SystemExit) as stop:
        run(monkeypatch, *argv.split())
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_help_names_every_benchmark(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, "--help")
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in benchmark.BENCHMARKS)
