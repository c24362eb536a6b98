"""Rows that another machine has of the published runs, beside the published ones.

docs/reports/data has what ``make.sh --check`` runs, as another machine ran it: elsewhere_NAME.parquet, and that
machine in elsewhere.json. A run that was ended early has the first rows of each trial. When other results are
published, these files have to be made anew on such a machine, or deleted with this one.
"""

import json

import pandas as pd
from check import SEED, SWEEP, first_difference
from published import DATA, table

RUNS = {
    "pg": f"`train.py pg`, seed {SEED}",
    "trpo": f"`train.py trpo`, seed {SEED}",
    "sweep": f"`sweep_pong.py`, seed {SEED}",
}
"""By the names of their files."""


def elsewhere() -> str:
    """What was run on the other machine, and whether its rows are the published ones."""
    machine = json.loads((DATA / "elsewhere.json").read_text())
    rows = []
    for name, what in RUNS.items():
        published, there = pair(name)
        difference = difference_of_trials(published, there)
        counts = sorted({int(number) for number in there["config/num_workers"]})
        workers = f"{counts[0]} to {counts[-1]}" if counts[1:] else str(counts[0])
        rows.append([what, str(len(there)), str(len(published)), workers, difference or "the same bit for bit"])
    on = f"On {machine['cpus']} cores ({machine['processor']}), Python {machine['python']}, {machine['day']}:"
    return f"{on}\n\n{table(['run', 'rows there', 'published', 'workers', 'rows that both have'], rows)}"


def pair(name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Published rows of a run, and the other machine's."""
    there = pd.read_parquet(DATA / f"elsewhere_{name}.parquet")
    if name == "sweep":
        return pd.read_parquet(SWEEP), there
    published = pd.read_parquet(DATA / f"{name}.parquet")
    return published[published["config/seed"] == SEED], there


def difference_of_trials(published: pd.DataFrame, there: pd.DataFrame) -> str:
    """The first difference among the iterations that both have of each trial there, in words; empty if none."""
    number_of = published["trial"].str.partition("_")[0]
    for number, again in there.groupby(there["trial"].str.partition("_")[0]):
        known = published[number_of == number]
        shared = min(len(known), len(again))
        if not shared:
            return f"trial {number} is not published"
        if difference := first_difference(known[:shared], again[:shared]):
            return f"trial {number}, {difference}"
    return ""
