"""Experiments that somebody else made: sound ones, and what Hypothesis does to their files."""

import contextlib
import hashlib
import json
import os
import pickle
import shutil
from pathlib import Path

from hypothesis import strategies as st

from experiments.plan.learners import LEARNERS
from tests.helpers.pickles import Trap
from tests.helpers.trials import CARTPOLE
from tests.helpers.written_experiments import write_experiment

NASTY = [
    *("", ".", "..", "../escaped", "a/b", "\\", "a\x00b", "\x1b]52;c;aGk=\x07", "\x9b31m", "\u202e", "\ud800", "a\nb"),
    *(
        "<img src=x onerror=alert(1)>",
        "`<script>`",
        "[x](javascript:1)",
        "![x](http://x/y.png)",
        "{body}",
        "{figures}/x",
    ),
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
TEXTS = st.one_of(st.sampled_from(NASTY), st.text(max_size=20))
NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 10**9, 2**63, 10**40, 1e308, float("nan"), float("inf"), 0.5, True]),
    st.integers(),
    st.floats(),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=6,
)
DEEP = '{"a":' * 60_000
ENDINGS = [None, "running", "RuntimeError: <b>no</b> \x1b[31m", "cut"]


def make_sound(storage):
    """Two experiments of two trials each, with checkpoints that play; returns their names."""
    for learner, settings in (("trpo", {**CARTPOLE, "hidden_sizes": "8"}), ("pg", {"hidden_size": 2})):
        trials = [(settings, [20, 30], None), (settings | {"seed": 5, "gamma": 0.9}, [20], "running")]
        command = ["sweep_trpo.py" if learner == "trpo" else "sweep_pong.py", "--name", learner]
        folder = write_experiment(storage, learner, learner, trials, iterations=2, command=command, swept=["seed"])
        for trial in sorted(folder.glob("0*")):
            config = LEARNERS[learner].config_class.from_dict(json.loads((trial / "params.json").read_text()))
            state = LEARNERS[learner].trainable.untrained(config)
            for iteration in (1, 2):
                state.iterations, state.episodes.recent_returns = iteration, [10.0 * iteration]
                (trial / f"checkpoint_{iteration - 1:06d}").mkdir()
                state.save_checkpoint(str(trial / f"checkpoint_{iteration - 1:06d}"))
    return ["pg", "trpo"]


def damage(draw, storage, outside):
    """Do something to one of the files; ``outside`` is a folder that nobody may touch."""
    # Who opens a pipe to write waits for ever; the programs under test meet those that are made below.
    paths = sorted(path for path in storage.rglob("*") if not (path.is_symlink() or path.is_fifo()))
    if not paths:
        return "nothing left"
    files = [path for path in paths if path.is_file()]
    target = draw(st.sampled_from(files if files and draw(st.booleans()) else paths))
    act = draw(
        st.sampled_from([_value] * 8 + [_cut, _rewrite, _swap, _rename, _copy, _link, _pipe, _pickle, _grow, _remove])
    )
    with contextlib.suppress(OSError, ValueError, RecursionError, UnicodeError):  # it is damaged already
        act(draw, target, paths, outside)
    return f"{act.__name__} {target.relative_to(storage)!s}"


def _value(draw, target, paths, outside):
    """Another value in a file of JSON, or in one of its rows; a checkpoint's checksum is made right again."""
    target = draw(st.sampled_from([path for path in paths if path.suffix == ".json" and path.is_file()]))
    if target.stat().st_size > 10**6:
        return
    lines = target.read_text().splitlines() if target.name == "result.json" else [target.read_text()]
    if not lines:
        return
    index = draw(st.integers(0, len(lines) - 1))
    content = json.loads(lines[index])
    if not isinstance(content, dict):  # it was replaced by something else before
        return
    _replace(draw, content)
    if target.name == "state.json":
        content.pop("state_sha256", None)
        content["state_sha256"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    lines[index] = json.dumps(content)
    target.write_text("\n".join(lines))


def _replace(draw, content):
    """Set, add or remove an entry somewhere in it."""
    while True:
        keys = list(content) if isinstance(content, dict) else list(range(len(content)))
        key = draw(st.sampled_from(keys)) if keys else None
        if key is not None and isinstance(content[key], dict | list) and content[key] and draw(st.booleans()):
            content = content[key]
            continue
        break
    if key is None or (isinstance(content, dict) and draw(st.integers(0, 5)) == 0):
        if isinstance(content, dict):
            content[draw(TEXTS)] = draw(VALUES)
        else:
            content.append(draw(VALUES))
    elif draw(st.integers(0, 5)) == 0:
        del content[key]
    else:
        content[key] = draw(VALUES)


def _cut(draw, target, paths, outside):
    os.truncate(target, draw(st.integers(0, target.stat().st_size)))


def _rewrite(draw, target, paths, outside):
    texts = st.sampled_from([DEEP.encode(), b"\xff\xfe\x00", b"[]", b"null", b"{}", b'{"training_iteration": 1}\n' * 3])
    target.write_bytes(draw(st.one_of(texts, st.binary(max_size=50))))


def _swap(draw, target, paths, outside):
    other = draw(st.sampled_from(paths))
    spare = target.with_name("spare")
    target.rename(spare)
    other.rename(target)
    spare.rename(other)


def _rename(draw, target, paths, outside):
    target.rename(target.with_name(draw(st.sampled_from(NAMES))))


def _copy(draw, target, paths, outside):
    copied = _plain(target.with_name(draw(st.sampled_from([*NAMES, target.name + ".bak"]))))
    shutil.copytree(target, copied) if target.is_dir() else shutil.copy(target, copied)


def _plain(path):
    """A path that can be written to, without following a link or waiting at a pipe."""
    if path.is_symlink() or path.is_fifo():
        path.unlink()
    return path


def _link(draw, target, paths, outside):
    places = [outside, outside / "precious", outside / "new", target, Path("/dev/zero"), Path("nowhere")]
    place = draw(st.sampled_from(places))
    beside = target.with_name(draw(st.sampled_from(NAMES)))
    if draw(st.booleans()):
        beside = target
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    beside.symlink_to(place)


def _pipe(draw, target, paths, outside):
    target.unlink()
    os.mkfifo(target)


def _pickle(draw, target, paths, outside):
    folder = target if target.is_dir() else target.parent
    name = draw(st.sampled_from(["tuner.pkl", "error.pkl", "x.pkl", "params.pkl", "arrays.safetensors", "state.json"]))
    _plain(folder / name).write_bytes(pickle.dumps(Trap(outside / "sprung")))


def _grow(draw, target, paths, outside):
    os.truncate(target, draw(st.sampled_from([10**7, 3 * 10**10])))


def _remove(draw, target, paths, outside):
    shutil.rmtree(target) if target.is_dir() else target.unlink()
