"""What the published default sweeps came to: blocks of numbers_in_pages.py."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
from published import DATA, WAITS, benchmark, table

from experiments.plan.trial_names import short
from experiments.read.configurations import SPEED_ONLY

PROGRAMS = {"pg": "sweep_pong.py", "trpo": "sweep_trpo.py"}
PER_TRIAL = {f"config/{name}" for name in ("seed", *SPEED_ONLY)}


class Sweep(NamedTuple):
    """A default sweep, timed from its command to its end."""

    learner: str
    seed: int
    figures: Mapping[str, Any]  # the benchmark's row
    seconds: int
    parts: Mapping[str, float]  # shares of the cores' time
    winner: float  # mean return of its last 100 games
    steps: int  # that it played
    wait_s: float | None  # see WAITS; None where it is not known


def published_sweeps(learner: str) -> list[Sweep]:
    """The sweeps of a learner, in the order of their seeds."""
    found = []
    waits = json.loads(WAITS.read_text())
    for path in DATA.glob(f"benchmark_sweep_{learner}*.json"):
        name = path.stem.removeprefix("benchmark_")
        whole, parts = benchmark(name)
        winner = winner_of(pd.read_parquet(DATA / f"{name}.parquet"))
        found.append(
            Sweep(
                learner,
                int(name.rpartition("_")[2]) if name != f"sweep_{learner}" else 0,
                whole["rows"][0],
                int(re.search(r": (\d+) s on", whole["title"])[1]),  # type: ignore[index]
                {row["part"]: row["share"] for row in parts["rows"]},
                float(winner["episode_reward_mean"]),
                int(winner["timesteps_total"]),
                waits.get(name),
            )
        )
    return sorted(found, key=lambda sweep: sweep.seed)


def winner_of(rows: pd.DataFrame) -> pd.Series:
    """The last row of the best trial among those that went to the end; their last iterations end at different steps."""
    last = rows.groupby("trial").last()
    end = last["timesteps_total"].max()
    return last.loc[last.loc[last["timesteps_total"] > 0.9 * end, "episode_reward_mean"].idxmax()]


def winners() -> str:
    """How each sweep's winner plays, in a line for each learner."""
    lines = []
    for learner, program in PROGRAMS.items():
        if sweeps := published_sweeps(learner):
            seeds = ", ".join(str(sweep.seed) for sweep in sweeps)
            scores = ", ".join(f"{sweep.winner:.1f}" for sweep in sweeps)
            minutes = max(sweep.seconds for sweep in sweeps) / 60
            lines.append(
                f"[What `{program}` finds](docs/sweeps.md#what-the-default-sweeps-find) in up to {minutes:.0f} minutes"
                f" on 2 cores, mean return of the winner's last 100 games with `--seed` {seeds}: {scores}."
            )
    return " ".join(lines or ["No default sweep is published yet."])


def default_sweeps() -> str:
    """Every published default sweep, a line each."""
    heads = ["sweep", "trials", "steps of the last", "minutes", "million agent steps", "share of the emulator"]
    heads += ["longest wait beside an idle core", "winner, last 100 games"]
    heads += ["10 games, sampled", "10 games, most probable actions"]
    rows = []
    for sweep in (sweep for learner in PROGRAMS for sweep in published_sweeps(learner)):
        figures = sweep.figures
        rows.append(
            [
                f"`{PROGRAMS[sweep.learner]} --seed {sweep.seed}`",
                str(figures["trials"]),
                f"{sweep.steps / 1e6:.1f} M",
                f"{sweep.seconds / 60:.0f}",
                f"{figures['M agent steps']:.1f}",
                f"{figures['share of bare']['middle']:.2f}",
                "" if sweep.wait_s is None else f"{sweep.wait_s:.0f} s",
                f"{sweep.winner:.1f}",
                *(f"{figures[f'winner, {kind}']:.1f}" for kind in ("sampled", "greedy")),
            ]
        )
    return table(heads, rows) if rows else "None is published yet.\n"


def sweep_parts() -> str:
    """Where the cores' time went."""
    sweeps = [sweep for learner in PROGRAMS for sweep in published_sweeps(learner)]
    if not sweeps:
        return "None is published yet.\n"
    rows = [
        [f"`{PROGRAMS[sweep.learner]} --seed {sweep.seed}`", *(f"{share:.2f}" for share in sweep.parts.values())]
        for sweep in sweeps
    ]
    return table(["of the cores' time", *sweeps[0].parts], rows)


def confirmed() -> str:
    """The best of each confirmed sweep: its score, and those of fresh seeds at as many steps and at their end."""
    rows = []
    for learner, program in PROGRAMS.items():
        if not (path := DATA / f"confirm_{learner}.parquet").exists():
            continue
        sweep, again = pd.read_parquet(DATA / f"sweep_{learner}.parquet"), pd.read_parquet(path)
        settings = [name for name in again if name.startswith("config/") and name not in PER_TRIAL]
        varied = [name for name in settings if again[name].nunique() > 1]
        for _, seeds in again.groupby("configuration"):
            chosen = sweep[(sweep[settings] == seeds.iloc[0][settings]).all(axis=1)].iloc[-1]
            there = seeds[seeds["timesteps_total"] <= chosen["timesteps_total"]]
            rows.append(
                [
                    f"`{program} --seed 0`",
                    ", ".join(f"`{name.removeprefix('config/')}={short(chosen[name])}`" for name in varied),
                    f"{chosen['timesteps_total'] / 1e6:.1f} M",
                    f"{chosen['episode_reward_mean']:.1f}",
                    *map(_last_returns, (there, seeds)),
                ]
            )
    heads = ["sweep", "settings", "steps", "its mean return", "fresh seeds' there", "at their end"]
    return table(heads, rows) if rows else "None is published yet.\n"


def _last_returns(rows: pd.DataFrame) -> str:
    return ", ".join(f"{value:.1f}" for value in rows.groupby("trial")["episode_reward_mean"].last())
