"""What surrounds a program: folders and limits, looked at before anything starts.

A container may have a user of its own, who can write neither the code nor the home folder; a batch system sets limits
and a long ``TMPDIR``. A program works there all the same, or ends with one line that names the cause and the remedy.
"""

import functools
import os
import resource
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from trainables.checks import ConfigError

SOCKETS_FOLDER = 39
"""Bytes of the longest path of a folder for Ray: a socket's path has 107 at most, of which ``/ray`` and Ray take 68."""

ADDRESS_SPACE = 4_000_000_000
"""Bytes that a process must be able to map: Ray's own map up to 2 GB, and a trial its arrays as well."""


@functools.cache
def private_folder(longest: int = 4096) -> Path | None:
    """A folder for temporary files that no other user can read or write; None if none can be made.

    Its path has ``longest`` bytes at most. Who opens a cache of numba or a socket of Ray trusts it, and where all can
    write anybody may have made a folder of our name: then ours has one that nobody can guess.
    """
    chosen = map(os.environ.get, ("RAY_TMPDIR", "TMPDIR"))
    for place in filter(None, (*chosen, "/tmp", "/var/tmp", "/dev/shm")):
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


def _current_folder() -> str | None:
    try:
        os.getcwd()
    except OSError:
        return "the current folder was deleted: go to one that is there (cd)"
    return None


def _sockets() -> str | None:
    if private_folder(SOCKETS_FOLDER):
        return None
    return (
        "Ray's sockets need a temporary folder that can be written and whose path is short (19 bytes), and neither"
        " TMPDIR nor /tmp, /var/tmp and /dev/shm is one: let TMPDIR name one"
    )


def _addresses() -> str | None:
    if (limit := address_space() or ADDRESS_SPACE) >= ADDRESS_SPACE:
        return None
    return (
        f"a process may map {limit / 1e9:.1f} GB here (ulimit -v), and Ray's need {ADDRESS_SPACE / 1e9:.0f}:"
        " raise the limit, or ask the batch system for more memory"
    )


ANY_PROGRAM, RAY_HERE = (_current_folder,), (_sockets, _addresses)
"""What is looked at before a program does anything, and before it starts a Ray on this machine: each says what is wrong
and what helps, or nothing."""


def require(surroundings: Sequence[Callable[[], str | None]]) -> None:
    """Raise ConfigError with the first complaint."""
    for look in surroundings:
        if complaint := look():
            raise ConfigError(complaint)
