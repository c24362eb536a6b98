import pytest


@pytest.fixture(scope="module")
def reused(home, ray_cluster):
    """Makes a trial on Ray's workers, in the processes of the one before, as Tune does."""
    trials = {}

    def make(trainable, settings):
        if trial := trials.get(trainable):
            assert trial.reset(dict(settings))
        return trials.setdefault(trainable, trial or trainable(config=dict(settings)))

    yield make
    for trial in trials.values():
        trial.stop()
