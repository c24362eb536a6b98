"""The benchmark program: its model obeys its limits, and its figures come out as tables and JSON."""

import json
import re
import sys

import numpy as np
import pytest

from experiments import benchmark
from experiments.benchmarks.measure import Quartiles, Table, alternate, show
from experiments.benchmarks.simulate import Cluster, Costs, simulate

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
    assert update.bottleneck.startswith("the longest games")


@pytest.mark.parametrize(("nodes", "cores"), [(1, 2), (3, 4), (11, 18)])
def test_no_update_is_faster_than_its_work_allows(nodes, cores):
    rng, batch = np.random.default_rng(1), 300
    for _ in range(20):
        update = simulate(Cluster(nodes, cores, 1.25e9, 5e-4), COSTS, batch, rng)
        assert update.seconds >= max(batch * 0.001, batch * 0.2 / (nodes * cores))
        assert all(0 < share <= 1 for share in update.busy.values())
        assert 0 <= update.tail <= 1


def test_the_bottleneck_is_named():
    rng, cluster = np.random.default_rng(0), Cluster(100, 10, 1.25e9)
    assert simulate(Cluster(1, 2), EQUAL, 100, rng).bottleneck.startswith("the cores")
    assert simulate(cluster, EQUAL._replace(result_s=0.1), 1000, rng).bottleneck.startswith("the learner,")
    assert simulate(cluster, EQUAL._replace(game_bytes=5e8), 1000, rng).bottleneck.startswith("the learner's network")


def test_sides_alternate_and_the_first_round_does_not_count():
    calls = []

    def side(name):
        calls.append(name)
        return len(calls)

    assert alternate({"a": lambda: side("a"), "b": lambda: side("b")}, 2) == {"a": [3, 5], "b": [4, 6]}
    assert calls == ["a", "b"] * 3


@pytest.mark.parametrize("count", [1, 3, 20])
def test_a_table_on_80_columns_loses_no_letter(count, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    names = ["M agent steps", "bare frames/s", "efficiency", "s/update", "speed-up", "emulator share", "MB/game"]
    show([Table("title", [{name: Quartiles(0.123, 0.124, 0.125) for name in names}] * count)], None)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert count == 20 or all(name in "\n".join(lines) for name in names)
    assert "".join(lines).count("0.124") == count * len(names)


@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "column", "names"),
    [
        (
            "rollout --rounds 1",
            "side",
            [*("emulator", "REINFORCE"), "emulator, a trained policy's moves", *("PPO", "TRPO", "PPO, Ray's actor")],
        ),
        ("reinforce --rounds 1 --games-per-update 1", "side", ["serial, no Ray", "1 worker", "2 workers"]),
        ("simulate --updates 3", "workers", [1, 2]),
    ],
)
def test_a_benchmark_prints_tables_and_writes_them(words, column, names, tmp_path, monkeypatch, capsys):
    run(monkeypatch, *words.split(), "--json", str(tmp_path / "tables.json"))
    tables = json.loads((tmp_path / "tables.json").read_text())
    assert [row[column] for row in tables[0]["rows"]][: len(names)] == names
    assert all(table["title"].split()[0] in capsys.readouterr().out for table in tables[:1])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("rolout", "unknown benchmark 'rolout'; did you mean 'rollout'?"),
        ("reinforce --games-per-update 10 0", "games_per_update=0: accepted is a whole number >= 1"),
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
    assert {*benchmark.BENCHMARKS} <= {*re.findall(r"^  (\w+)$", text, re.MULTILINE)}
