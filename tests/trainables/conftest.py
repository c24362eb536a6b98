import pytest


@pytest.fixture(scope="module")
def reused(home, ray_cluster):
    """Makes a trial on Ray's workers, in the processes of the one before if that was of its kind, as Tune does."""
    trials = []

    def make(trainable, settings):
        if trials and type(trials[0]) is trainable:
            assert trials[0].reset(dict(settings))
        else:
            for trial in trials:
                trial.stop()  # others need its CPUs
            trials[:] = [trainable(config=dict(settings))]
        return trials[0]

    yield make
    for trial in trials:
        trial.stop()
