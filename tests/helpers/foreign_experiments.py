"""Experiments that somebody else made: sound ones, what is done to their files, and a watch on who reads them."""

import contextlib
import json
import os
import pickle
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.helpers.trials import CARTPOLE, Trap, edited_state
from tests.helpers.written_experiments import write_experiment, write_policies

NASTY = [
    *("", ".", "..", "../escaped", "a/b", "\\", "a\x00b", "\x1b]52;c;aGk=\x07", "\x9b31m", "\u202e", "\ud800", "a\nb"),
    *("<img src=x onerror=alert(1)>", "`<script>`", "[x](javascript:1)", "![x](http://x/y.png)", "{body}"),
    *('src="{figures}/x"', "$x^{$", "%s %(x)s {0}", "NaN", "9" * 5000, "#%?&", "evil_module:Evil-v0", "pg", "trpo"),
    *("../../evil.py", "s3://KEY:SECRET@bucket/x", "file:///etc", "CartPole-v1", "Acrobot-v1", "Blackjack-v1"),
    *("64-64", "1000000000", "x" * 100_000, "2024-01-01T00:00:00", "0001-01-01", "train.py", "sweep_trpo.py"),
]
NAMES = [
    *("00000_x.bak", "00000", "00001_copy", "000000_x", "99999_x", "-0001_x", "\u0663" * 5, "checkpoint_000000.bak"),
    *("checkpoint_000009", "checkpoint_", "checkpoint_00000\u0661", "checkpoint_999999", "a\x1b[31mb", "a\nb", "#%41?"),
    *(".lock", "report.html", "report.md", "report_figures", "experiment.json.tmp", "result.json.tmp", ".incoming"),
    *("experiment.json", "result.json", "params.json", "error.txt", "state.json"),
    *("arrays.safetensors", "evaluation.gif"),
    *("tuner.pkl", "error.pkl", "x.PKL", "experiment_state-1.json", "\udcff"),
]
NUMBERS = [0, 1, -1, 10**9, 2**63, 10**40, 1e308, float("nan"), float("inf"), 0.5, True, None]
DEEP = '{"a":' * 60_000
CONTENTS = [DEEP.encode(), b"\xff\xfe\x00", b"[]", b"null", b"{}", b'{"training_iteration": 1}\n' * 3, b"\x00" * 50]


def make_sound(storage):
    """An experiment of two trials for each learner, with checkpoints that play."""
    for learner, settings in (("trpo", CARTPOLE | {"hidden_sizes": "8"}), ("pg", {"hidden_size": 2})):
        trials = [(settings, [20, 30], None), (settings | {"seed": 5, "gamma": 0.9}, [20], "running")]
        command = ["sweep_trpo.py" if learner == "trpo" else "sweep_pong.py", "--name", learner]
        folder = write_experiment(storage, learner, learner, trials, iterations=2, command=command, swept=["seed"])
        for trial in folder.glob("0*"):
            write_policies(trial, learner, {1: 10, 2: 20})


# Damage by chance


def damage(rng: random.Random, experiment, outside):
    """Do something to one of an experiment's files; returns what. ``outside`` is a folder that nobody may touch."""
    # Who opens a pipe to write waits for ever; the programs under test meet those that are made below.
    paths = sorted(path for path in experiment.rglob("*") if not (path.is_symlink() or path.is_fifo()))
    files = [path for path in paths if path.is_file()]
    if not files:
        return "nothing left"
    target = rng.choice(files if rng.random() < 0.5 else paths)
    beside = rng.choice([target, target.with_name(rng.choice(NAMES)), target.with_name(target.name + ".bak")])
    links = [outside, outside / "precious", outside / "new", target, Path("/dev/zero"), Path("nowhere")]
    pickled = pickle.dumps(Trap(outside / "sprung"))
    acts = {
        "cut": lambda: os.truncate(target, rng.randrange(target.stat().st_size + 1)),
        "grow": lambda: os.truncate(target, rng.choice([10**7, 3 * 10**8])),
        "rewrite": lambda: target.write_bytes(rng.choice([*CONTENTS, pickled])),
        "rename": lambda: target.rename(beside),
        "copy": lambda: (shutil.copytree if target.is_dir() else shutil.copy)(target, beside),
        "remove": lambda: _remove(target),
        "link": lambda: (_remove(beside), beside.symlink_to(rng.choice(links))),
        "pipe": lambda: (_remove(beside), os.mkfifo(beside)),
        "pickle": lambda: (target.parent / rng.choice(["tuner.pkl", "x.pkl", "params.pkl"])).write_bytes(pickled),
    }
    act = rng.choice([*acts, *["value"] * len(acts)])
    with contextlib.suppress(OSError, ValueError, RecursionError, LookupError, TypeError):  # it is damaged already
        if act == "value":
            target = rng.choice([path for path in files if path.suffix == ".json"] or files)
            _another_value(rng, target)
        else:
            acts[act]()
    return f"{act} {target.relative_to(experiment)}"


def _remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _another_value(rng, path):
    """Another value somewhere in a file of JSON, or in its last row; a checkpoint's checksum is made right again."""
    if path.name == "state.json":
        with edited_state(path.parent) as content:
            _change(rng, content)
        return
    *rows, text = path.read_text().splitlines() if path.name == "result.json" else [path.read_text()]
    content = json.loads(text)
    _change(rng, content)
    path.write_text("\n".join([*rows, json.dumps(content)]))


def _change(rng, content):
    """Set, add or remove an entry of a dict or a list, or of one that lies in it."""
    places = [*content] if isinstance(content, dict) else [*range(len(content))]
    place = rng.choice(places)
    if isinstance(content[place], dict | list) and content[place] and rng.random() < 0.7:
        _change(rng, content[place])
    elif rng.random() < 0.2:
        del content[place]
    else:
        value = rng.choice([*NUMBERS, *NASTY, [], {}, [[]], {"": None}])
        content[rng.choice(NASTY) if isinstance(content, dict) and rng.random() < 0.2 else place] = value


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
    if event in STARTING and args[0] not in ("git", "uname"):
        _found.append(f"{event} {args}")


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
