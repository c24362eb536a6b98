"""The last step of make.sh: from the experiments of a folder to data, reports, figures, films and numbers.

    python docs/reports/pages.py FOLDER

What a folder does not have yet is left as it stands, and named, so that several folders can bring the steps together.
"""

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numbers_in_pages
import records
from published import DATA, REPORTS, ROOT, WAITS, made
from waits import longest_wait_s

from experiments import read
from experiments.plan.resources import local_cpus
from experiments.read import policies
from experiments.read.experiments import read_experiment
from experiments.record.provenance import provenance
from experiments.show.files import to_bytes
from trainables.files import replace_text

RUNS = ("pg", "trpo", "a2c", "karpathy", "modular_rl")
LEARNERS = RUNS[:2]
SWEEPS = ("sweep_pg", "sweep_trpo", *(f"sweep_{learner}_{seed}" for learner in LEARNERS for seed in range(1, 5)))
CONFIRMED = {"confirm_pg": "sweep_pg-confirm", "confirm_trpo": "sweep_trpo-confirm"}
"""Steps that confirm a sweep, and their experiments."""

REPORTED = {"learners": LEARNERS, "originals": RUNS[3:], "sweep_pg": SWEEPS[:1], "sweep_trpo": SWEEPS[1:2]}
"""Reports, and the experiments that each is about; a sweep's also about its confirmation."""

FILMED = "pg"
"""The experiment of README's film."""

BENCHMARKS = ("emulator", "rollout", "update", "reinforce", "trpo", "tune", "simulate")


def main(folder: Path) -> None:
    """Publish what a folder of make.sh holds."""
    done = {path.stem for path in folder.glob("*.done")} - {"pages"}  # which runs as long as this
    for name in (name for name in (*RUNS, *SWEEPS, *CONFIRMED) if name in done):
        rows = read.experiment(CONFIRMED.get(name, name), storage_path=folder).rows()
        (DATA / f"{name}.parquet").write_bytes(to_bytes(rows, "parquet"))
    WAITS.write_text(json.dumps(_waits(folder, done), indent=1) + "\n")
    for name in (*(f"benchmark_{name}.json" for name in BENCHMARKS + SWEEPS), "first_commands.json"):
        if (folder / name).exists():
            shutil.copy(folder / name, DATA / name)
    for report, about in REPORTED.items():
        if done.issuperset(about):
            confirmed = [CONFIRMED[step] for step in CONFIRMED if step in done and CONFIRMED[step].startswith(report)]
            _report(folder, report, [*about, *confirmed])
    (DATA / "made.json").write_text(json.dumps(_made(folder, done), indent=1) + "\n")
    if done.issuperset(LEARNERS):
        for name in LEARNERS:
            _policy(folder, name)
        _film(folder)
    records.main()
    numbers_in_pages.main()
    steps = [*RUNS, *(f"benchmark_{name}" for name in BENCHMARKS), *SWEEPS, *CONFIRMED, "first_commands"]
    if missing := [name for name in steps if name not in done]:
        print("not made in this folder:", ", ".join(missing))


def _made(folder: Path, done: Iterable[str]) -> dict[str, object]:
    """Where all that is published comes from; of steps that were done elsewhere what stands there already."""
    here, before = provenance(), made()
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    seconds: dict[str, int] = {step: spent for step, spent in before["seconds"].items() if step not in done}
    for line in (folder / "seconds.tsv").read_text().splitlines():
        name, spent = line.split("\t")
        if name not in done:
            continue
        seconds[name] = seconds.get(name, 0) + int(spent)
    revisions = {name: (folder / f"{name}.begun").read_text().strip() for name in done}
    processors = dict.fromkeys(done, processor[1] if processor else "")
    return {
        "revisions": dict(sorted((before["revisions"] | revisions).items())),
        "day": datetime.date.today().isoformat(),
        "cpus": os.cpu_count(),
        "processors": dict(sorted((before["processors"] | processors).items())),
        "python": here["python"],
        "versions": here["versions"],
        "seconds": seconds,
    }


def _waits(folder: Path, done: set[str]) -> dict[str, float]:
    """Of each sweep the longest that a core idled while a trial waited; of those that were done elsewhere as it is."""
    found = {name: longest_wait_s(read_experiment(folder / name), local_cpus()) for name in done.intersection(SWEEPS)}
    return dict(sorted((json.loads(WAITS.read_text()) | found).items()))


def _report(folder: Path, name: str, about: Sequence[str]) -> None:
    """A report, whose commands have the folders of protocol.md for this machine's."""
    _program(folder, "results.py", "report", *about, "--out", str(REPORTS / f"{name}.html"))
    page = REPORTS / f"{name}.md"
    text = page.read_text(encoding="utf-8").replace(str(folder), "../published").replace(f"{ROOT}/", "")
    replace_text(page, text.replace(f" {os.path.relpath(folder)}/", " ../published/"))


def _policy(folder: Path, learner: str) -> None:
    """The learner's best policy, which comes along with the code."""
    shipped = ROOT / "tests" / "data" / "trained" / learner
    shutil.rmtree(shipped, ignore_errors=True)
    _program(folder, "results.py", "export", learner, "--out", str(shipped))


def _film(folder: Path) -> None:
    """README's film: the same game by the untrained policy, two checkpoints on the way, and the best one."""
    best = policies.best_of(policies.find(folder, FILMED))
    _program(folder, "watch.py", FILMED, "--film", "--episodes", "1", "--out", str(ROOT / "docs" / "learned.gif"))
    steps = best.state.episodes.steps / 1e6
    described = {"seed": best.settings.seed, "iteration": best.iteration, "million_agent_steps": steps}
    (DATA / "film.json").write_text(json.dumps(described) + "\n")


def _program(folder: Path, program: str, *words: str) -> None:
    command = [sys.executable, str(ROOT / "experiments" / program), *words, "--storage-path", str(folder)]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
