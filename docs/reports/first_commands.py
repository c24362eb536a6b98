"""How long the commands that README begins with take, from the command to its end: a step of make.sh.

    python docs/reports/first_commands.py FOLDER

FOLDER has the experiment sweep_pg, of which a report is made.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from published import ROOT

ROUNDS = 3
"""Times that each command runs, in turn."""


def main(folder: Path) -> None:
    """Write first_commands.json: seconds of each round, by the name of the program."""
    scratch = folder / "first_commands"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    seconds: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        film, page = scratch / f"{number}.gif", scratch / f"{number}.html"
        for program, *words in (
            ["watch.py", "tests/data/trained/pg", "--out", str(film)],
            ["sweep_pong.py", "--smoke-test", "--name", f"smoke_{number}", "--storage-path", str(scratch)],
            ["results.py", "report", "sweep_pg", "--out", str(page), "--storage-path", str(folder)],
        ):
            start = time.perf_counter()
            subprocess.run([sys.executable, f"experiments/{program}", *words], check=True, cwd=ROOT)
            seconds.setdefault(program, []).append(time.perf_counter() - start)
    (folder / "first_commands.json").write_text(json.dumps(seconds, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
