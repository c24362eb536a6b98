"""Ctrl-C while no experiment runs: between a sweep and its confirmation."""

import os
import signal
import threading

import pytest

from experiments.run.stop_signals import StopSignals


@pytest.fixture
def signals():
    """Released after the test, which also ends its watch for Ray; then the handlers of before are put back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signals = StopSignals()
    yield signals
    signals.release()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_between_a_sweep_and_its_confirmation_said_saving_and_was_lost(number, status, capsys, signals):
    signals.setup()
    signals.release()
    with pytest.raises(SystemExit) as stop:
        os.kill(os.getpid(), number)
    assert stop.value.code == status
    assert "saving" not in capsys.readouterr().err
    assert not signals.received


def test_a_signal_to_an_experiment_that_runs_is_kept_for_its_end(capsys, signals):
    told = []
    signal.signal(signal.SIGINT, lambda number, frame: told.append(number))  # as Tune does
    signals.setup()
    os.kill(os.getpid(), signal.SIGTERM)
    assert (signals.status, told) == (143, [signal.SIGTERM])
    assert "SIGTERM: saving" in capsys.readouterr().err


def test_a_watch_for_ray_that_outlived_its_experiment_ended_the_process_as_ray_was_shut_down(signals):
    before = {*threading.enumerate()}
    signal.signal(signal.SIGINT, lambda number, frame: None)
    signals.setup()
    os.kill(os.getpid(), signal.SIGTERM)
    (watch,) = {*threading.enumerate()} - before
    signals.release()
    watch.join(10)
    assert not watch.is_alive()
