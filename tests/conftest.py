import experiments  # noqa: F401  # isort: skip - sets Ray's environment before Ray is imported

import functools
import gc
import os
import sys

import pytest
import ray

from experiments.disk import provenance
from experiments.plan.learners import IMPORTED
from experiments.plan.resources import local_cpus

os.environ.setdefault("AWS_ACCESS_KEY_ID", "key")  # for the S3 servers of tests, before a Ray starts that uses them
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.fixture(scope="session")
def ray_cluster():
    """One local Ray for all tests that need it, with room for four workers on any machine."""
    from experiments.run.ray_session import start_local  # slow to import, and needed by those tests alone

    start_local(4, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def modules_of_temporary_folders_are_forgotten(tmp_path_factory):
    """A test that imports one, be it a learner in the documentation, changes no other test."""
    before, path = {*sys.modules}, [*sys.path]
    yield
    sys.path[:] = path
    for name in {*sys.modules} - before:
        if str(tmp_path_factory.getbasetemp()) in repr(sys.modules[name]):
            del sys.modules[name]
    IMPORTED.clear()


@pytest.fixture(scope="session", autouse=True)
def git_is_asked_once():
    """Hundreds of experiments are written here, each with the revision of this checkout: three processes for each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provenance, "git_revision", functools.cache(provenance.git_revision))
        yield


@pytest.fixture(scope="session", autouse=True)
def libraries_are_no_garbage():
    """The collector looks at a million objects of Ray, pandas and matplotlib again and again, which all stay."""
    gc.freeze()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A Trainable without Tune writes its logs into the home folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def make_trial(home, ray_cluster):
    """Makes a trial without Tune, of a Trainable with the given settings; each is stopped in the end."""
    trials = []

    def make(trainable, settings, **changes):
        trials.append(trainable(config=settings | changes))
        return trials[-1]

    yield make
    for trial in trials:
        trial.stop()


def pytest_xdist_auto_num_workers(config):
    """Two processes for each of the three tiers; each has a Ray of its own, if any, and so has a program it starts.

    One for a choice of tests, be it by path, ``-k`` or another ``-m``: few tests are over before a second process has
    started.
    """
    option = config.option
    whole = not option.file_or_dir and not option.keyword and option.markexpr in ("not slow", "not ray", "slow")
    return 2 if whole and local_cpus() > 1 else 0


def pytest_collection_modifyitems(items):
    """Mark every test that needs a running Ray, or minutes, so that ``-m "not ray"`` is an inner loop of seconds.

    Files with such tests come first, presets that learn for minutes before all: at the end the short ones fill what two
    processes have left to share.
    """
    for item in items:
        if {"ray_cluster", "cluster", "start", "home"} & set(item.fixturenames) or item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.ray)
    long = {item.path for item in items if item.get_closest_marker("ray") and not item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path.name != "test_learning.py", item.path not in long))
