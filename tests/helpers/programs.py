"""The programs, run as users run them; and processes, as Linux lists them."""

import contextlib
import os
import re
import runpy
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from ipaddress import ip_address
from pathlib import Path
from unittest.mock import patch

from experiments.benchmarks.account import descendants

ROOT = Path(__file__).parents[2]
SWEEPS = {learner: ROOT / "experiments" / f"sweep_{name}.py" for learner, name in (("pg", "pong"), ("trpo", "trpo"))}
TRAIN = ROOT / "experiments" / "train.py"


def command(program, *flags):
    """A program as a user starts it."""
    return [sys.executable, str(program), *map(str, flags)]


def call(program, *words):
    """Run a program of this name in the test's own process, where to start another takes seconds.

    Returns its status, and what it prints on both streams.
    """
    path, status = str(ROOT / "experiments" / program), 0
    argv = patch.object(sys, "argv", [path, *map(str, words)])
    with argv, redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as stop:
            status = stop.code or 0
    return status, out.getvalue(), err.getvalue()


def done(program, *words):
    """What a program prints that finds its Ray running, and ends well."""
    status, printed, complaint = call(program, *words, "--address", "auto")
    assert status == 0, printed + complaint
    return printed


def refused(program, *words):
    """The one line with which a program refuses what it is asked."""
    status, _, complaint = call(program, *words)
    assert (status, complaint.count("\n")) == (2, 1), complaint
    return complaint


def run(program, *flags, cwd, status=0, timeout=200):
    """Run a program to its end; return what it prints."""
    done = subprocess.run(command(program, *flags), cwd=cwd, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def begin(program, *flags, cwd, mark="", log="log"):
    """Start a program in the background, with its output in a file called ``log``, and a mark in its environment."""
    with (cwd / log).open("w") as output:
        return subprocess.Popen(
            command(program, *flags),
            cwd=cwd,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=_hear_hangups,
            env=os.environ | {"STARTED_BY_TEST": mark},
        )


def _hear_hangups():
    """Under ``nohup pytest`` a program would ignore SIGHUP, as it should."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


AGENTS = (b"ray::DashboardAgent", b"ray::RuntimeEnvAgent")
"""Ray's own agents, which hold no CPU, stay for about 80 s."""


def marked(mark):
    """Ray's workers among the processes that descend from a program with this mark in its environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes())
        except OSError:  # it ended meanwhile
            continue
    return [name for name in found if name.startswith(b"ray::") and not name.startswith(AGENTS)]


def listening(pid):
    """The addresses at which a program listens, as {(its process's name, address)}."""
    addresses = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            if state == "0A":
                addresses[f"socket:[{line.split()[9]}]"] = _address(local.partition(":")[0])
    found = set()
    for process in descendants(pid):
        with contextlib.suppress(OSError):
            name = Path(f"/proc/{process}/comm").read_text().strip()
            for descriptor in Path(f"/proc/{process}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if address := addresses.get(os.readlink(descriptor)):
                        found.add((name, address))
    return found


def _address(hexadecimal):
    """From words of four bytes, each the wrong way round, as /proc has them on little-endian machines."""
    raw = bytes.fromhex(hexadecimal)
    address = ip_address(b"".join(raw[i : i + 4][::-1] for i in range(0, len(raw), 4)))
    return getattr(address, "ipv4_mapped", None) or address


# The learner that docs/own_learner.md prints, as a file


def page():
    """The page on a learner of one's own."""
    return (ROOT / "docs" / "own_learner.md").read_text("utf-8")


def blocks():
    """The page's blocks of Python."""
    return re.findall(r"^```python\n(.*?)^```$", page(), re.MULTILINE | re.DOTALL)


def write_a2c(folder):
    """Write the file as it is printed; return its path."""
    path = folder / "a2c.py"
    path.write_text(blocks()[-1], encoding="utf-8")
    return path
