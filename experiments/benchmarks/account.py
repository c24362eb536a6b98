"""Who has the cores while a program runs: its processes' time by what they do, from Linux's ``/proc``."""

import contextlib
import os
import threading
import time
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
EVERY_S = 2.0
"""Between two looks at all processes, each 5 ms of a core. What a process does after the last one is not seen."""

WORKERS, TRIALS, PROGRAM = (
    "workers: games, advantages",
    "trials: updates, results, checkpoints",
    "the program, with Tune",
)
SERVERS, AGENTS, STARTING = "Ray's raylet and GCS", "Ray's log monitor, dashboard and agents", "processes that start"
OTHERS = "other programs"
HOST = "taken by the host of this virtual machine"
IDLE = "idle"

KINDS = (
    ("ray::RolloutActor", WORKERS),
    ("ray::DashboardAgent", AGENTS),
    ("ray::RuntimeEnvAgent", AGENTS),
    ("ray::IDLE", STARTING),
    ("ray::", TRIALS),
    ("raylet/raylet", SERVERS),
    ("gcs/gcs_server", SERVERS),
    ("log_monitor.py", AGENTS),
    ("dashboard.py", AGENTS),
    ("monitor.py", AGENTS),
)
"""What a process does, by what its command line contains: the first that fits counts."""


class Account:
    """Counts the processor time of a process and of all that descend from it, until it is closed."""

    def __init__(self, pid: int) -> None:
        """Begin with a process that is running."""
        self._root = pid
        self._seen: dict[int, int] = {}  # by process: ticks until the last look
        self._ticks: dict[str, int] = {}  # by kind
        self._begun_s, self._before = time.perf_counter(), _machine()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> dict[str, float]:
        """Seconds of a core that each kind had; those of all kinds add up to the time of all cores since the start."""
        self._over.set()
        self._thread.join()
        self._look()
        own = sum(self._ticks.values())
        (busy_then, host_then), (busy, host) = self._before, _machine()
        ticks = dict(sorted(self._ticks.items(), key=lambda item: -item[1]))
        ticks[OTHERS] = max(0, busy - busy_then - own)
        ticks[HOST] = host - host_then
        seconds = {kind: count / TICKS_PER_S for kind, count in ticks.items()}
        whole_s = (time.perf_counter() - self._begun_s) * (os.cpu_count() or 1)
        seconds[IDLE] = max(0.0, whole_s - sum(seconds.values()))
        return seconds

    def _watch(self) -> None:
        while not self._over.wait(EVERY_S):
            self._look()

    def _look(self) -> None:
        for pid, ticks in descendants(self._root).items():
            kind = PROGRAM if pid == self._root else kind_of(_command_line(pid))
            self._ticks[kind] = self._ticks.get(kind, 0) + ticks - self._seen.get(pid, 0)
            self._seen[pid] = ticks


def kind_of(command_line: str) -> str:
    """What a process does."""
    for part, kind in KINDS:
        if part in command_line:
            return kind
    return STARTING


def _command_line(pid: int) -> str:
    """The words of a process's command; none if it has ended."""
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def descendants(root: int) -> dict[int, int]:
    """A process and all that descend from it, by number, with the ticks of processor time that each has had."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for folder in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # It has ended meanwhile.
            fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            pid, parent = int(folder.name), int(fields[1])
            ticks[pid] = int(fields[11]) + int(fields[12])
            children.setdefault(parent, []).append(pid)
    found: dict[int, int] = {}
    left = [root]
    while left:
        pid = left.pop()
        if pid in ticks:
            found[pid] = ticks[pid]
        left += children.get(pid, [])
    return found


def _machine() -> tuple[int, int]:
    """Ticks since the machine's start in which its cores were busy, and those that its host had."""
    user, nice, system, _idle, _wait, interrupts, soft, host = map(
        int, (PROC / "stat").read_text("ascii").splitlines()[0].split()[1:9]
    )
    return user + nice + system + interrupts + soft, host
