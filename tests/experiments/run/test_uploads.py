"""Experiments that run with their home at a URI: on a second file system, and on a real S3 server."""

import shutil
from pathlib import Path

import pytest

from experiments.ask.budget import Budget
from experiments.disk import mirror
from experiments.disk.mirror import Remote
from experiments.disk.saved_policies import find
from experiments.plan.learners import TRPO
from experiments.run import lifecycle
from experiments.run.callbacks import Uploads
from experiments.run.draft import continuation, forked
from tests.helpers.small_experiments import (
    SIX_ITERATIONS,
    InterruptAt,
    assert_as_undisturbed,
    drafted,
    fit,
    flags,
    last_arrays,
    trial_folders,
)
from tests.helpers.surroundings import s3_server
from tests.helpers.trials import assert_same
from trainables.checks import ConfigError

pytestmark = [pytest.mark.ray, pytest.mark.slow]


@pytest.fixture
def storage(request, tmp_path, monkeypatch):
    """A storage's URI, and a machine to work on."""
    monkeypatch.chdir(tmp_path)
    if request.param == "s3":
        with s3_server() as (uri, _):
            yield uri
    else:
        (tmp_path / "home").mkdir()
        yield (tmp_path / "home").as_uri()


def lose_the_machine():
    shutil.rmtree("results")


@pytest.mark.parametrize("storage", ["s3"], indirect=True)
def test_an_interrupted_experiment_goes_on_from_its_uri_on_another_machine(storage, undisturbed):
    folder = Path("results/interrupted").absolute()
    folder.mkdir(parents=True)
    spec = SIX_ITERATIONS.but(storage_uri=storage)
    spec.write(folder)
    home = Remote(storage, folder)
    home.publish()
    fit(TRPO, folder, spec, Uploads(home), InterruptAt(5))
    lose_the_machine()
    assert lifecycle.go_on(continuation(TRPO, flags("results", resume=home.uri))) == 0
    assert_as_undisturbed(folder, undisturbed)


@pytest.mark.parametrize("storage", ["file"], indirect=True)
def test_what_lies_there_is_extended_mirrored_and_forked(storage, undisturbed):
    spec = SIX_ITERATIONS.but(iterations=3, storage_uri=storage)
    status, folder = lifecycle.start(drafted(TRPO, spec, flags(storage, name="short")))
    assert (status, folder) == (0, Path("results/short").absolute())
    assert find(Path("results"), "short").iteration == 3
    with pytest.raises(ConfigError, match="exists already"):
        lifecycle.start(drafted(TRPO, spec, flags(storage, name="short")))
    lose_the_machine()
    run = flags(storage, fork="short", name="fork")
    spec, restored = forked(TRPO, run)
    status, forked_folder = lifecycle.start(drafted(TRPO, spec.but(iterations=6), run, restored))
    assert status == 0
    for trial, expected in zip(trial_folders(forked_folder), trial_folders(undisturbed), strict=True):
        assert_same(last_arrays(trial)[1], last_arrays(expected)[1])
    assert lifecycle.go_on(continuation(TRPO, flags("results", extend="short"), Budget(6))) == 0
    assert_as_undisturbed(folder, undisturbed)
    here = {path: path.read_bytes() for path in sorted(folder.rglob("[!.]*")) if path.is_file()}
    lose_the_machine()
    assert mirror.find(flags(storage), "short", "trpo") == folder
    assert {path: path.read_bytes() for path in sorted(folder.rglob("[!.]*")) if path.is_file()} == here
