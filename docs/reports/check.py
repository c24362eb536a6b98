"""make.sh --check: one seed of each learner, and the sweep if there is one, again, beside the published ones.

    python docs/reports/check.py FOLDER

A run is the same bit for bit, or else its return lies within the published seeds' interval. The exit status is 1 if
something does not. A run that was interrupted goes on.
"""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from published import DATA, ROOT, Run, runs
from scipy import stats
from sweep_numbers import winner_of

from experiments import read
from experiments.read.configurations import SPEED_ONLY
from experiments.read.recorded import NOT_COMPARED, PERF
from experiments.read.windows import WINDOW_STEPS, windows

SEED = 0
LEARNERS = ("pg", "trpo")
SWEEP = DATA / "sweep_pg.parquet"
TIME_BUDGET_S = 36_000
"""More than the sweep takes on a slow machine, where its own half hour would end it before its last round."""

NO_RESULTS = {*NOT_COMPARED, "experiment", "trial", *(f"config/{name}" for name in SPEED_ONLY)}
"""Columns that are not compared. Trials' names have seeds in them where there are several, and numbers of workers,
which depend on the machine."""


def main(folder: Path) -> bool:
    """Run what is missing, print a line for each comparison, and return whether all is as published."""
    for learner in LEARNERS:
        _run(folder, f"check_{learner}", "train.py", learner, "--seed", str(SEED))
    same = [_learner(folder, learner) for learner in LEARNERS]
    if not SWEEP.exists():
        print("no sweep is published yet")
        return all(same)
    published = pd.read_parquet(SWEEP)
    _run(folder, "check_sweep", "sweep_pong.py", "--seed", str(SEED), *_plan(published))
    return all([*same, _sweep(folder, published)])


def _run(folder: Path, name: str, program: str, *words: str) -> None:
    """Begin a run, or go on with it."""
    learner = [word for word in words[:1] if word in LEARNERS]
    flags = [*learner, "--resume", name] if (folder / name).is_dir() else [*words, "--name", name]
    command = [sys.executable, str(ROOT / "experiments" / program), *flags, "--storage-path", str(folder)]
    subprocess.run(command, check=True)


def _plan(published: pd.DataFrame) -> list[str]:
    """Flags that make the published sweep's plan on any machine: number of trials, the last one's limit, enough time.

    That limit is a multiple of 100,000 steps, as in any plan of a million or more. An iteration goes less beyond it.
    """
    steps = published.groupby("trial")["timesteps_total"].max()
    limit = int(steps.max()) // 100_000 * 100_000
    return ["--num-samples", str(len(steps)), "--timesteps", str(limit), "--time-budget-s", str(TIME_BUDGET_S)]


def _learner(folder: Path, learner: str) -> bool:
    """A seed's rows beside the published ones; its last window beside the interval of a further seed."""
    again = read.experiment(f"check_{learner}", storage_path=folder).rows()
    published = pd.read_parquet(DATA / f"{learner}.parquet")
    if difference := first_difference(published[published["config/seed"] == SEED], again):
        print(f"{learner}, seed {SEED}: {difference}")
        low, high = next_seed(runs(learner).last)
        value = Run(SEED, windows(again.to_dict("records"), WINDOW_STEPS)).windows.known_w[-1]
        inside = bool(low <= value <= high)
        print(f"{learner}: {value:.2f} at the end, {'within' if inside else 'OUTSIDE OF'} {low:.2f} to {high:.2f}")
        return inside
    print(f"{learner}, seed {SEED}: {len(again)} rows, the same bit for bit")
    return True


def _sweep(folder: Path, published: pd.DataFrame) -> bool:
    """The sweep's trials beside the published ones: the same rows, or the same winner."""
    again = read.experiment("check_sweep", storage_path=folder).rows()
    if not (difference := first_difference(published, again)):
        print(f"sweep: {len(again)} rows, the same bit for bit")
        return True
    winners = [str(winner_of(frame).name).partition("_")[0] for frame in (published, again)]
    print(f"sweep: {difference}; winners {' and '.join(winners)}")
    return winners[0] == winners[1]


def next_seed(last_n: np.ndarray) -> tuple[float, float]:
    """Within which a further seed's return is in 95 of 100 cases, by Student's t: published ones' returns (n,)."""
    reach = stats.t.ppf(0.975, len(last_n) - 1) * last_n.std(ddof=1) * math.sqrt(1 + 1 / len(last_n))
    return float(last_n.mean() - reach), float(last_n.mean() + reach)


def first_difference(published: pd.DataFrame, again: pd.DataFrame) -> str:
    """The first result that is not the same, in words; empty if there is none. Times are not compared."""
    names = [name for name in published if name in again and name not in NO_RESULTS]
    names = [name for name in names if not name.startswith(PERF) and not published[name].isna().all()]
    if len(published) != len(again):
        return f"{len(published)} rows published, {len(again)} now"
    for name in names:
        old, new = published[name].to_numpy(), again[name].to_numpy()
        other = np.flatnonzero(~((old == new) | (pd.isna(old) & pd.isna(new))))
        if len(other):
            return f"row {other[0]}, {name}: published {old[other[0]]}, now {new[other[0]]}"
    return ""


if __name__ == "__main__":
    sys.exit(not main(Path(sys.argv[1])))
