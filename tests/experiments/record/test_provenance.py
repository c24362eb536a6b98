"""An experiment's record says where its results come from, in a checkout, outside of one, and without git."""

import json
import subprocess
from datetime import UTC, datetime

import numpy as np
import pytest

from experiments.record.folders import create
from experiments.record.provenance import git_revision


@pytest.fixture
def checkout(tmp_path):
    """A repository of one commit."""
    (tmp_path / "code.py").write_text("one")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one")
    return tmp_path


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout.strip()


def test_the_revision_is_the_commits_and_dirty_once_a_tracked_file_changes(checkout):
    revision = git(checkout, "rev-parse", "HEAD")
    assert git_revision(checkout / "code.py") == {"revision": revision, "dirty": False}
    (checkout / "results.txt").write_text("not tracked")
    assert git_revision(checkout / "code.py") == {"revision": revision, "dirty": False}
    (checkout / "code.py").write_text("two")
    assert git_revision(checkout / "code.py") == {"revision": revision, "dirty": True}


def test_there_is_no_revision_of_untracked_code_outside_of_a_checkout_or_without_git(checkout, tmp_path, monkeypatch):
    (checkout / "installed.py").touch()
    assert git_revision(checkout / "installed.py") is None
    (checkout / ".git").rename(checkout / "elsewhere")
    assert git_revision(checkout / "code.py") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_revision(checkout / "code.py") is None


def test_the_record_of_an_experiment_holds_its_origin(tmp_path):
    before = datetime.now(UTC).replace(microsecond=0)
    record = json.loads((create(tmp_path, "first", "pg", {"learner": "pg"}) / "experiment.json").read_text())
    assert record["learner"] == "pg"
    assert before <= datetime.fromisoformat(record["started"]) <= datetime.now(UTC)
    assert record["versions"]["numpy"] == np.__version__
    assert record["cpus"] >= 1
    assert record["git"] is None or len(record["git"]["revision"]) == 40
    assert record["platform"]
    assert record["python"]
