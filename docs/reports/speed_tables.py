"""Tables of what benchmark.py measured, made of its JSON in docs/reports/data: learners, clusters, whole sweeps."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from learning_tables import DATA, SWEEPS, present, rows_of, runs, table

from experiments.plan.identity import SPEED_ONLY
from experiments.plan.trial_names import short
from trainables.texts import counted

Rows = list[dict[str, Any]]
CLUSTER = "11 x 18 cores"
"""The original program's."""


def tables(name: str) -> list[dict[str, Any]]:
    """What a benchmark wrote: title, note and rows of each table."""
    return json.loads((DATA / f"benchmark_{name}.json").read_text())


def benchmark(name: str, title: str = "") -> Rows:
    """The rows of the first of its tables whose title begins so."""
    return next(table["rows"] for table in tables(name) if table["title"].startswith(title))


def row(rows: Rows, column: str, value: str) -> dict[str, Any]:
    """The row that has this value."""
    return next(row for row in rows if row[column] == value)


def figure(interval: Mapping[str, float]) -> str:
    """The median of the rounds, and their middle half where there are several."""
    low, middle, high = (interval[name] for name in ("low", "middle", "high"))
    return f"{middle:.2f}" if np.isclose(low, high) else f"{middle:.2f} ({low:.2f} to {high:.2f})"


def begin() -> str:
    """README's first commands, as they stand there, and how long each takes: training as long as its slowest seed."""
    seconds = dict(pd.read_csv(DATA / "first_commands.tsv", sep="\t").groupby("program")["seconds"].median())
    seconds["train.py"] = max(run.seconds_w[-1] for run in runs("pg"))
    takes = {program: f"{s / 60:.0f} min" if s >= 60 else f"{s:.0f} s" for program, s in seconds.items()}
    rows = [
        [command, what, next((takes[program] for program in takes if program in command), "")]
        for command, what, _ in present("README.md", "begin")
    ]
    return table(["type", "to", "takes, on 2 cores"], rows)


def speeds() -> str:
    """What each question of benchmark.py found, with the middle half of its rounds where it has several."""
    workers = {line["side"]: line for line in benchmark("rollout", "One worker")}
    share = {side: f"{figure(line['share of emulator'])} of the emulator" for side, line in workers.items()}
    times = f"{workers['REINFORCE']['of notebook']['middle']:.1f} times the original's arithmetic"
    ten, sixty = (benchmark("reinforce", f"PongPG, {games} games") for games in (10, 60))
    both = row(ten, "side", "2 workers")
    whole = f"{figure(both['emulator share'])} of the emulator, {both['speed-up']['middle']:.1f} times one process"
    sent = f"{ten[0]['MB/game']:.2f} and {sixty[0]['MB/game']:.2f} MB"
    tune = row(benchmark("tune", "PongPG"), "side", "under Tune")["of bare"]
    first_s = benchmark("tune", "From the command")[0]["s"]["middle"]
    model = " and ".join(f"{line['model/real']:.2f}" for line in benchmark("simulate", "The model against"))
    cluster = row(benchmark("simulate", "The model's answers"), "cluster", CLUSTER)
    trpo = benchmark("trpo")
    ours = ", ".join(f"{line['s']['middle']:.0f} s with {counted(line['workers'], 'worker')}" for line in trpo)
    theirs = " and ".join(f"{line['original, s']:.0f}" for line in trpo)
    lines = f"""
a worker of REINFORCE, gradients included | {share["REINFORCE"]}, {times} | `rollout`
a worker of PPO, advantages included | {share["PPO"]} | `rollout`
a worker of TRPO, advantages included | {share["TRPO"]} | `rollout`
the same with `coarse_coding` | {share["TRPO, coarse coding"]} | `rollout`
whole updates of REINFORCE on 2 workers, 10 games | {whole} | `reinforce`
what a game sends to the learner, in the first updates of 10 and of 60 games | {sent}; the original 10.24 MB \
(200 x 6,400 numbers of 8 bytes) | `reinforce`
time of updates under Tune, with logs and checkpoints, over that without | {figure(tune)} | `tune`
from `sweep_pong.py --smoke-test` to the first game | {first_s:.0f} s | `tune`
modelled time of an update over the measured time, with 1 and 2 workers | {model} | `simulate`
{cluster["games"]} games on 11 nodes of 18 cores | {cluster["s/update"]["middle"]:.1f} s by the model; the original \
reports 10 s | `simulate`
the first 10 iterations of TRPO by whole games, as in the original | {ours}; the original reports {theirs} s \
on 1 and 16 cores | `trpo`
"""
    return table(["what", "figure", "`benchmark.py`"], [line.split(" | ") for line in lines.strip().splitlines()])


def iterations() -> str:
    """The parts of whole iterations."""
    found, rows = tables("update"), []
    for learner, whole, parts in (("pg", *found[:2]), ("trpo", *found[2:])):
        shares = {line["part"]: f"{line['share']['middle']:.2f}" for line in parts["rows"]}
        rows.append([f"`train.py {learner}`", figure(whole["rows"][1]["share of emulator"]), *shares.values()])
    return table(["whole iterations, 2 workers", "share of the emulator", *shares], rows)


def clusters() -> str:
    """What the model says of machines that nobody here has."""
    heads = ["cluster", "games per update", "s per update", "cores busy", "learner busy", "its link busy", "limit"]
    rows = []
    for line in benchmark("simulate", "The model's answers"):
        busy = [f"{100 * line[part]:.0f}%" for part in ("cores busy", "learner busy", "link busy")]
        seconds = f"{line['s/update']['middle']:.2g}"
        rows.append([line["cluster"], str(line["games"]), seconds, *busy, line["bottleneck"]])
    return table(heads, rows)


def winner(last: pd.DataFrame) -> pd.Series:
    """The best of a sweep's trials, given the last row of each, that went to the end; their steps differ a little."""
    steps = last["timesteps_total"]
    return last.loc[last.loc[steps > 0.9 * steps.max(), "episode_reward_mean"].idxmax()]


def sweeps() -> dict[str, list[str]]:
    """The names of each program's published default sweeps, which differ in ``--seed``."""
    return {SWEEPS[learner]: [path.stem for path in DATA.glob(f"sweep_{learner}*.parquet")] for learner in SWEEPS}


def ranged(values: Sequence[float], digits: int) -> str:
    """Their median, and the lowest and the highest where these differ."""
    low, high = (f"{end:.{digits}f}" for end in (min(values), max(values)))
    return low if low == high else f"{np.median(values):.{digits}f} ({low} to {high})"


def default_sweeps() -> str:
    """The published default sweeps, timed from the command to the end: a line each program."""
    heads = ["sweep", "trials", "million agent steps of the last", "of all", "minutes", "share of the emulator"]
    heads += ["winner, last 100 games", "10 games, sampled", "10 games, most probable actions"]
    rows = []
    for program, names in sweeps().items():
        whole, last = [tables(name)[0] for name in names], [rows_of(name).groupby("trial").last() for name in names]
        found, best = [each["rows"][0] for each in whole], [winner(trials) for trials in last]
        rows.append(
            [
                f"`{program}`, {len(names)} seeds",
                ranged([line["trials"] for line in found], 0),
                ranged([trial["timesteps_total"] / 1e6 for trial in best], 1),
                ranged([line["M agent steps"] for line in found], 1),
                ranged([int(re.search(r": (\d+) s on", each["title"])[1]) / 60 for each in whole], 0),
                ranged([line["share of bare"]["middle"] for line in found], 2),
                ranged([trial["episode_reward_mean"] for trial in best], 1),
                *(ranged([line[f"winner, {kind}"] for line in found], 1) for kind in ("sampled", "greedy")),
            ]
        )
    return table(heads, rows)


def sweep_parts() -> str:
    """Where the cores' time went, in the mean over a program's sweeps."""
    rows = []
    for program, names in sweeps().items():
        lines = zip(*(benchmark(name, "Where") for name in names), strict=True)
        shares = {same[0]["part"]: f"{np.mean([line['share'] for line in same]):.2f}" for same in lines}
        rows.append([f"`{program}`", *shares.values()])
    return table(["of the cores' time", *shares], rows)


def confirmed() -> str:
    """The best of each confirmed sweep: its score, and those of fresh seeds at as many steps and at their end."""
    rows = []
    for learner, program in SWEEPS.items():
        sweep, again = rows_of(f"sweep_{learner}"), rows_of(f"confirm_{learner}")
        of_a_run = {f"config/{name}" for name in ("seed", *SPEED_ONLY)}
        settings = [name for name in again if name.startswith("config/") and name not in of_a_run]
        varied = [name for name in settings if again[name].nunique() > 1]
        for _, seeds in again.groupby("configuration"):
            chosen = sweep[(sweep[settings] == seeds.iloc[0][settings]).all(axis=1)].iloc[-1]
            there = seeds[seeds["timesteps_total"] <= chosen["timesteps_total"]]
            last = [frame.groupby("trial")["episode_reward_mean"].last() for frame in (there, seeds)]
            rows.append(
                [
                    f"`{program} --seed 0`",
                    ", ".join(f"`{name.removeprefix('config/')}={short(chosen[name])}`" for name in varied),
                    f"{chosen['timesteps_total'] / 1e6:.1f} M",
                    f"{chosen['episode_reward_mean']:.1f}",
                    *(", ".join(f"{value:.1f}" for value in values) for values in last),
                ]
            )
    heads = ["sweep", "settings", "steps", "mean return in the sweep", "of fresh seeds after as many", "at their end"]
    return table(heads, rows)
