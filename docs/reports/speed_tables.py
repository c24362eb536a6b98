"""Tables of what benchmark.py measured, made of its JSON in docs/reports/data: learners, clusters, whole sweeps."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from learning_tables import DATA, SWEEPS, present, ranged, rows_of, runs, table

from experiments.plan.identity import SPEED_ONLY
from experiments.plan.trial_names import short
from experiments.show.settings import in_order
from trainables.texts import counted

Rows = list[dict[str, Any]]

CLUSTER = "11 x 18 cores"
"""The original program's cluster, as ``benchmark.py simulate`` calls it."""


def tables(name: str) -> list[dict[str, Any]]:
    """The tables that a question of benchmark.py wrote: title, note and rows of each."""
    return json.loads((DATA / f"benchmark_{name}.json").read_text())


def benchmark(name: str, title: str = "") -> Rows:
    """The rows of the first table of a question whose title begins so."""
    for found in tables(name):
        if found["title"].startswith(title):
            return found["rows"]
    raise ValueError(f"benchmark_{name}.json has no table {title!r}")


def by(rows: Rows, column: str) -> dict[str, dict[str, Any]]:
    """Rows by their value in a column."""
    return {row[column]: row for row in rows}


def figure(interval: Mapping[str, float]) -> str:
    """The median of the rounds, and their middle half where there are several."""
    low, middle, high = interval["low"], interval["middle"], interval["high"]
    if np.isclose(low, high):
        return f"{middle:.2f}"
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def begin() -> str:
    """README's first commands, as they stand there, and how long each takes: training as long as its slowest seed."""
    measured = pd.read_csv(DATA / "first_commands.tsv", sep="\t")
    seconds = dict(measured.groupby("program")["seconds"].median())
    seconds["train.py"] = max(run.seconds_w[-1] for run in runs("pg"))
    rows = []
    for command, what, _ in present("README.md", "begin"):
        rows.append([command, what, _takes(command, seconds)])
    return table(["type", "to", "takes, on 2 cores"], rows)


def _takes(command: str, seconds: Mapping[str, float]) -> str:
    """How long a command takes, by the ``seconds`` of its program; empty if that was not measured."""
    for program, taken in seconds.items():
        if program in command:
            if taken < 60:
                return f"{taken:.0f} s"
            return f"{taken / 60:.0f} min"
    return ""


def speeds() -> str:
    """What each question of benchmark.py found, with the middle half of its rounds where it has several."""
    workers = by(benchmark("rollout", "One worker"), "side")
    share = {}
    for side, line in workers.items():
        share[side] = f"{figure(line['share of emulator'])} of the emulator"
    times = f"{workers['REINFORCE']['of notebook']['middle']:.1f} times the original's arithmetic"
    ten, sixty = benchmark("reinforce", "PongPG, 10 games"), benchmark("reinforce", "PongPG, 60 games")
    two = by(ten, "side")["2 workers"]
    whole = f"{figure(two['emulator share'])} of the emulator, {two['speed-up']['middle']:.1f} times one process"
    sent = f"{ten[0]['MB/game']:.2f} and {sixty[0]['MB/game']:.2f} MB"
    tune = by(benchmark("tune", "PongPG"), "side")["under Tune"]["of bare"]
    first_s = benchmark("tune", "From the command")[0]["s"]["middle"]
    model = " and ".join(f"{line['model/real']:.2f}" for line in benchmark("simulate", "The model against"))
    cluster = by(benchmark("simulate", "The model's answers"), "cluster")[CLUSTER]
    ours_each, theirs_each = [], []
    for line in benchmark("trpo"):
        ours_each.append(f"{line['s']['middle']:.0f} s with {counted(line['workers'], 'worker')}")
        theirs_each.append(f"{line['original, s']:.0f}")
    ours, theirs = ", ".join(ours_each), " and ".join(theirs_each)
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
    pg, pg_parts, trpo, trpo_parts = tables("update")
    rows = []
    for learner, whole, parts in (("pg", pg, pg_parts), ("trpo", trpo, trpo_parts)):
        names, shares = [], []
        for line in parts["rows"]:
            names.append(line["part"])
            shares.append(f"{line['share']['middle']:.2f}")
        _, ours = whole["rows"]  # The first row is the emulator's.
        rows.append([f"`train.py {learner}`", figure(ours["share of emulator"]), *shares])
    return table(["whole iterations, 2 workers", "share of the emulator", *names], rows)


def clusters() -> str:
    """What the model says of machines that nobody here has."""
    heads = ["cluster", "games per update", "s per update", "cores busy", "learner busy", "its link busy", "limit"]
    rows = []
    for line in benchmark("simulate", "The model's answers"):
        busy = [f"{100 * line[part]:.0f}%" for part in ("cores busy", "learner busy", "link busy")]
        seconds = f"{line['s/update']['middle']:.2g}"
        rows.append([line["cluster"], str(line["games"]), seconds, *busy, line["bottleneck"]])
    return table(heads, rows)


def score_column(rows: pd.DataFrame) -> str:
    """The column that a sweep was decided by: the score, or the mean of the last 100 games where there was none yet."""
    return "episode_score" if "episode_score" in rows else "episode_reward_mean"


def winner(last: pd.DataFrame) -> pd.Series:
    """The best of a sweep's trials, given the last row of each, that went to the end; their steps differ a little."""
    steps = last["timesteps_total"]
    at_the_end = last[steps > 0.9 * steps.max()]
    return at_the_end.loc[at_the_end[score_column(last)].idxmax()]


class SameSweeps(NamedTuple):
    """Published default sweeps of one program and one revision, which differ in ``--seed``."""

    program: str
    revision: str
    names: list[str]


def sweeps() -> list[SameSweeps]:
    """All published default sweeps."""
    revisions = json.loads((DATA / "made.json").read_text())["revisions"]
    found = []
    for learner, program in SWEEPS.items():
        names = sorted(path.stem for path in DATA.glob(f"sweep_{learner}*.parquet"))
        for revision in sorted({revisions[name] for name in names}):
            found.append(SameSweeps(program, revision, [name for name in names if revisions[name] == revision]))
    return found


class DefaultSweep(NamedTuple):
    """A published default sweep: what ``benchmark.py sweep`` measured, and the last row of its winner."""

    measured: dict[str, Any]
    seconds: int
    winner: pd.Series

    @classmethod
    def read(cls, name: str) -> "DefaultSweep":
        """One of ``sweeps``."""
        whole = tables(name)[0]
        match = re.search(r": (\d+) s on", whole["title"])
        assert match
        return cls(whole["rows"][0], int(match[1]), winner(rows_of(name).groupby("trial").last()))

    def figures(self) -> tuple[float, ...]:
        """What stands below the heads of ``SWEEP_FIGURES``, in their order."""
        return (
            self.measured["trials"],
            self.winner["timesteps_total"] / 1e6,
            self.measured["M agent steps"],
            self.seconds / 60,
            self.measured["share of bare"]["middle"],
            self.winner[score_column(self.winner)],
            self.measured["winner, sampled"],
            self.measured["winner, greedy"],
        )


SWEEP_FIGURES = {
    "trials": 0,
    "million agent steps of the last": 1,
    "of all": 1,
    "minutes": 0,
    "share of the emulator": 2,
    "winner": 1,
    "10 games, sampled": 1,
    "10 games, most probable actions": 1,
}
"""Heads of the figures of default sweeps, and the digits after the point."""


def revisions() -> str:
    """Which steps of make.sh are published of which revision, made on which machine."""
    made = json.loads((DATA / "made.json").read_text())
    rows = []
    for revision in sorted({*made["revisions"].values()}, key=lambda each: (_last_day(made, each), each)):
        steps = [step for step, of in made["revisions"].items() if of == revision]
        machines = {f"{counted(where['cpus'], 'core')}, {where['processor']}" for where in _made_of(made, revision)}
        pythons = {where["python"] for where in _made_of(made, revision)}
        names = ", ".join(f"`{step}`" for step in steps)
        rows.append(
            [
                f"`{revision[:12]}`",
                names,
                _last_day(made, revision),
                "; ".join(sorted(machines)),
                ", ".join(sorted(pythons)),
            ]
        )
    return table(["revision", "steps", "until", "machine", "Python"], rows)


def _made_of(made: dict[str, Any], revision: str) -> Rows:
    """What made.json says of each step of a revision."""
    return [made["made"][step] for step, of in made["revisions"].items() if of == revision]


def _last_day(made: dict[str, Any], revision: str) -> str:
    """The day on which the last step of a revision was made."""
    return max(where["day"] for where in _made_of(made, revision))


def default_sweeps() -> str:
    """The published default sweeps, timed from the command to the end: a line each program and revision."""
    rows = []
    for same in sweeps():
        of_sweeps = [DefaultSweep.read(name).figures() for name in same.names]
        cells = [f"`{same.program}`, {counted(len(same.names), 'seed')}", f"`{same.revision[:12]}`"]
        for index, digits in enumerate(SWEEP_FIGURES.values()):
            cells.append(ranged([figures[index] for figures in of_sweeps], digits))
        rows.append(cells)
    return table(["sweep", "revision", *SWEEP_FIGURES], rows)


WIDER_SPACE = "10494cea9940"
"""The revision whose default sweeps drew from wider spaces: what trials of each choice came to is why today's leave
some out."""

CHOICES = {
    "pg": ("hidden_size", "gamma", "segment_length"),
    "trpo": ("hidden_sizes", "gamma", "segment_length"),
}
"""The swept settings of each program that have few values, all of them tried equally often."""


def wider_space() -> str:
    """What the trials of each choice came to at the first comparison, in the means over all default sweeps."""
    rows = []
    for learner, program in SWEEPS.items():
        names: list[str] = []
        for same in sweeps():
            if same.program == program and same.revision.startswith(WIDER_SPACE):
                names += same.names
        firsts = pd.concat([_first_scores(name) for name in names])
        for setting in CHOICES[learner]:
            cells = []
            of_choices = dict([*firsts.groupby(f"config/{setting}")["first"]])
            for choice in in_order(of_choices):
                scores = of_choices[choice]
                error = scores.std() / len(scores) ** 0.5
                cells.append(f"{short(choice)}: {scores.mean():.1f} ({error:.1f})")
            rows.append([f"`{program}`", f"`{setting}`", ", ".join(cells)])
    return table(["sweep", "setting", "mean return of each choice (its standard error)"], rows)


def _first_scores(name: str) -> pd.DataFrame:
    """A published sweep's trials, with the mean return of the games that ended in the 100,000 steps before 0.33 M."""
    rows = rows_of(name)
    rows = rows[rows["timesteps_total"] <= 330_000]
    found = []
    for _, trial in rows.groupby("trial"):
        last = trial[trial["timesteps_total"] > trial["timesteps_total"].max() - 100_000]
        games = last["episodes_this_iter"]
        settings = last.iloc[-1].filter(like="config/")
        settings["first"] = np.average(last["episode_reward_batch_mean"].fillna(0), weights=games)
        found.append(settings)
    return pd.DataFrame(found)


def sweep_parts() -> str:
    """Where the cores' time went, in the mean over a program's sweeps."""
    rows = []
    for same in sweeps():
        shares: dict[str, list[float]] = {}
        for name in same.names:
            for line in benchmark(name, "Where"):
                shares.setdefault(line["part"], []).append(line["share"])
        cells = [f"`{same.program}`", f"`{same.revision[:12]}`"]
        for each in shares.values():
            cells.append(f"{np.mean(each):.2f}")
        rows.append(cells)
    return table(["of the cores' time", "revision", *shares], rows)


def settings_of(rows: pd.DataFrame) -> list[str]:
    """The columns of settings that decide results, without the seed."""
    found = []
    for column in rows:
        kind, _, name = column.partition("/")
        if kind == "config" and name not in {"seed", *SPEED_ONLY}:
            found.append(column)
    return found


def last_scores(rows: pd.DataFrame) -> str:
    """The latest score of each trial."""
    return ", ".join(f"{value:.1f}" for value in rows.groupby("trial")[score_column(rows)].last())


def confirmed() -> str:
    """The best of each confirmed sweep: its score, and those of fresh seeds at as many steps and at their end."""
    rows = []
    for learner, program in SWEEPS.items():
        sweep, again = rows_of(f"sweep_{learner}"), rows_of(f"confirm_{learner}")
        settings = settings_of(again)
        varied = [name for name in settings if again[name].nunique() > 1]
        for _, seeds in again.groupby("configuration"):
            of_the_same = (sweep[settings] == seeds.iloc[0][settings]).all(axis=1)
            chosen = sweep[of_the_same].iloc[-1]
            there = seeds[seeds["timesteps_total"] <= chosen["timesteps_total"]]
            shown = []
            for name in varied:
                shown.append(f"`{name.removeprefix('config/')}={short(chosen[name])}`")
            rows.append(
                [
                    f"`{program} --seed 0`",
                    ", ".join(shown),
                    f"{chosen['timesteps_total'] / 1e6:.1f} M",
                    f"{chosen[score_column(sweep)]:.1f}",
                    last_scores(there),
                    last_scores(seeds),
                ]
            )
    heads = ["sweep", "settings", "steps", "mean return in the sweep", "of fresh seeds after as many", "at their end"]
    return table(heads, rows)
