"""Fuzzing: whatever somebody has done to experiments' files, each program ends well or with one line.

By default a few examples, always the same. ``FUZZ_MINUTES=10 pytest -m slow`` with this file makes new ones for
ten minutes, and then says all that it found.
"""

import itertools
import os
import resource
import shutil
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import pytest
import ray
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from experiments import results, sweep_pong, sweep_trpo, train, watch
from experiments.plan.learners import PG, TRPO
from experiments.run import sweep
from tests.helpers.audit import watched
from tests.helpers.foreign_experiments import damage, make_sound

pytestmark = pytest.mark.ray  # runs whole programs for seconds

FUZZ_MINUTES = float(os.environ.get("FUZZ_MINUTES", "1"))

CPU_S, MEMORY = 30, 4 * 2**30
"""What a program may take: seconds of a core, and bytes beyond what it has."""

SWEEPS = {"pg": (PG, sweep_pong.DESCRIPTION, "sweep_pong.py"), "trpo": (TRPO, sweep_trpo.DESCRIPTION, "sweep_trpo.py")}


class RayBegins(BaseException):
    """The program came as far as Ray."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Sound experiments; every program has run on them once, so that all modules are there."""
    folder = tmp_path_factory.mktemp("sound")
    make_sound(folder / "results")
    with pytest.MonkeyPatch.context() as patch:
        work = tmp_path_factory.mktemp("warm") / "work"
        shutil.copytree(folder, work)
        patch.chdir(work)
        stop_before_ray(patch)
        for learner in SWEEPS:
            for argv in calls(learner):
                assert run(patch, argv) in (0, None), argv
    return folder


def stop_before_ray(patch):
    """Have programs end where they would start a Ray, also where this process has one for other tests."""
    patch.setattr(ray, "init", begin)
    patch.setattr(ray, "is_initialized", lambda: False)


def begin(*args, **options):
    raise RayBegins


def calls(name):
    """The command lines that read an experiment."""
    yield ["results.py", "list"]
    yield ["results.py", "report", name]
    yield ["results.py", "compare", name, name]
    for what in ([], ["--rows"], ["--windows", "--format", "json"]):
        yield ["results.py", "table", name, *what]
    yield ["results.py", "best", name]
    yield ["results.py", "best", name, "--json"]
    yield ["results.py", "export", name, "--out", f"{name}-policy"]
    yield ["watch.py", name, "--episodes", "1"]
    for flag in (["--resume", name], ["--extend", name, "--iterations", "4"], ["--fork", name, "--iterations", "4"]):
        yield [SWEEPS["trpo" if name == "trpo" else "pg"][2], *flag]
    yield ["train.py", "trpo" if name == "trpo" else "pg", "--resume", f"results/{name}"]


def run(patch, argv):
    """Run a program as far as Ray; return its exit status, None if it came so far or to its end."""
    patch.setattr(sys, "argv", argv)
    programs = {"results.py": results.main, "watch.py": watch.main, "train.py": train.main}
    try:
        if argv[0] in programs:
            programs[argv[0]]()
        else:
            learner, description, _ = SWEEPS["trpo" if "trpo" in argv[0] else "pg"]
            sweep.main(learner, description)
    except RayBegins:
        return None
    except SystemExit as stop:
        return stop.code
    return None


@st.composite
def foreign(draw, sound, work, outside):
    """Make a damaged copy in ``work``; returns what was done, and the experiments' names."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(sound, work)
    name = draw(st.sampled_from([*SWEEPS]))
    done = [damage(draw, work / "results" / name, outside) for _ in range(draw(st.integers(1, 8)))]
    return done, draw(st.sampled_from([*calls(name)]))


def check(data, sound, tmp_path, patch, capsys):
    """One example: damage, a program, and what it did; returns the program and its status."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    done, argv = data.draw(foreign(sound, work, outside))
    patch.chdir(work)
    before, began = sorted(outside.iterdir()), time.process_time()
    limit = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    capsys.readouterr()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, limit[1]))
        with watched(work) as found:
            status = run(patch, argv)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)
    output, complaint = capsys.readouterr()
    assert not found, (done, argv, found)
    assert sorted(outside.iterdir()) == before, (done, argv)
    assert (outside / "precious").read_text() == "precious", (done, argv)
    assert time.process_time() - began < CPU_S, (done, argv)
    assert "Traceback" not in output + complaint, (done, argv)
    assert (output + complaint).replace("\n", "").isprintable(), (done, argv, output, complaint)
    if status == 2:
        assert complaint.strip(), (done, argv)
        assert complaint.count("\n") == 1, (done, argv, complaint)
    else:
        assert status in (None, 0), (done, argv, status)
    return argv[0], status


@pytest.fixture
def ready(sound, tmp_path, monkeypatch, capsys):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_text("precious")
    (tmp_path / "evil_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    stop_before_ray(monkeypatch)
    return sound, tmp_path, monkeypatch, capsys


OPTIONS = {"deadline": None, "database": None, "suppress_health_check": [*HealthCheck]}


def test_whatever_was_done_to_an_experiments_files_a_program_ends_with_one_line(ready):
    @settings(max_examples=15, derandomize=True, **OPTIONS)
    @given(st.data())
    def examples(data):
        check(data, *ready)

    examples()


@pytest.mark.slow
@pytest.mark.timeout(60 * FUZZ_MINUTES + 600)
def test_many_more_foreign_experiments(ready):
    findings, made, capsys = {}, Counter(), ready[-1]
    until = time.monotonic() + 60 * FUZZ_MINUTES

    @settings(max_examples=20, phases=[Phase.generate], **OPTIONS)
    @given(st.data())
    def examples(data):
        try:
            made[check(data, *ready)] += 1
        except Exception as error:
            places = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)[:-5:-1]]
            findings.setdefault(key := f"{type(error).__name__} {' < '.join(places)}", str(error)[:1000])
            with capsys.disabled():
                print(f"\n{key}\n{findings[key]}", flush=True)

    first = time.time_ns()
    for number in itertools.count(first):
        if time.monotonic() > until:
            break
        seed(number)(examples)()
    print(f"seeds {first} to {number - 1}: {made}")
    assert not findings, "\n\n".join(f"{key}\n{text}" for key, text in findings.items())
