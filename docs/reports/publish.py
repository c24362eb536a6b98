"""How a step of make.sh comes into the checkout: data, figures, and the tables of README.md and docs.

    python docs/reports/publish.py                  write the tables and draw the figures from docs/reports/data
    python docs/reports/publish.py --check          see whether the tables in the pages are those of the data
    python docs/reports/publish.py FOLDER STEP ...  bring what these steps of make.sh made in FOLDER into the data first
    python docs/reports/publish.py FOLDER --check   compare what make.sh --check ran in FOLDER with the data

A page has ``<!-- numbers: NAME -->`` before a table that the function NAME makes, and ``<!-- end -->`` after it.
All sentences, with their numbers, are written by people. With ``--check`` the exit status is 1 if something differs.
"""

import datetime
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import learning_tables
import matplotlib as mpl
import pandas as pd
import plan_tables
import reference_tables
import speed_tables
from learning_tables import DATA, LEARNERS, REPORTS, ROOT, curves, first_difference, others, rows_of, runs

from experiments import read
from experiments.analysis.statistics import next_interval
from experiments.analysis.windows import WINDOW_STEPS, windows
from experiments.disk.provenance import provenance
from experiments.show.comparison_page import draw_runs
from experiments.show.figures import COLOURS, label_steps, new_figure, styled
from experiments.show.outputs import to_bytes
from experiments.show.page import Page
from trainables.files import replace_text, replacing

PAGES = [
    ROOT / name
    for name in (
        "README.md",
        "docs/reference.md",
        "docs/faults.md",
        "docs/speed.md",
        "docs/records.md",
        "docs/default_sweeps.md",
        "docs/schedulers.md",
        "docs/sweeps.md",
    )
]
BLOCK = re.compile(r"(<!-- numbers: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
TABLES = {
    learning_tables: ("learners", "policies", "healthy", "beside_others", "peers", "core_minutes"),
    reference_tables: ("settings_of_both", "settings_of_pg", "settings_of_trpo", "signatures"),
    plan_tables: ("hardware", "plans", "ends_of_plans"),
    speed_tables: (
        "begin",
        "speeds",
        "iterations",
        "clusters",
        "default_sweeps",
        "wider_space",
        "sweep_parts",
        "confirmed",
        "revisions",
    ),
}
MAKERS = {}
for module, names in TABLES.items():
    for name in names:
        MAKERS[name] = getattr(module, name)

THEIRS = (
    ("DQN", "Nature CNN", "#999999", "-"),
    ("IQN", "Nature CNN", COLOURS[2], "-"),
    ("Rainbow", "Nature CNN", COLOURS[3], "-"),
    ("IQN", "Impala CNN (JAX)", COLOURS[2], ":"),
    ("Rainbow", "Impala CNN (JAX)", COLOURS[3], ":"),
)
"""Dopamine's agents and networks in the figure, with their colours and lines."""

ENV_ID = "ALE/Pong-v5"
"""The environment of all runs that are published."""

LONGEST = 6e6
"""Agent steps that the figure with Dopamine's agents shows."""


def filled(text: str) -> str:
    """A page's text with its tables. Raises KeyError for a marker that names no table."""

    def made(match: re.Match[str]) -> str:
        before, name, after = match.groups()
        return f"{before}{MAKERS[name]()}\n{after}"

    return BLOCK.sub(made, text)


def differing() -> list[str]:
    """The pages whose tables are not those of the data."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            found.append(page.name)
    return found


def bring(folder: Path, step: str) -> None:
    """Put what a step of make.sh made in its folder into the data; what other steps made stays as it is."""
    experiment = folder / re.sub("confirm_(.*)", r"sweep_\1-confirm", step)
    if experiment.is_dir() and step != "first_commands":
        rows = read.experiment(experiment).rows()
        (DATA / f"{step}.parquet").write_bytes(to_bytes(rows, "parquet"))
    for name in (f"{step}.json", f"benchmark_{step}.json", f"{step}.tsv"):
        if (folder / name).exists():
            shutil.copy(folder / name, DATA)
    text = (DATA / "made.json").read_text(encoding="utf-8")
    (DATA / "made.json").write_text(json.dumps(_with_step(json.loads(text), folder, step), indent=1) + "\n")


def _with_step(made: dict[str, dict[str, Any]], folder: Path, step: str) -> dict[str, dict[str, Any]]:
    """The content of made.json with a step that was made on this machine, now, and its revision as make.sh found it."""
    here = provenance()
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    spent = pd.read_csv(folder / "seconds.tsv", sep="\t", names=["step", "seconds"]).groupby("step")["seconds"].sum()
    revision = (folder / f"{step}.begun").read_text().strip()
    where = {
        "day": datetime.date.today().isoformat(),
        "seconds": int(spent[step]),
        "processor": processor[1] if processor else "",
        "cpus": os.cpu_count(),
        "python": here.python,
        "versions": here.versions,
    }
    return {
        "revisions": dict(sorted({**made["revisions"], step: revision}.items())),
        "made": dict(sorted({**made["made"], step: where}.items())),
    }


def learners_figure() -> mpl.figure.Figure:
    """Mean returns of both default learners over agent steps and over minutes, a thin line a seed."""
    figure = new_figure(3.4, 9.0)
    left, right = figure.subplots(1, 2, sharey=True)
    for (learner, name), colour in zip(LEARNERS.items(), COLOURS, strict=False):
        side = runs(learner)
        draw_runs(left, *curves(side), colour, f"{name}, {len(side)} seeds")
        for run in side:
            right.plot(run.seconds_w / 60, run.known_w, color=colour, linewidth=0.9, alpha=0.7)
    label_steps(left, ENV_ID)
    right.set_xlabel("minutes of training, 2 workers")
    left.set_ylabel("mean return in windows\nof 250,000 agent steps")
    for axes in (left, right):
        axes.set_xlim(left=0)
    figure.legend(loc="outside lower left", ncols=2)
    return figure


def beside_others_figure() -> mpl.figure.Figure:
    """Mean returns of both default learners over agent steps, beside those of Dopamine's agents."""
    figure = new_figure(5.2, 7.4)
    axes = figure.add_subplot()
    for agent, network, colour, line in THEIRS:
        end_w, return_nw = curves(others(agent, network))
        shown, label = end_w <= LONGEST, f"{agent}, {network.removesuffix(' (JAX)')}"
        axes.plot(end_w[shown], return_nw.mean(axis=0)[shown], color=colour, linestyle=line, label=label)
    for (learner, name), colour in zip(LEARNERS.items(), COLOURS, strict=False):
        draw_runs(axes, *curves(runs(learner)), colour, f"{name}, this project")
    label_steps(axes, ENV_ID)
    axes.set_xlim(0, LONGEST)
    axes.set_ylabel("mean return in windows of 250,000 agent steps")
    figure.legend(loc="outside lower left", ncols=2)
    return figure


def write() -> None:
    """Draw the figures of the page of records, and write the tables into the pages."""
    page = Page()
    with styled():
        page.show(learners=learners_figure(), beside_others=beside_others_figure())
    for name, picture in page.pictures.items():
        with replacing(REPORTS / "records_figures" / name) as file:
            file.write(picture)
    for path in PAGES:
        replace_text(path, filled(path.read_text(encoding="utf-8")))


def same_again(folder: Path) -> bool:
    """Whether one seed of each learner, and the sweep, came out as published: bit for bit, or as a further seed."""
    as_published = True
    for name in (*LEARNERS, "sweep"):
        again = read.experiment(folder / f"check_{name}").rows()
        if name == "sweep":
            what, published = "sweep", rows_of("sweep_pg")
        else:
            seed = again["config/seed"].iloc[0]
            what, published = f"{name}, seed {seed:.0f}", rows_of(name).query("`config/seed` == @seed")
        difference = first_difference(published, again)
        if not difference:
            print(f"{what}: {len(again)} rows, the same bit for bit")
        elif name == "sweep":
            before, now = _winner(published), _winner(again)
            print(f"{what}: {difference}; winners {before} and {now}")
            as_published &= before == now
        else:
            print(f"{what}: {difference}")
            as_published &= _is_a_further_seed(name, again)
    return as_published


def _winner(rows: pd.DataFrame) -> str:
    """The number of a sweep's winner."""
    last = rows.groupby("trial").last()
    return str(speed_tables.winner(last).name).partition("_")[0]


def _is_a_further_seed(name: str, again: pd.DataFrame) -> bool:
    """Print whether a run ends as a further seed of a published learner would, and return it."""
    _, return_nw = curves(runs(name))
    low, high = next_interval(return_nw[:, -1])
    value = windows(again.to_dict("records"), WINDOW_STEPS).known_w[-1]
    within = bool(low <= value <= high)
    where = "within" if within else "OUTSIDE OF"
    print(f"{name}: {value:.2f} at the end, {where} {low:.2f} to {high:.2f}")
    return within


def main(*words: str) -> int:
    """Do what the words of the command line say, and return the exit status."""
    check = "--check" in words
    folder, *steps = [word for word in words if word != "--check"] or [""]
    if check and folder:
        return int(not same_again(Path(folder).absolute()))
    if check:
        found = differing()
        if found:
            print(f"not the tables of the data: {', '.join(found)}")
        return int(bool(found))
    for step in steps:
        bring(Path(folder).absolute(), step)
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
