"""An experiment whose home is a URI: which of two versions counts, and what is left alone."""

import contextlib
import json
import os
import shutil
from pathlib import Path

import pytest

from experiments.ask.flags import RunFlags
from experiments.record import mirror
from experiments.record.lock import exclusive
from experiments.record.mirror import Remote
from tests.helpers.surroundings import put, s3_server
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


def test_a_clock_ahead_of_the_buckets_kept_stale_rows(mirrored, tmp_path):
    (here,), (there,) = mirrored.glob("*/result.json"), (tmp_path / "home").glob("*/*/result.json")
    now = here.stat().st_mtime
    os.utime(here, (now + 3600, now + 3600))  # sent by a machine whose clock is an hour ahead
    there.write_text("rows that another machine has sent since")
    os.utime(there, (now + 60, now + 60))
    Remote.of(mirrored).fetch()
    assert here.read_text() == "rows that another machine has sent since"
    here.write_text("rows that could not be sent")
    os.utime(here, (now - 3600, now - 3600))  # by a clock that is behind
    Remote.of(mirrored).fetch()
    assert here.read_text() == "rows that could not be sent"


@pytest.mark.parametrize("name", ["a#b", "50%", "a%41", "a?b=c", "\N{SNOWMAN} x"])
def test_names_with_hash_or_percent_beneath_a_uri_were_another_place(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    uri = (tmp_path / "home").as_uri()
    (tmp_path / "home").mkdir()
    folder = write_experiment(tmp_path / "results", name, "pg", [({}, [-20.0], "running")], storage_uri=uri)
    Remote.of(folder).publish()
    assert [path.name for path in (tmp_path / "home").iterdir()] == [name]
    shutil.rmtree(folder)
    assert mirror.find(RunFlags(storage_path=uri), name, "pg") == folder
    shutil.rmtree(folder)
    assert mirror.find(RunFlags(), Remote(uri, folder).uri, "pg") == folder
    assert len([*folder.glob("00000*/result.json")]) == 1


KEYS = [
    "../../evil.txt",
    "/../../../evil.txt",
    "00000_x/../../../evil.txt",
    "00000_x/checkpoint_000000/../../../../evil.txt",
]


@pytest.fixture(scope="module")
def s3():
    with s3_server() as server:
        yield server


@pytest.mark.parametrize("key", [*KEYS, "00000_x/..\\evil.txt", "00000_x/a\x1b[31m"])
def test_a_key_with_dots_wrote_outside_of_the_mirror(key, s3, tmp_path, monkeypatch):
    uri, client = s3
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    name = f"x{abs(hash(key))}"
    for good in ("experiment.json", "00000_x/result.json", "00000_x/checkpoint_000000/state.json"):
        put(client, f"deep/pong/{name}/{good}", b'{"learner": "pg"}')
    put(client, f"deep/pong/{name}/{key}", b"evil")
    with contextlib.suppress(ConfigError):  # it is refused, or the file system's own listing leaves it out
        folder = mirror.find(RunFlags(storage_path=uri), name, "pg")
        assert (folder / "00000_x" / "checkpoint_000000" / "state.json").is_file()
    everywhere = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(path.is_relative_to(tmp_path / "work" / "results" / name) for path in everywhere)
    assert not [path for path in everywhere if path.read_bytes() == b"evil"]


def test_a_link_in_a_mirror_was_written_through(mirrored, tmp_path):
    (here,), (there,) = mirrored.glob("*/result.json"), (tmp_path / "home").glob("*/*/result.json")
    (tmp_path / "precious").write_text("precious")
    here.unlink()
    here.symlink_to(tmp_path / "precious")
    there.write_text("other rows")
    with pytest.raises(ConfigError, match="is a link"):
        Remote.of(mirrored).fetch()
    assert (tmp_path / "precious").read_text() == "precious"


def test_what_links_of_an_unpacked_experiment_point_to_was_sent_to_the_uri_that_it_names(mirrored, tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key").write_text("secret")
    (mirrored / "x").symlink_to(tmp_path / "private")
    (mirrored / "winner.json").symlink_to(tmp_path / "private" / "key")
    (trial,) = mirrored.glob("00000*")
    (trial / "note").symlink_to(tmp_path / "private" / "key")
    (trial / "result.json").write_text("new rows")
    assert Remote.of(mirrored).settle()
    sent = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert "new rows" in [path.read_text() for path in sent]
    assert "secret" not in [path.read_text() for path in sent]


def test_a_fetch_that_failed_left_an_empty_file(mirrored, tmp_path, monkeypatch):
    (here,), (there,) = mirrored.glob("*/result.json"), (tmp_path / "home").glob("*/*/result.json")
    before = here.read_bytes()
    there.write_text("newer rows")
    os.utime(there, (2e9, 2e9))

    def breaks(source, target, **_):
        Path(target).write_bytes(b"")
        raise OSError("connection reset")

    with monkeypatch.context() as patch:
        patch.setattr(mirror, "copy_files", breaks)
        with pytest.raises(ConfigError, match="cannot be fetched: connection reset"):
            Remote.of(mirrored).fetch()
    assert here.read_bytes() == before
    Remote.of(mirrored).fetch()
    assert here.read_text() == "newer rows"
    assert not [*mirrored.rglob("*.incoming")]


def test_half_a_checkpoint_that_was_fetched_while_it_was_written_stayed_half(mirrored, tmp_path):
    (trial,) = (tmp_path / "home").glob("x/*/")
    there = trial / "checkpoint_000003"
    there.mkdir()
    (there / "arrays.safetensors").write_bytes(b"arr")
    Remote.of(mirrored).fetch()
    here = mirrored / trial.name / there.name
    assert [path.name for path in here.iterdir()] == ["arrays.safetensors"]
    (there / "arrays.safetensors").write_bytes(b"arrays")
    (there / "state.json").write_bytes(b"{}")
    Remote.of(mirrored).fetch()
    found = {path.name: path.read_bytes() for path in here.iterdir()}
    assert found == {"arrays.safetensors": b"arrays", "state.json": b"{}"}
    kept = here.stat().st_ino
    Remote.of(mirrored).fetch()
    assert here.stat().st_ino == kept, "what is whole is not fetched again"


def test_decisions_that_did_not_come_home_are_sent_at_the_end(mirrored, tmp_path):
    for name in ("rungs.json", "winner.gif"):
        (mirrored / name).write_text(name)
    assert Remote.of(mirrored).settle()
    assert [(tmp_path / "home" / "x" / name).read_text() for name in ("rungs.json", "winner.gif")] == [
        "rungs.json",
        "winner.gif",
    ]


def test_a_record_that_names_no_uri_as_its_home_is_damaged(mirrored):
    for storage in (5, ["x"], "nowhere", {"a": 1}):
        record = mirrored / "experiment.json"
        record.write_text(json.dumps(json.loads(record.read_text()) | {"storage_uri": storage}))
        with pytest.raises(ConfigError, match=r"experiment\.json is damaged: storage_uri="):
            mirror.find(RunFlags(), "x", "pg")
