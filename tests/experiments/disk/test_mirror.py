"""An experiment whose home is a URI: which of two versions counts, and what is left alone."""

import os
import shutil

import pytest
from pyarrow.fs import copy_files

from experiments.ask.flags import RunFlags
from experiments.disk import mirror
from experiments.disk.lock import exclusive
from experiments.disk.mirror import Remote
from experiments.disk.spec import ExperimentSpec
from tests.helpers.written_experiments import write_experiment
from trainables.checks import ConfigError


@pytest.fixture
def bucket(tmp_path):
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def mirrored(bucket, tmp_path, monkeypatch):
    """An experiment on this machine, and the same where its home is."""
    monkeypatch.chdir(tmp_path)
    trials = [({"seed": 1}, [-20.0, -19.0], "running")]
    folder = write_experiment(tmp_path / "results", "x", "pg", trials, storage_uri=bucket.as_uri())
    Remote.of(folder).publish()
    return folder


def elsewhere(mirrored):
    """The mirror of another machine, from which the experiment has gone on since."""
    other = mirrored.parents[1] / "other" / "x"
    Remote(Remote.of(mirrored).storage, other).fetch()
    Remote.of(other).publish()
    return other


def test_rows_that_could_not_be_sent_count_until_another_machine_goes_on_whatever_the_clocks_say(mirrored, bucket):
    (here,), (there,) = mirrored.glob("*/result.json"), bucket.glob("*/*/result.json")
    here.write_text("not sent")
    (mirrored / "rungs.json").write_text("not sent")
    os.utime(here, (0, 0))
    Remote.of(mirrored).fetch()
    assert here.read_text() == "not sent"
    assert Remote.of(mirrored).settle()
    assert there.read_text() == "not sent"
    assert (bucket / "x" / "rungs.json").read_text() == "not sent"
    (other,) = elsewhere(mirrored).glob("*/result.json")
    assert other.read_text() == "not sent"
    there.write_text("of the other machine")
    os.utime(there, (0, 0))
    Remote.of(mirrored).fetch()
    assert here.read_text() == "of the other machine"


def test_a_mirror_that_only_reads_has_new_rows_each_time(mirrored, bucket):
    reader = mirrored.parents[1] / "reader" / "x"
    (there,) = bucket.glob("*/*/result.json")
    for text in ("first", "second"):
        there.write_text(text)
        Remote(bucket.as_uri(), reader).fetch()
        assert next(reader.glob("*/result.json")).read_text() == text


def test_what_tune_writes_at_home_comes_even_to_the_mirror_that_wrote_last(mirrored, bucket):
    (trial,) = bucket.glob("x/*/")
    for text in ("first error", "second error"):
        (trial / "error.txt").write_text(text)
        assert Remote.of(mirrored).settle()
        assert (mirrored / trial.name / "error.txt").read_text() == text


def test_a_folder_that_is_no_mirror_of_it_is_left_alone(mirrored, bucket):
    ExperimentSpec.read(mirrored).but(storage_uri=None).write(mirrored)
    before = {path: path.read_bytes() for path in mirrored.rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match="is in the way: another experiment"):
        mirror.find(RunFlags(), (bucket / "x").as_uri(), "pg")
    assert {path: path.read_bytes() for path in mirrored.rglob("*") if path.is_file()} == before


def test_while_a_program_runs_it_here_the_mirror_is_left_alone(mirrored, bucket):
    shutil.rmtree(bucket)
    with exclusive(mirrored):
        assert mirror.find(RunFlags(), "x", "pg") == mirrored
    with pytest.raises(ConfigError, match="is no experiment"):
        mirror.find(RunFlags(), "x", "pg")


@pytest.mark.parametrize("name", ["a#b", "50%", "a%41", "a?b=c", "\N{SNOWMAN} x"])
def test_any_name_is_the_same_place_in_a_uri(name, bucket, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    uri = bucket.as_uri()
    folder = write_experiment(tmp_path / "results", name, "pg", [({}, [-20.0], "running")], storage_uri=uri)
    Remote.of(folder).publish()
    assert [path.name for path in bucket.iterdir()] == [name]
    for run, way in ((RunFlags(storage_path=uri), name), (RunFlags(), Remote(uri, folder).uri)):
        shutil.rmtree(folder)
        assert mirror.find(run, way, "pg") == folder
        assert len([*folder.glob("00000*/result.json")]) == 1


def test_no_link_of_a_mirror_is_written_through_or_sent(mirrored, bucket, tmp_path):
    (trial,) = mirrored.glob("00000*")
    (tmp_path / "precious").write_text("precious")
    for link in (mirrored / "winner.json", mirrored / "rungs.json", trial / "params.json"):
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / "precious")
    Remote.of(mirrored).publish()
    assert "precious" not in [path.read_text() for path in bucket.rglob("*") if path.is_file()]
    with pytest.raises(ConfigError, match="is a link"):
        Remote.of(mirrored).fetch()
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_fetch_that_fails_leaves_what_is_here_and_the_next_one_makes_it_whole(mirrored, bucket, monkeypatch):
    (there,) = elsewhere(mirrored).glob("00000*")
    checkpoint = bucket / "x" / there.name / "checkpoint_000003"
    checkpoint.mkdir()
    (checkpoint / "arrays.safetensors").write_bytes(b"arr")  # it is being written
    here = mirrored / there.name
    before = (here / "result.json").read_bytes()
    (bucket / "x" / there.name / "result.json").write_text("newer rows")

    def breaks(source, target, **of):
        if "result" in source:
            raise OSError("connection reset")
        copy_files(source, target, **of)

    with monkeypatch.context() as patch:
        patch.setattr(mirror, "copy_files", breaks)
        with pytest.raises(ConfigError, match="cannot be fetched: connection reset"):
            Remote.of(mirrored).fetch()
    assert (here / "result.json").read_bytes() == before
    (checkpoint / "arrays.safetensors").write_bytes(b"arrays")
    (checkpoint / "state.json").write_bytes(b"{}")
    Remote.of(mirrored).fetch()
    assert (here / "result.json").read_text() == "newer rows"
    found = {path.name: path.read_bytes() for path in (here / checkpoint.name).iterdir()}
    assert found == {"arrays.safetensors": b"arrays", "state.json": b"{}"}
    shutil.rmtree(checkpoint)
    Remote.of(mirrored).fetch()
    assert not (here / checkpoint.name).exists(), "it is there no longer"
