"""Files that are replaced whole: whoever reads one finds the old or the new one, never a part."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of ``path`` only once it is whole and on disk.

    Both the file and its folder are flushed (``fsync``), so that a power cut leaves one of the two. If the block raises
    an error, ``path`` stays as it was.
    """
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    flush(path.parent)


def replace_text(path: Path, text: str) -> None:
    """Write ``path`` as UTF-8, whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode())


def flush(path: Path) -> None:
    """Have the disk itself hold what was written to a file, or which names a folder has (``fsync``)."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
