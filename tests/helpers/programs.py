"""The programs, run as users run them."""

import os
import runpy
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

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


def begin(program, *flags, cwd, mark=""):
    """Start a program in the background, with its output in a file called ``log``, and a mark in its environment."""
    with (cwd / "log").open("w") as log:
        return subprocess.Popen(
            command(program, *flags),
            cwd=cwd,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=os.environ | {"STARTED_BY_TEST": mark},
        )


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
