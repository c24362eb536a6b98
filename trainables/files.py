"""Files that are replaced whole: whoever reads one finds the old or the new one, never a part."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

REFUSALS = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EISDIR, errno.EACCES, errno.EPERM)
"""How file systems say that they do not flush folders."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of ``path`` only once it is whole and on disk.

    Both the file and its folder are flushed (``fsync``), so that a power cut leaves one of the two. If the block raises
    an error, ``path`` stays as it was. A link is replaced, never followed, and so is one in the temporary file's place.
    """
    temporary = path.with_name(path.name + ".tmp")
    temporary.unlink(missing_ok=True)
    with temporary.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    flush_folder(path.parent)


def replace_text(path: Path, text: str) -> None:
    """Write ``path`` as UTF-8, whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode())


def flush(path: Path) -> None:
    """Have the disk itself hold what was written to a file (``fsync``)."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_folder(path: Path) -> None:
    """Have the disk itself hold which names a folder has, where its file system can be asked for that.

    CIFS, FUSE and others refuse it with one of ``REFUSALS``.
    """
    try:
        flush(path)
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
