"""An experiment whose home is a URI: which of two versions counts, and what is left alone."""

import json
import os
import shutil

import pytest

from experiments.ask.flags import RunFlags
from experiments.record import mirror
from experiments.record.lock import exclusive
from experiments.record.mirror import Remote
from tests.helpers.written_experiments import write_experiment
from trainables.checks import ConfigError


@pytest.fixture
def mirrored(tmp_path, monkeypatch):
    """An experiment on this machine, and the same where its home is."""
    monkeypatch.chdir(tmp_path)
    trials = [({"seed": 1}, [-20.0, -19.0], "running")]
    folder = write_experiment(tmp_path / "results", "x", "pg", trials, storage_uri=(tmp_path / "home").as_uri())
    (tmp_path / "home").mkdir()
    Remote.of(folder).publish()
    return folder


def test_of_two_versions_of_a_file_the_newer_one_counts(mirrored, tmp_path):
    (here,), (there,) = mirrored.glob("*/result.json"), (tmp_path / "home").glob("*/*/result.json")
    for newer in (here, there):  # rows that could not be sent; rows of another machine
        now = max(path.stat().st_mtime for path in (here, there)) + 1
        newer.write_text(f"rows of {newer}")
        os.utime(newer, (now, now))
        Remote.of(mirrored).fetch()
        assert here.read_text() == f"rows of {newer}"


def test_a_folder_that_is_no_mirror_of_it_is_left_alone(mirrored):
    record = mirrored / "experiment.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"storage_uri": None}))
    before = {path: path.read_bytes() for path in mirrored.rglob("*") if path.is_file()}
    home = (mirrored.parents[1] / "home" / "x").as_uri()
    with pytest.raises(ConfigError, match="is in the way: another experiment"):
        mirror.find(RunFlags(), home, "pg")
    assert {path: path.read_bytes() for path in mirrored.rglob("*") if path.is_file()} == before


def test_while_a_program_runs_it_here_the_mirror_is_left_alone(mirrored, tmp_path):
    shutil.rmtree(tmp_path / "home")
    with exclusive(mirrored):
        assert mirror.find(RunFlags(), "x", "pg") == mirrored
    with pytest.raises(ConfigError, match="is no experiment"):
        mirror.find(RunFlags(), "x", "pg")
