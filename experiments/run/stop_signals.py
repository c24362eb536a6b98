"""SIGINT and SIGTERM end an experiment in good order."""

import os
import signal
import sys
from types import FrameType
from typing import Any

from ray import tune


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

    @staticmethod
    def release() -> None:
        """Until another experiment runs, a signal ends the program, with the same status: there is nothing to save."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _exit)

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


def _exit(number: int, frame: FrameType | None) -> None:
    print(f"\n{signal.Signals(number).name}: stopped.", file=sys.stderr, flush=True)
    sys.exit(128 + number)
