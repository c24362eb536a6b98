"""A program runs the code that stands beside it, and so do its workers, whatever is installed and wherever one is."""

import json
import os
import shutil
import subprocess

import pytest

from tests.helpers.programs import ROOT, TRAIN, command, run
from tests.helpers.trials import wait_until
from trainables.versions import sources_digest

pytestmark = pytest.mark.ray
SMOKE = ("pg", "--preset", "smoke", "--num-workers", 1, "--eval-interval", 0, "--iterations", 1)


@pytest.fixture
def other(tmp_path):
    """Another copy of the code, whose worker module leaves the number of each process that imports it in a file."""
    copy = tmp_path / "other"
    for package in ("experiments", "search_spaces", "trainables"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "trainables" / "sampling" / "worker.py").open("a", encoding="utf-8") as file:
        file.write(f"import os\nopen({str(tmp_path / 'imported')!r}, 'a').write(f'{{os.getpid()}}\\n')\n")
    return copy


def recorded(folder):
    """The digest of ``trainables`` in an experiment's record: of each code that it ran with."""
    record = json.loads((folder / "experiment.json").read_text(encoding="utf-8"))
    return [ran["trainables"] for ran in record["origin"]["sources"]]


@pytest.mark.slow
def test_nothing_of_the_present_folder_is_imported(other, tmp_path):
    for name in ("numpy", "gymnasium", "yaml"):
        (other / f"{name}.py").write_text("raise SystemExit('of the present folder')", encoding="utf-8")
    run(TRAIN, *SMOKE, "--name", "t", cwd=other)
    assert not (tmp_path / "imported").exists()
    assert recorded(other / "results" / "t") == [sources_digest()]


@pytest.mark.slow
def test_another_copy_runs_itself_and_what_it_began_goes_on_with_a_word_of_it(other, tmp_path):
    run(other / "experiments" / "train.py", *SMOKE, "--name", "t", cwd=tmp_path)
    processes = {*(tmp_path / "imported").read_text().split()}
    assert len(processes) >= 2, "the trial's process, and its worker's"
    theirs = sources_digest(str(other / "trainables"))
    assert recorded(tmp_path / "results" / "t") == [theirs]
    more = command(TRAIN, "pg", "--extend", "t", "--iterations", 2)
    done = subprocess.run(more, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert f"Made by something else than runs here: trainables of SHA-256 {theirs[:12]} (" in done.stderr
    assert recorded(tmp_path / "results" / "t") == [theirs, sources_digest()]


@pytest.mark.slow
def test_code_that_is_edited_while_a_sweep_runs_ends_it_and_no_trial_fails(other, tmp_path):
    sweep = ("--preset", "smoke", "--scheduler", "fifo", "--max-concurrent", 1, "--set", "num_workers=2")
    sweep += ("--num-samples", 2, "--iterations", 5, "--name", "s")
    program = subprocess.Popen(
        command(other / "experiments" / "sweep_pong.py", *sweep), cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: program.poll() is not None or [*tmp_path.glob("results/s/*/result.json")], "no result")
    with (other / "trainables" / "metrics.py").open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    _, complaint = program.communicate(timeout=120)
    assert program.returncode == 3, complaint
    last = complaint.splitlines()[-1]
    assert last.startswith(f"Ray Tune gave up: a worker's sources in {other}/trainables (")
    assert last.endswith("; were they edited meanwhile?")
    listed = run(TRAIN.with_name("results.py"), "list", cwd=tmp_path)
    assert "1/2" in listed
    assert "failed" not in listed


def test_a_program_that_would_run_another_copy_is_refused(other, tmp_path):
    path = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, other)))}
    words = command(other / "experiments" / "results.py", "list")
    done = subprocess.run(words, cwd=tmp_path, env=path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"experiments comes from {ROOT}/experiments/__init__.py, and not from {other}/" in done.stderr
