"""How an experiment is asked to stop: signals, and a disk that is nearly full."""

import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from ray import tune
from ray.tune.experiment import Trial

RESERVE_BYTES = 200 * 2**20
"""Free disk space below which nothing is written any more: room for what is on its way."""

LOOK_EVERY_S = 5.0


class StopSignals(tune.Callback):
    """The first SIGINT or SIGTERM ends the experiment in good order, a second one at once.

    Tune itself saves on SIGINT only, and does not tell that it was stopped.
    """

    received: signal.Signals | None = None

    def setup(self, stop: Any = None, num_samples: Any = None, total_num_samples: Any = None, **info: Any) -> None:
        """Put ourselves before Tune's handler, which is in place by now."""
        self._end_experiment = signal.getsignal(signal.SIGINT)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received:
            print("Stopped at once.", file=sys.stderr, flush=True)
            os._exit(128 + number)
        self.received = signal.Signals(number)
        print(f"\n{self.received.name}: saving. Once more, and it ends at once.", file=sys.stderr, flush=True)
        assert callable(self._end_experiment)
        self._end_experiment(number, frame)
        signal.signal(signal.SIGINT, self._handle)  # Tune's handler has put back the one before it

    def __getstate__(self) -> dict[str, Any]:
        """Nothing: Tune pickles callbacks, and its own handler cannot be."""
        return {}

    @property
    def status(self) -> int | None:
        """The exit status of a program that was stopped, as shells have it; None if it was not."""
        return self.received and 128 + self.received


class DiskGuard(tune.Callback):
    """Lets everything wait while the disk is nearly full: a file that is written then is a file lost."""

    def __init__(self, folder: Path, signals: StopSignals) -> None:
        self.folder, self._signals = folder, signals
        self._looked = 0.0

    def on_step_begin(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """Return once there is room, or once the experiment is to stop. Trials wait after their present iteration."""
        if time.monotonic() - self._looked < LOOK_EVERY_S:
            return
        waited = False
        while (free := shutil.disk_usage(self.folder).free) < RESERVE_BYTES and not self._signals.received:
            if not waited:
                print(
                    f"The disk of {self.folder} is nearly full ({free / 2**20:.0f} MB free): the experiment waits until"
                    f" there are {RESERVE_BYTES / 2**20:.0f} MB. Nothing is lost; Ctrl-C ends it.",
                    file=sys.stderr,
                    flush=True,
                )
            waited = True
            time.sleep(1)
        if waited and not self._signals.received:
            print("There is room again: going on.", file=sys.stderr, flush=True)
        self._looked = time.monotonic()
