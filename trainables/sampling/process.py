"""What a process that plays or learns asks of its libraries and its interpreter, and how many of them some CPUs hold.

Nothing here imports Ray: plans are made with it, too.
"""

import atexit
import ctypes
import functools
import gc
import threading
import time

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
"""Set before the actor's process starts, since the libraries read them when NumPy is first imported. Set any later,
as in Ray's example, they do nothing, and the actors' threads fight for the cores (its "Troubleshooting")."""

_KEEP = {"M_TRIM_THRESHOLD": (-1, 1 << 30), "M_MMAP_THRESHOLD": (-3, 32 << 20)}
"""Numbers and values of glibc's ``mallopt``: keep up to a gigabyte, in pieces of up to 32 MB."""


def set_malloc_thresholds() -> None:
    """Have the process keep the memory that its arrays free, for the next ones. Where there is no glibc, do nothing.

    An update takes and frees the same megabytes over and over. Given back, they have to be mapped anew, page by page,
    which took half the time of REINFORCE's update.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        for option, value in _KEEP.values():
            mallopt(option, value)


class Halts:
    """Counts the ``seconds`` in which this process was stopped, as by Ctrl-Z.

    The clock goes on meanwhile, so a thread looks again and again how long it slept. While the machine sleeps the clock
    stands still, too. Less than ``least`` more seconds than it asked for is what a busy machine does.
    """

    def __init__(self, tick: float = 1.0, least: float = 5.0) -> None:
        self.seconds = 0.0
        threading.Thread(target=self._watch, args=[tick, least], daemon=True).start()

    def _watch(self, tick: float, least: float) -> None:
        while True:
            before = time.perf_counter()
            time.sleep(tick)
            more = time.perf_counter() - before - tick
            self.seconds += more if more > least else 0.0


@functools.cache
def halts() -> Halts:
    """Those of this process, from the first call on."""
    return Halts()


def freeze_imported_objects() -> None:
    """Have the garbage collector look only at what is made from now on.

    What the libraries made when they were imported stays: some 200,000 objects. To look at them all took 70 to 110 ms
    every few dozen games, 0.2 to 0.6% of a worker's time.
    """
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # what is frozen is never torn down, and some libraries complain of that


def workers_that_fit(cpus: float, cpus_per_worker: float) -> int:
    """How many workers of ``cpus_per_worker`` CPUs each fit on one node (or into one bundle) with ``cpus`` CPUs.

    No worker can be on two nodes, so whole ones count. The small addend makes 0.3 / 0.1, a little less than 3 in
    floating point, three workers.
    """
    return int(cpus / cpus_per_worker + 1e-6)
