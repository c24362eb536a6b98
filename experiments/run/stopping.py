"""How an experiment stops before its trials end, by a signal or its time budget: at checkpoints, so that nothing that
has a row is played again."""

import os
import signal
import socket
import threading
import time
from types import FrameType
from typing import Any, NoReturn

from ray import tune
from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from experiments.ask.signals import SIGNALLED, handle_all, say
from experiments.run.ends import UNFINISHED
from experiments.run.ray_internals import own_folder_gone, own_servers_ended
from experiments.run.rounds import playing

WATCH_INTERVAL_S = 0.5
"""Seconds between two looks at whether Ray is still there."""

SIGNAL_S = 0.1
"""Seconds between two looks at whether a signal has come, and within which one comes to all processes of a group."""

RAY_ENDS_S = 5.0
"""Seconds within which Ray's processes end after a signal was sent to them."""


class StopSignals(tune.Callback):
    """Hears the signals that end an experiment: the first one in good order, a second one at once.

    ``received`` is the first one, None before it. ``resume`` is the command that goes on from the last checkpoints;
    empty where none does, and once the experiment's end has been printed.
    """

    received: signal.Signals | None = None

    def __init__(self, resume: str = "") -> None:
        self.resume = resume

    def keep(self) -> None:
        """Hear signals from now on. One that comes before Tune begins ends the experiment as Tune begins."""
        handle_all(self._handle)

    def setup(self, stop: Any = None, num_samples: Any = None, total_num_samples: Any = None, **info: Any) -> None:
        """Take the place of Tune's handler of SIGINT, which is there by now, and keep it for ``end_experiment``."""
        self._tunes_handler = signal.getsignal(signal.SIGINT)
        self.keep()

    def release(self) -> None:
        """Have a signal end the program at once, with the same status, since nothing is left to save."""
        handle_all(self._end_at_once)

    def _end_at_once(self, number: int, frame: FrameType | None) -> None:
        self.end_program(f"{signal.Signals(number).name}: stopped.", SIGNALLED + number)

    def end_program(self, text: str, status: int) -> NoReturn:
        """End the program in the midst of what it does, with these words, and with the command that goes on."""
        if self.resume:
            text += f"\nResume:  {self.resume}"
        say(text)  # Both lines are one text: Ray's own last lines may come at the same moment, and would come between.
        os._exit(status)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received:
            self.end_program("Stopped at once.", SIGNALLED + number)
        self.received = signal.Signals(number)
        say(f"{self.received.name}: saving as iterations end. Once more, and it ends at once.")

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds, or until a signal comes."""
        deadline = time.monotonic() + seconds
        while not self.received and time.monotonic() < deadline:
            time.sleep(SIGNAL_S)

    def end_experiment(self) -> None:
        """Have Tune end the experiment, as its own handler of SIGINT does."""
        assert callable(self._tunes_handler)
        self._tunes_handler(signal.SIGINT, None)
        self.keep()  # Tune's handler has put back the one before it

    def __getstate__(self) -> dict[str, Any]:
        """Nothing, since Tune pickles callbacks, and its handler cannot be pickled."""
        return {}


class RayWatch:
    """Ends the program once the Ray that it started has ended: killed, sent a signal, or without its folder.

    Nothing can be played or saved then, and calls of Ray that are under way wait for a minute, or for ever. So this is
    a thread, and the program ends in the midst of what it does. ``signals`` say which command goes on, if one does.
    Without its folder Ray starts no process, and Tune cannot save its state, as it does every ten seconds.

    It has to know of a signal at once, but Python's own handlers wait until the main thread's call of Ray is over. So
    Python writes the number of each signal into a socket as it comes.
    """

    def __init__(self, signals: StopSignals) -> None:
        self._signals, self._released = signals, threading.Event()
        self._came, self._into = socket.socketpair()
        self._came.setblocking(False)
        self._into.setblocking(False)

    def __enter__(self) -> None:
        signal.set_wakeup_fd(self._into.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, daemon=True).start()

    def __exit__(self, *error: object) -> None:
        signal.set_wakeup_fd(-1)
        self._released.set()

    def _watch(self) -> None:
        while not self._released.wait(WATCH_INTERVAL_S):
            if own_servers_ended() or own_folder_gone():
                time.sleep(SIGNAL_S)  # A signal that ended it may be on its way to this process, too.
                self._end()

    def _end(self) -> None:
        text = "Ray has ended: one of its servers was killed, or its temporary folder was removed."
        status = UNFINISHED
        if number := self._signals.received or self._first_that_came():
            text = "Ray was ended, too: nothing more can be saved."
            status = SIGNALLED + number
        self._signals.end_program(text, status)

    def _first_that_came(self) -> int:
        """The number of the first signal since this began; 0 if none has come."""
        try:
            return self._came.recv(1)[0]
        except BlockingIOError:
            return 0


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
        """Whether a trial is not to begin an iteration of so many seconds. Once that is so, ``began`` is true."""
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
    newest = trial.latest_checkpoint_result
    saved = newest.metrics.get("training_iteration", 0) if newest else 0
    made = trial.last_result.get("training_iteration", 0)
    return trial.status == Trial.RUNNING and made > saved


def stoppable(scheduler: type, stop: Stop) -> type:
    """A class that decides as the ``scheduler`` of Tune does, until the experiment is to stop."""

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
