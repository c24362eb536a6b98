"""Experiments that run with their home at a URI: on a second file system, and on a real S3 server."""

import json
import shutil
from pathlib import Path

import pytest

from experiments.ask.budget import Budget
from experiments.plan.learners import TRPO
from experiments.read.experiments import read_experiment
from experiments.read.policies import find
from experiments.record import mirror
from experiments.record.decisions import read_exchanges
from experiments.record.mirror import Remote
from experiments.run import lifecycle, population
from experiments.run.fork import fork, forked
from experiments.run.uploads import Uploads
from tests.helpers.small_experiments import (
    PAIR,
    SIX_ITERATIONS,
    InterruptAt,
    assert_as_undisturbed,
    fit,
    flags,
    last_arrays,
    newest_arrays,
    trial_folders,
)
from tests.helpers.surroundings import s3_server
from tests.helpers.trials import assert_same
from trainables.checks import ConfigError

pytestmark = pytest.mark.ray


@pytest.fixture
def s3():
    """A bucket on a server of its own."""
    with s3_server() as (uri, _):
        yield uri


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


@pytest.mark.slow
def test_an_interrupted_experiment_goes_on_from_its_uri_on_another_machine(storage, undisturbed):
    folder = Path("results/interrupted").absolute()
    folder.mkdir(parents=True)
    spec = SIX_ITERATIONS.but(storage_uri=storage)
    (folder / "experiment.json").write_text(json.dumps(spec.to_dict()))
    home = Remote(storage, folder)
    home.publish()
    fit(TRPO, folder, spec, Uploads(home), InterruptAt(5))
    lose_the_machine()
    assert lifecycle.resume(TRPO, flags("results", resume=home.uri)) == (0, folder)
    assert_as_undisturbed(folder, undisturbed)


@pytest.mark.slow
def test_the_mirror_shows_what_lies_there_and_extends_it(storage, undisturbed):
    run = flags(storage, name="short")
    spec = SIX_ITERATIONS.but(iterations=3, storage_uri=storage)
    status, folder = lifecycle.start(TRPO, spec, run)
    assert (status, folder) == (0, Path("results/short").absolute())
    assert read_experiment(folder).state == "finished"
    assert find(Path("results"), "short")[-1].iteration == 3
    with pytest.raises(ConfigError, match="exists already"):
        lifecycle.start(TRPO, spec, run)
    assert lifecycle.resume(TRPO, flags("results", extend="short"), Budget(6)) == (0, folder)
    assert_as_undisturbed(folder, undisturbed)
    here = {path: path.read_bytes() for path in sorted(folder.rglob("[!.]*")) if path.is_file()}
    lose_the_machine()
    assert mirror.find(flags(storage), "short", "trpo") == folder
    assert {path: path.read_bytes() for path in sorted(folder.rglob("[!.]*")) if path.is_file()} == here


@pytest.mark.slow
def test_a_fork_starts_from_checkpoints_that_lie_there(storage, undisturbed):
    spec = SIX_ITERATIONS.but(iterations=3, storage_uri=storage)
    lifecycle.start(TRPO, spec, flags(storage, name="origin"))
    lose_the_machine()
    run = flags(storage, fork="origin", name="fork")
    spec, restored = forked(TRPO, run)
    status, folder = fork(TRPO, spec.but(iterations=6), restored, run)
    assert status == 0
    for trial, expected in zip(trial_folders(folder), trial_folders(undisturbed), strict=True):
        assert_same(last_arrays(trial)[1], last_arrays(expected)[1])


@pytest.mark.slow
def test_a_population_exchanges_weights_there(storage, ray_cluster, tmp_path):
    fit(TRPO, tmp_path / "here", PAIR)
    spec = PAIR.but(storage_uri=storage)
    status, folder = lifecycle.start(TRPO, spec, flags(storage, name="there"))
    assert status == 0
    lose_the_machine()
    assert mirror.find(flags(storage), "there", "trpo") == folder
    assert read_exchanges(folder) == read_exchanges(tmp_path / "here")
    for trial, expected in zip(trial_folders(folder), trial_folders(tmp_path / "here"), strict=True):
        assert_same(newest_arrays(trial), newest_arrays(expected))


@pytest.mark.slow
def test_a_copy_that_was_sent_in_part_was_not_sent_again(ray_cluster, tmp_path, monkeypatch, capsys):
    """It was whole on this machine, and the node found half of it at home: it went on from its own checkpoint."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir()
    fit(TRPO, tmp_path / "here", PAIR)
    whole = population.copy_files

    def breaks(source, target, destination_filesystem):
        monkeypatch.setattr(population, "copy_files", whole)
        Path(target, "arrays.safetensors").write_bytes(b"half")
        raise OSError("connection reset")

    monkeypatch.setattr(population, "copy_files", breaks)
    spec = PAIR.but(storage_uri=(tmp_path / "home").as_uri())
    status, folder = lifecycle.start(TRPO, spec, flags((tmp_path / "home").as_uri(), name="there"))
    assert status == 0
    assert "An exchange cannot be written: connection reset" in capsys.readouterr().err
    for trial, expected in zip(trial_folders(folder), trial_folders(tmp_path / "here"), strict=True):
        assert_same(newest_arrays(trial), newest_arrays(expected))
