"""What surrounds a program: folders and limits, looked at before anything starts.

A container may have a user of its own, who can write neither the code nor the home folder; a batch system sets limits
and a long ``TMPDIR``. A program works there all the same, or ends with one line that names the cause and the remedy.
"""

import contextlib
import functools
import os
import resource
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from trainables.checks import ConfigError

SOCKETS_FOLDER = 39
"""Bytes of the longest path of a folder for Ray: a socket's path has 107 at most, of which ``/ray`` and Ray take 68."""

ADDRESS_SPACE = 4_000_000_000
"""Bytes that a process must be able to map: Ray's own map up to 2 GB, and a trial its arrays as well."""

THREADS = 400
"""Threads that a user must be able to have: Ray's servers have 165, a program 40, a trial 30 and each worker 25."""

SHARED_MEMORY = "/dev/shm"


@functools.cache
def private_folder(longest: int = 4096) -> Path | None:
    """A folder for temporary files that no other user can read or write; None if none can be made.

    Its path has ``longest`` bytes at most. Who opens a cache of numba or a socket of Ray trusts it, and where all can
    write anybody may have made a folder of our name: then ours has one that nobody can guess.
    """
    chosen = map(os.environ.get, ("RAY_TMPDIR", "TMPDIR"))
    for place in filter(None, (*chosen, "/tmp", "/var/tmp", SHARED_MEMORY)):
        folder = Path(place, f"pong-{os.getuid()}")
        try:
            if len(os.fsencode(folder)) + len("-12345678") > longest:
                continue
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
                tempfile.TemporaryFile(dir=folder).close()
                return folder
            return Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=place))
        except OSError:
            continue
    return None


def address_space() -> int | None:
    """Bytes that a process may map (``ulimit -v``); None if that is not limited."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def choose_caches() -> None:
    """Have libraries keep compiled loops and lists of fonts in the temporary folder where the user's own is of no use.

    Numba looks for one beside the code first. Of these variables matplotlib reads the second, fontconfig and numba the
    first; processes that this one starts have them, too.
    """
    for variable, usual in {"XDG_CACHE_HOME": "~/.cache", "MPLCONFIGDIR": "~/.config/matplotlib"}.items():
        folder = Path(os.environ.get(variable) or os.path.expanduser(usual))
        there = next(each for each in (folder, *folder.parents) if os.path.exists(each))
        if not os.access(there, os.W_OK | os.X_OK) and (private := private_folder()):
            os.environ[variable] = str(private / "cache")


def require_a_current_folder() -> None:
    """Raise ConfigError if there is none: no program can do anything there."""
    try:
        os.getcwd()
    except OSError:
        raise ConfigError("the current folder was deleted: go to one that is there (cd)") from None


def require_room_for_ray(root: Path = Path("/")) -> None:
    """Raise ConfigError if no Ray can start on this machine. ``root`` is where the system's files of cgroups are."""
    if not private_folder(SOCKETS_FOLDER):
        raise ConfigError(
            "Ray's sockets need a temporary folder that can be written and whose path is short (19 bytes), and neither"
            " TMPDIR nor /tmp, /var/tmp and /dev/shm is one: let TMPDIR name one"
        )
    if (limit := address_space()) and limit < ADDRESS_SPACE:
        raise ConfigError(
            f"a process may map less than {ADDRESS_SPACE / 1e9:.0f} GB here (ulimit -v), which Ray's need: raise the"
            " limit, or ask the batch system for more memory"
        )
    if not os.access(SHARED_MEMORY, os.W_OK | os.X_OK):
        raise ConfigError(
            f"{SHARED_MEMORY} cannot be written, which Ray's processes share: mount it as tmpfs with mode 1777"
        )
    for what, most, others in _limits_of_threads(root):
        if most - others < THREADS:
            taken = f", of which others have {others}" if others else ""
            raise ConfigError(
                f"{most} processes and threads may run here ({what}){taken}, and Ray needs {THREADS}: raise the limit"
            )
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
    except OSError as error:
        raise ConfigError(
            f"nothing can be reached at 127.0.0.1 ({error}), where Ray's processes meet: ip link set lo up"
        ) from None


def _limits_of_threads(root: Path) -> Iterator[tuple[str, int, int]]:
    """What limits the threads here, how many it allows, and how many of these are not of this process."""
    own = len(os.listdir("/proc/self/task"))
    most, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if os.getuid() and most != resource.RLIM_INFINITY:  # root has no such limit
        yield "ulimit -u", most, max(0, _threads_of(os.getuid()) - own)
    for folder in cgroups("pids", root):
        text = text_of(folder / "pids.max").strip()
        if text.isdecimal():
            taken = int(text_of(folder / "pids.current") or own)
            yield "pids.max of its cgroup, as by docker --pids-limit", int(text), max(0, taken - own)


def _threads_of(user: int) -> int:
    """Threads that a user has on this machine."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # It ended meanwhile.
            if process.stat().st_uid == user:
                count += len(os.listdir(process / "task"))
    return count


def cgroups(controller: str, root: Path = Path("/")) -> Iterator[Path]:
    """The folders of the cgroups whose limits this process has for a controller: its own, and those above.

    Both versions of cgroups are known; ``root`` is where the system's files are.
    """
    for line in text_of(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        unified = not controllers  # version 2 of cgroups has one hierarchy for all controllers
        if not unified and controller not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup" / ("" if unified else controller)
        here = mount / path.lstrip("/")
        for folder in (here, *here.parents):
            yield folder
            if folder == mount:
                break


def text_of(path: Path) -> str:
    """A file's text; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
