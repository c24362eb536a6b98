import experiments  # noqa: F401  # isort: skip - sets Ray's environment before Ray is imported

import pytest
import ray


@pytest.fixture(scope="session")
def ray_cluster():
    """One local Ray for all tests that need it, with room for four workers on any machine."""
    from experiments.run.ray_session import start_local  # slow to import, and needed by those tests alone

    start_local(4, log_to_driver=False)
    yield
    ray.shutdown()


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


def pytest_collection_modifyitems(items):
    """Mark every test that needs a running Ray, so that ``-m "not ray"`` is an inner loop of seconds."""
    for item in items:
        if {"ray_cluster", "cluster", "start", "home"} & set(item.fixturenames):
            item.add_marker(pytest.mark.ray)
