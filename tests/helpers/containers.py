"""Surroundings that are really made: another user, read-only files, fresh temporary folders, as in a container."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.programs import ROOT

TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")
CAN = os.getuid() == 0 and not subprocess.run(["unshare", "--mount", "setpriv", "true"], check=False).returncode
needs_root = pytest.mark.skipif(not CAN, reason="needs root, unshare and setpriv: another user and mounts are made")


def contained(words, folder, uid=2000, temporary="rw", **variables):
    """A command line that runs ``words`` in ``folder``, the one place besides temporary folders that it can write.

    The code, Python and its packages are read-only, the home folder is ``/``, the temporary folders are empty ones.
    """
    needed = {Path(path).resolve() for path in (ROOT, sys.prefix, sys.base_prefix, Path(np.__file__).parents[1])}
    needed = sorted(path for path in needed if not needed & {*path.parents})
    closed = {str(above) for path in needed for above in path.parents if not above.stat().st_mode & 0o001}
    os.chown(folder, uid, uid)
    lines = ["mount -t tmpfs none /mnt"]
    for index, path in enumerate([*needed, folder]):
        lines.append(f"mkdir /mnt/{index} && mount --bind {shlex.quote(str(path))} /mnt/{index}")
    lines += [f"mount -t tmpfs -o mode=755 none {path}" for path in sorted(closed)]
    lines += [f"mount -t tmpfs -o mode=1777 none {path}" for path in TEMPORARY]
    for index, path in enumerate([*needed, folder]):
        quoted = shlex.quote(str(path))
        lines.append(f"mkdir -p {quoted} && mount --bind /mnt/{index} {quoted}")
        if path != folder:
            lines.append(f"mount -o remount,bind,ro {quoted}")
    lines += [f"mount -o remount,{temporary} {path}" for path in TEMPORARY]
    environment = {"PATH": os.environ["PATH"], "HOME": "/"} | variables
    user = f"setpriv --reuid {uid} --regid {uid} --clear-groups env -i"
    given = " ".join(shlex.quote(f"{name}={value}") for name, value in environment.items())
    lines.append(f"cd {shlex.quote(str(folder))} && exec {user} {given} {shlex.join(map(str, words))}")
    return ["unshare", "--mount", "--propagation", "private", "bash", "-ec", "\n".join(lines)]


def answer(words, folder, **how):
    """The status of a command that runs so, and what it prints on both streams."""
    done = subprocess.run(contained(words, folder, **how), capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr
