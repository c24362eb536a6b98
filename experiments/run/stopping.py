"""How an experiment stops before its trials end, by a signal or its time budget: at checkpoints, so that nothing that
has a row is played again."""

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

from ray import tune
from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from experiments.run.ray_internals import own_ray_ended
from experiments.run.rounds import playing

WATCH_INTERVAL_S = 0.5
"""Seconds between looks whether Ray is still there to save with."""

RAY_ENDS_S = 5.0
"""Seconds in which Ray's processes end that were sent a signal."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
"""Ctrl-C, the end that a batch system sets, a terminal that is closed, and the warning before such an end."""

SIGNALLED = 128
"""What shells add to a signal's number: the exit status of a program that the signal ended."""


def handle_all(handler: Any) -> None:
    """Have ``handler`` called for all of them, but for SIGHUP under ``nohup``."""
    for number in SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


class StopSignals(tune.Callback):
    """The first signal is ``received``, and the experiment then ends in good order; a second one ends it at once.

    Where Ray's processes were sent the signal too, as `timeout` and batch systems do, nothing can be saved. The program
    then ends at once, where Tune would wait for a minute, and ``resume``, a command, goes on from the last checkpoints.
    """

    received: signal.Signals | None = None

    def __init__(self, resume: str = "") -> None:
        self._resume, self._released = resume, threading.Event()

    def setup(self, stop: Any = None, num_samples: Any = None, total_num_samples: Any = None, **info: Any) -> None:
        """Put ourselves before Tune's handler, which is in place by now."""
        self._released.clear()
        self._tunes_handler = signal.getsignal(signal.SIGINT)
        handle_all(self._handle)

    def release(self) -> None:
        """Until another experiment runs, a signal ends the program, with the same status: there is nothing to save."""
        self._released.set()
        handle_all(_exit)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received:
            _say("Stopped at once.")
            os._exit(SIGNALLED + number)
        self.received = signal.Signals(number)
        _say(f"{self.received.name}: saving as iterations end. Once more, and it ends at once.")
        threading.Thread(target=self._watch_ray, daemon=True).start()

    def end_experiment(self) -> None:
        """Have Tune end the experiment, as its own handler of SIGINT does."""
        assert callable(self._tunes_handler)
        self._tunes_handler(signal.SIGINT, None)
        signal.signal(signal.SIGINT, self._handle)  # Tune's handler has put back the one before it

    def _watch_ray(self) -> None:
        while not self._released.wait(WATCH_INTERVAL_S):
            self._end_without_ray()

    def end_if_ray_ends(self) -> None:
        """After an error of Tune's: end the program if a signal came, and Ray's processes end, too.

        The error can come a moment before they are gone. To wait for them at the program's end takes Ray a minute.
        """
        deadline = time.monotonic() + RAY_ENDS_S
        while self.received and time.monotonic() < deadline:
            self._end_without_ray()
            time.sleep(WATCH_INTERVAL_S)

    def _end_without_ray(self) -> None:
        """End the program if Ray's processes have ended."""
        if self.received and own_ray_ended():
            _say("Ray was ended, too: nothing more can be saved.")
            print(f"Resume:  {self._resume}", flush=True)
            os._exit(SIGNALLED + self.received)

    def __getstate__(self) -> dict[str, Any]:
        """Nothing: Tune pickles callbacks, and its own handler cannot be."""
        return {}


def _exit(number: int, frame: FrameType | None) -> None:
    _say(f"{signal.Signals(number).name}: stopped.")
    os._exit(SIGNALLED + number)  # whatever runs now, be it Ray's own end: its processes see that this one has gone


def _say(text: str) -> None:
    """Print a line. Where the terminal has gone, as it has with SIGHUP, this and all that follows goes nowhere."""
    try:
        sys.stdout.flush()
        print(f"\n{text}", file=sys.stderr, flush=True)
    except OSError:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Stop:
    """Whether an experiment is to stop, and its end once it can.

    From then on each trial that ends an iteration is paused on a checkpoint of it; so is one whose next iteration would
    take longer than the time that is left, if it takes as long as the last one. Then the experiment ends. An iteration
    that is under way at that moment is lost, and ends first if its trial's last one is on no checkpoint.
    """

    def __init__(self, signals: StopSignals, deadline: float) -> None:
        """``deadline`` is in seconds of ``time.monotonic``; without a time budget it is infinite."""
        self._signals, self.deadline = signals, deadline
        self.began = False

    def due(self, seconds: float = 0.0) -> bool:
        """Whether a trial is not to begin an iteration of so many seconds."""
        due = self._signals.received is not None or time.monotonic() + seconds >= self.deadline
        self.began |= due
        return due

    def end(self, tune_controller: Any) -> None:
        """End the experiment if nothing is left to save, and nothing that runs has time left."""
        trials = tune_controller.get_trials()
        if any(map(_unsaved, trials)):
            return
        if self._signals.received:
            self._signals.end_experiment()
        elif self.due() or not playing(trials):
            tune_controller.search_alg.set_finished()
            for trial in trials:
                tune_controller.stop_trial(trial)


def _unsaved(trial: Trial) -> bool:
    """Whether a trial that runs has made iterations since its newest checkpoint."""
    saved = trial.latest_checkpoint_result
    iterations = [result.get("training_iteration", 0) for result in (trial.last_result, saved.metrics if saved else {})]
    return trial.status == Trial.RUNNING and iterations[0] > iterations[1]


def stoppable(scheduler: type, stop: Stop) -> type:
    """A scheduler's class that decides as it does until the experiment is to stop."""

    class Stoppable(scheduler):  # type: ignore[misc]
        def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
            decision: str = super().on_trial_result(tune_controller, trial, result)
            pause = decision == TrialScheduler.CONTINUE and stop.due(result["time_this_iter_s"])
            return TrialScheduler.PAUSE if pause else decision

        def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
            if not (stop.due() or stop.began):
                chosen: Trial | None = super().choose_trial_to_run(tune_controller)
                return chosen
            stop.end(tune_controller)
            return None

    return Stoppable
