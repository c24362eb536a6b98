"""Experiments that somebody else made: sound ones, and a watch on who reads them."""

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.helpers.trials import CARTPOLE
from tests.helpers.written_experiments import write_experiment, write_policies


def make_sound(storage):
    """An experiment of two trials for each learner, with checkpoints that play."""
    for learner, settings in (("trpo", CARTPOLE | {"hidden_sizes": "8"}), ("pg", {"hidden_size": 2})):
        trials = [(settings, [20, 30], None), (settings | {"seed": 5, "gamma": 0.9}, [20], "running")]
        command = ["sweep_trpo.py" if learner == "trpo" else "sweep_pong.py", "--name", learner]
        folder = write_experiment(storage, learner, learner, trials, iterations=2, command=command, swept=["seed"])
        for trial in folder.glob("0*"):
            write_policies(trial, learner, {1: 10, 2: 20})


# What a program does that it must not: Python's own audit events, while it is watched

_found: list = []
_watched: list = []
_hooks: list = []
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
PATHS = {"os.rename": 2, "os.symlink": 2, "os.link": 2, "os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.truncate": 1}
"""Events of changes on disk, and how many of their first arguments are paths."""
STARTING = {"os.system", "os.exec", "subprocess.Popen", "socket.connect"}
CACHES = {"__pycache__", ".cache", ".config"}
"""Where Python, numba and matplotlib keep what is theirs."""


def _hook(event, args):
    """Note writes outside of the watched folder, what is run or imported from beside it, what is started."""
    if not _watched:
        return
    folder = _watched[-1]
    for path in map(os.fsdecode, _written(event, args)):
        real = Path(os.path.realpath(os.path.dirname(os.path.abspath(path)))) / os.path.basename(path)
        if not (real.is_relative_to(folder) or path == os.devnull or CACHES.intersection(real.parts)):
            _found.append(f"wrote {path}")
    if event == "exec" and getattr(args[0], "co_filename", "").startswith(str(folder.parent)):
        _found.append(f"ran {args[0].co_filename}")
    if event == "import" and args[0].startswith("evil"):
        _found.append(f"imported {args[0]}")
    if event in STARTING and not _may_start(event, args):
        _found.append(f"{event} {args}")


def _may_start(event, args):
    """A program asks git and uname for its origin, and as it starts a Ray whether its own host can be reached."""
    if event == "socket.connect":
        return args[1][0] == "127.0.0.1"
    return args[0] in ("git", "uname")


def _written(event, args):
    """The paths that an event changes on disk."""
    if event == "open":
        path, _, flags = args
        writes = isinstance(flags, int) and flags & WRITING
        return [path] if writes and not isinstance(path, int) else []
    return args[: PATHS.get(event, 0)]


@contextlib.contextmanager
def watched(folder):
    """Watch a block; yields what was found. (A hook stays for ever, so there is one, and it looks at a list.)"""
    if not _hooks:
        _hooks.append(sys.addaudithook(_hook))
    _watched.append(folder.resolve())
    _found.clear()
    try:
        yield _found
    finally:
        _watched.pop()


# Permissions that bind, also where the tests run as root

NOBODY = 65534


@contextlib.contextmanager
def unprivileged():
    """Be nobody in a block, if this is root."""
    if os.geteuid():
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@contextlib.contextmanager
def common_folder():
    """A folder that everybody may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(folder)
