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

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numbers_in_pages  # noqa: E402
import records  # noqa: E402
from published import DATA, REPORTS, ROOT  # noqa: E402

from experiments import read  # noqa: E402
from experiments.record.provenance import provenance  # noqa: E402
from experiments.show.frame import to_bytes  # noqa: E402

EXPERIMENTS = (
    "pg",
    "trpo",
    "karpathy",
    "modular_rl",
    "sweep_pg",
    "sweep_trpo",
    *(f"sweep_pg_{n}" for n in range(1, 5)),
)
REPORTED = {"learners": ("pg", "trpo"), "originals": ("karpathy", "modular_rl"), "sweep_pg": ("sweep_pg",),
            "sweep_trpo": ("sweep_trpo",)}  # fmt: skip
"""Reports, and the experiments that each is about."""

BENCHMARKS = ("emulator", "rollout", "update", "reinforce", "trpo", "tune", "simulate", *EXPERIMENTS[4:])


def main(folder: Path) -> None:
    """Publish what a folder of make.sh holds."""
    done = {path.stem for path in folder.glob("*.done")}
    for name in (name for name in EXPERIMENTS if name in done):
        rows = read.experiment(name, storage_path=folder).rows()
        (DATA / f"{name}.parquet").write_bytes(to_bytes(rows, "parquet"))
    for name in (f"benchmark_{name}.json" for name in BENCHMARKS):
        if (folder / name).exists():
            shutil.copy(folder / name, DATA / name)
    for report, about in REPORTED.items():
        if done.issuperset(about):
            _results(folder, "report", *about, "--out", str(REPORTS / f"{report}.html"))
    (DATA / "made.json").write_text(json.dumps(_made(folder), indent=1) + "\n")
    if done.issuperset(("pg", "trpo")):
        records.main()
        numbers_in_pages.main()
    if missing := [name for name in (*EXPERIMENTS, *(f"benchmark_{name}" for name in BENCHMARKS)) if name not in done]:
        print("not made yet:", ", ".join(missing))


def _made(folder: Path) -> dict[str, object]:
    here = provenance()
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    seconds: dict[str, int] = {}
    for line in (folder / "seconds.tsv").read_text().splitlines():
        name, spent = line.split("\t")
        seconds[name] = seconds.get(name, 0) + int(spent)
    return {
        "revision": here["git"]["revision"],
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
