"""What the benchmarks measured: blocks of numbers_in_pages.py."""

import json
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
from published import DATA, benchmark, runs, table

Row = Mapping[str, Any]

LEARNERS = {"PongPG": "pg", "PongTRPO": "trpo"}
CLUSTER = "11 x 18 cores"
"""The original program's."""

FIRST = (
    (
        "watch.py",
        "python experiments/watch.py tests/data/trained/pg",
        "see a trained policy play, and get a film of it",
    ),
    ("sweep_pong.py", "python experiments/sweep_pong.py --smoke-test", "see that everything works here"),
    ("train.py", "python experiments/train.py pg", "train one configuration"),
    ("tensorboard", "tensorboard --logdir results", "watch the curves, the films and the neurons"),
    (
        "results.py",
        "python experiments/results.py report NAME",
        "get a page with all figures and tables of an experiment",
    ),
)
"""What README begins with: program, command, and what for."""


def begin() -> str:
    """README's first commands, with the time that each takes: of training the longest of its seeds."""
    data = json.loads((DATA / "first_commands.json").read_text())
    seconds = {program: median(values) for program, values in data.items()}
    seconds["train.py"] = max(float(run.windows.seconds_w[-1]) for run in runs("pg").runs)
    takes = {program: f"{s / 60:.0f} min" if s >= 60 else f"{s:.0f} s" for program, s in seconds.items()}
    rows = [[f"`{command}`", what, takes.get(program, "")] for program, command, what in FIRST]
    return table(["type", "to", "takes, on 2 cores"], rows)


def speeds() -> str:
    """What each question of benchmark.py found, with the middle half of its rounds where it has several."""
    rows = [*_rollout(), *_reinforce(), *_tune(), *_simulate(), *_trpo()]
    return table(["what", "figure", "`benchmark.py`"], rows)


def iterations() -> str:
    """The parts of whole iterations."""
    rows, tables = [], benchmark("update")
    for number, whole in enumerate(tables):
        name = whole["title"].split(",")[0]
        if name in LEARNERS:
            parts = {row["part"]: row["share"]["middle"] for row in tables[number + 1]["rows"]}
            share = _row(whole["rows"], "side", name)["share of emulator"]
            rows.append([f"`train.py {LEARNERS[name]}`", _figure(share), *(f"{value:.2f}" for value in parts.values())])
    return table(["whole iterations, 2 workers", "share of the emulator", *parts], rows)


def clusters() -> str:
    """What the model says of machines that nobody here has."""
    heads = ["cluster", "games per update", "s per update", "cores busy", "learner busy", "its link busy", "limit"]
    rows = [
        [
            *(row["cluster"], str(row["games"]), f"{row['s/update']['middle']:.2g}"),
            *(f"{100 * row[part]:.0f}%" for part in ("cores busy", "learner busy", "link busy")),
            row["bottleneck"],
        ]
        for row in _rows("simulate", "The model's answers")
    ]
    return table(heads, rows)


def _rollout() -> list[list[str]]:
    """One worker, by what it computes beside playing."""
    rows = _rows("rollout", "One worker")
    sides = {
        "a worker of REINFORCE, gradients included": "REINFORCE",
        "a worker of PPO, advantages included": "PPO",
        "a worker of TRPO, advantages included": "TRPO",
        "the same with `coarse_coding`": "TRPO, coarse coding",
    }
    found = {name: _row(rows, "side", side) for name, side in sides.items()}
    lines = [[name, f"{_figure(row['share of emulator'])} of the emulator", "`rollout`"] for name, row in found.items()]
    lines[0][1] += f", {rows[1]['of notebook']['middle']:.1f} times the original's arithmetic"
    return lines


def _reinforce() -> list[list[str]]:
    """Updates of REINFORCE on two workers, and what a game sends."""
    row = _row(_rows("reinforce", "PongPG, 10 games"), "side", "2 workers")
    whole = f"{_figure(row['emulator share'])} of the emulator, {row['speed-up']['middle']:.1f} times one process"
    sent = [_rows("reinforce", f"PongPG, {games} games")[0]["MB/game"] for games in (10, 60)]
    return [
        ["whole updates of REINFORCE on 2 workers, 10 games", whole, "`reinforce`"],
        [
            "what a game sends to the learner in the first updates, of 10 and of 60 games",
            f"{sent[0]:.2f} and {sent[1]:.2f} MB, for the original's 10.24 (200 x 6,400 numbers of 8 bytes)",
            "`reinforce`",
        ],
    ]


def _tune() -> list[list[str]]:
    """What Tune adds, and how soon a program plays."""
    under = _row(_rows("tune", "PongPG"), "side", "under Tune")["of bare"]
    first = _rows("tune", "From the command")[0]["s"]
    return [
        ["updates under Tune, with logs and checkpoints", f"{_figure(under)} of the time without", "`tune`"],
        ["from `sweep_pong.py --smoke-test` to the first game", f"{first['middle']:.0f} s", "`tune`"],
    ]


def _simulate() -> list[list[str]]:
    """How well the model does, and what it says of the original's cluster."""
    checked = [f"{row['model/real']:.2f}" for row in _rows("simulate", "The model against")]
    row = _row(_rows("simulate", "The model's answers"), "cluster", CLUSTER)
    return [
        ["modelled time of an update, for the real one, 1 and 2 workers", " and ".join(checked), "`simulate`"],
        [
            f"{row['games']} games on 11 nodes of 18 cores",
            f"{row['s/update']['middle']:.1f} s by the model; the original reports 10 s",
            "`simulate`",
        ],
    ]


def _trpo() -> list[list[str]]:
    """The original's first ten iterations."""
    rows = _rows("trpo", "First 10 iterations")
    here = ", ".join(f"{row['s']['middle']:.0f} s with {row['workers']} workers" for row in rows)
    original = " and ".join(f"{row['original, s']:.0f}" for row in rows)
    figure = f"{here.replace('1 workers', '1 worker')}; the original reports {original} s, on 1 core and on 16"
    return [["the first 10 iterations of TRPO by whole games, as in the original", figure, "`trpo`"]]


def _figure(interval: Mapping[str, float]) -> str:
    """The median of the rounds, and their middle half."""
    low, middle, high = (interval[name] for name in ("low", "middle", "high"))
    return f"{middle:.2f}" if np.isclose(low, high) else f"{middle:.2f} ({low:.2f} to {high:.2f})"


def _rows(name: str, title: str) -> list[dict[str, Any]]:
    return next(table["rows"] for table in benchmark(name) if table["title"].startswith(title))


def _row(rows: Sequence[Row], column: str, value: str) -> Row:
    return next(row for row in rows if row[column] == value)
