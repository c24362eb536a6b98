"""Experiments whose home is a URI: on a second file system, and on a real S3 server."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest

from experiments.ask.budget import Budget
from experiments.plan.learners import TRPO
from experiments.read.policies import find
from experiments.read.trials import read_experiment
from experiments.record import mirror
from experiments.record.lock import exclusive
from experiments.record.mirror import Remote, Uploads
from experiments.run import lifecycle
from experiments.run.fork import fork, forked
from tests.experiments.run.test_continuing import (  # noqa: F401 - a fixture
    SIX,
    InterruptAt,
    assert_as_undisturbed,
    undisturbed,
)
from tests.helpers.small_experiments import fit, flags, last_arrays, trial_folders
from tests.helpers.trials import assert_same
from tests.helpers.written_experiments import write_experiment
from trainables.checks import ConfigError


@pytest.fixture
def s3():
    """A bucket on a server of its own; credentials stand in the URI, as the nodes' Ray runs already."""
    import boto3  # slow to import, and needed here alone
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    access = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=f"http://{host}:{port}", **access).create_bucket(Bucket="bucket")
    yield f"s3://key:secret@bucket/deep/pong?endpoint_override={host}:{port}&scheme=http&region=us-east-1"
    server.stop()


@pytest.fixture(params=["file", pytest.param("s3", marks=pytest.mark.slow)])
def storage(request, tmp_path, monkeypatch):
    """A storage's URI, and a machine to work on."""
    monkeypatch.chdir(tmp_path)
    if request.param == "s3":
        return request.getfixturevalue("s3")
    (tmp_path / "home").mkdir()
    return (tmp_path / "home").as_uri()


def lose_the_machine():
    shutil.rmtree("results")


def test_an_interrupted_experiment_goes_on_from_its_uri_on_another_machine(storage, undisturbed):  # noqa: F811
    folder = Path("results/interrupted").absolute()
    folder.mkdir(parents=True)
    record = dataclasses.replace(SIX, storage_uri=storage)
    (folder / "experiment.json").write_text(json.dumps(record.to_dict()))
    home = Remote(storage, folder)
    home.publish()
    fit(TRPO, folder, record, Uploads(home), InterruptAt(5))
    lose_the_machine()
    assert lifecycle.resume(TRPO, flags("results", resume=home.uri)) == (0, folder)
    assert_as_undisturbed(folder, undisturbed)


def test_the_mirror_shows_what_lies_there_and_extends_it(storage, undisturbed):  # noqa: F811
    run = flags(storage, name="short")
    record = dataclasses.replace(SIX, iterations=3, storage_uri=storage)
    status, folder = lifecycle.start(TRPO, record, run)
    assert (status, folder) == (0, Path("results/short").absolute())
    assert read_experiment(folder).state == "finished"
    assert find(Path("results"), "short")[-1].iteration == 3
    with pytest.raises(ConfigError, match="exists already"):
        lifecycle.start(TRPO, record, run)
    assert lifecycle.resume(TRPO, flags("results", extend="short"), Budget(6)) == (0, folder)
    assert_as_undisturbed(folder, undisturbed)
    here = {path: path.read_bytes() for path in sorted(folder.rglob("[!.]*")) if path.is_file()}
    lose_the_machine()
    assert mirror.find(flags(storage), "short", "trpo") == folder
    assert {path: path.read_bytes() for path in sorted(folder.rglob("[!.]*")) if path.is_file()} == here


@pytest.mark.slow
def test_a_fork_starts_from_checkpoints_that_lie_there(storage, undisturbed):  # noqa: F811
    record = dataclasses.replace(SIX, iterations=3, storage_uri=storage)
    lifecycle.start(TRPO, record, flags(storage, name="origin"))
    lose_the_machine()
    run = flags(storage, fork="origin", name="fork")
    record, pasts = forked(TRPO, run)
    status, folder = fork(TRPO, dataclasses.replace(record, iterations=6), pasts, run)
    assert status == 0
    for trial, expected in zip(trial_folders(folder), trial_folders(undisturbed), strict=True):
        assert_same(last_arrays(trial)[1], last_arrays(expected)[1])


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
        mirror.find(flags("results"), home, "pg")
    assert {path: path.read_bytes() for path in mirrored.rglob("*") if path.is_file()} == before


def test_while_a_program_runs_it_here_the_mirror_is_left_alone(mirrored, tmp_path):
    shutil.rmtree(tmp_path / "home")
    with exclusive(mirrored):
        assert mirror.find(flags("results"), "x", "pg") == mirrored
    with pytest.raises(ConfigError, match="is no experiment"):
        mirror.find(flags("results"), "x", "pg")
