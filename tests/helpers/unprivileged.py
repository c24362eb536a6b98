"""Folders with permissions that bind, also where the tests run as root."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

NOBODY = 65534


@contextlib.contextmanager
def unprivileged():
    """Be nobody in a block, if this is root."""
    if os.geteuid():
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@contextlib.contextmanager
def common_folder():
    """A folder that everybody may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(folder)
