"""The last step of make.sh: from the experiments of a folder to data, reports, figures, films and numbers.

    python docs/reports/pages.py FOLDER

What a folder does not have yet is left as it stands, and named.
"""

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numbers_in_pages
import records
from published import DATA, REPORTS, ROOT

from experiments import read
from experiments.record.provenance import provenance
from experiments.show.frame import to_bytes

RUNS = ("pg", "trpo", "a2c", "karpathy", "modular_rl")
SWEEPS = ("sweep_pg", "sweep_trpo", *(f"sweep_pg_{seed}" for seed in range(1, 5)))
REPORTED = {"learners": RUNS[:2], "originals": RUNS[3:], "sweep_pg": SWEEPS[:1], "sweep_trpo": SWEEPS[1:2]}
"""Reports, and the experiments that each is about."""

BENCHMARKS = ("emulator", "rollout", "update", "reinforce", "trpo", "tune", "simulate")


def main(folder: Path) -> None:
    """Publish what a folder of make.sh holds."""
    done = {path.stem for path in folder.glob("*.done")}
    for name in (name for name in RUNS + SWEEPS if name in done):
        rows = read.experiment(name, storage_path=folder).rows()
        (DATA / f"{name}.parquet").write_bytes(to_bytes(rows, "parquet"))
    for name in (f"benchmark_{name}.json" for name in BENCHMARKS + SWEEPS):
        if (folder / name).exists():
            shutil.copy(folder / name, DATA / name)
    for report, about in REPORTED.items():
        if done.issuperset(about):
            _results(folder, "report", *about, "--out", str(REPORTS / f"{report}.html"))
    (DATA / "made.json").write_text(json.dumps(_made(folder), indent=1) + "\n")
    if done.issuperset(("pg", "trpo")):
        records.main()
        numbers_in_pages.main()
    steps = [*RUNS, *(f"benchmark_{name}" for name in BENCHMARKS), *SWEEPS]
    if missing := [name for name in steps if name not in done]:
        print("not made yet:", ", ".join(missing))


def _made(folder: Path) -> dict[str, object]:
    here = provenance()
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    seconds: dict[str, int] = {}
    for line in (folder / "seconds.tsv").read_text().splitlines():
        name, spent = line.split("\t")
        seconds[name] = seconds.get(name, 0) + int(spent)
    return {
        "revisions": {path.stem: path.read_text().split()[1] for path in sorted(folder.glob("*.begun"))},
        "day": datetime.date.today().isoformat(),
        "cpus": os.cpu_count(),
        "processor": processor[1] if processor else "",
        "python": here["python"],
        "versions": here["versions"],
        "seconds": seconds,
    }


def _results(folder: Path, *words: str) -> None:
    program = [sys.executable, str(ROOT / "experiments" / "results.py"), *words, "--storage-path", str(folder)]
    subprocess.run(program, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
